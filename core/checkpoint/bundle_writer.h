// Writes checkpoints in TensorFlow's V2 format.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/checkpoint/bundle_format.h"
#include "core/files/file_system.h"
#include "core/tensor/tensor.h"

namespace weir {

struct BundleWriterOptions {
  // Sync files to disk before they are renamed to their final names.
  bool sync = true;
};

// A tensor of plain elements that are fetched when they are written.
struct TensorSource {
  DataType dtype = DT_INVALID;
  TensorShape shape;
  // Copies `size` bytes from `offset` on to `to`. Called for consecutive ranges, once each; an error ends the write.
  std::function<absl::Status(int64_t offset, int64_t size, char* to)> read;
};

// Not thread-safe; blocks for I/O.
// - Writes to temporary names and renames last, the index last of all: until Finish returns, readers find the previous
//   checkpoint or none, never a mixture.
// - Without Finish, the destructor removes what was written.
// - Tensor bytes are written from their buffers without a copy.
// - After an error every call fails.
class BundleWriter {
 public:
  // Creates the directory if needed. `file_system` outlives the writer.
  static absl::StatusOr<std::unique_ptr<BundleWriter>> Create(FileSystem* file_system, const std::string& prefix,
                                                              BundleWriterOptions options = {});
  ~BundleWriter();

  // InvalidArgument if the name is empty or was added already; Unimplemented for resources and for variants that cannot
  // be encoded.
  absl::Status Add(absl::string_view name, const Tensor& tensor);
  // `tensor` is the part `slice` of a tensor of shape `full`; the other parts may be in other bundles that are merged
  // later.
  absl::Status AddSlice(absl::string_view name, const TensorShape& full, const TensorSlice& slice,
                        const Tensor& tensor);
  // Like SaveV2: `shape_and_slice` is empty or in the form that ParseShapeAndSlice reads.
  absl::Status Save(absl::string_view name, absl::string_view shape_and_slice, const Tensor& tensor);
  absl::Status Save(absl::string_view name, absl::string_view shape_and_slice, const TensorSource& source);
  absl::Status Finish();

 private:
  BundleWriter(FileSystem* file_system, std::string prefix, BundleWriterOptions options);

  // `objects`: the tensor, if its elements are not plain.
  absl::Status SaveFrom(absl::string_view name, absl::string_view shape_and_slice, const TensorSource& source,
                        const Tensor* objects);
  absl::Status AddEntry(const std::string& key, const TensorSource& source, const Tensor* objects);
  absl::Status DoAddSlice(const std::string& name, const TensorShape& full, const TensorSlice& slice,
                          const TensorSource& source, const Tensor* objects);
  absl::Status WritePlain(const TensorSource& source, BundleEntry* entry);
  absl::Status WriteStrings(const Tensor& tensor, BundleEntry* entry);
  absl::Status WriteVariants(const Tensor& tensor, BundleEntry* entry);
  absl::Status Publish();

  FileSystem* const file_system_;
  const std::string prefix_;
  const BundleWriterOptions options_;
  const std::string data_temporary_;
  const std::string index_temporary_;
  std::unique_ptr<WritableFile> data_;
  uint64_t offset_ = 0;
  BundleIndex index_;
  absl::Status status_;
  bool finished_ = false;
};

struct MergeBundlesOptions {
  bool sync = true;
  // Remove the directories of the merged bundles if they are empty afterwards.
  bool delete_old_dirs = true;
};

// Merges several checkpoints into one at `destination`: moves their data files and removes their indexes. The merged
// index appears last. InvalidArgument if two hold the same tensor, unless as different slices.
absl::Status MergeBundles(FileSystem* file_system, absl::Span<const std::string> prefixes,
                          const std::string& destination, MergeBundlesOptions options = {});

}  // namespace weir
