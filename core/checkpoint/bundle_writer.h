// Writes checkpoints in TensorFlow's V2 format.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/checkpoint/bundle_format.h"
#include "core/file_system.h"
#include "core/tensor.h"

namespace weir {

struct BundleWriterOptions {
  // Files are on the disk, not only with the operating system, before any gets its name.
  bool sync = true;
};

// Writes beside `prefix` and renames last, the index last of all: until Finish returns, readers find the checkpoint
// that was there before, or none, and never a mixture. Without Finish, the destructor removes what was written.
// Tensors' bytes go from their buffers to the file without a copy. Not thread-safe; blocks for I/O. After an error
// every call fails.
class BundleWriter {
 public:
  // Creates the directory where needed. `file_system` outlives the writer.
  static absl::StatusOr<std::unique_ptr<BundleWriter>> Create(FileSystem* file_system, const std::string& prefix,
                                                              BundleWriterOptions options = {});
  ~BundleWriter();

  // InvalidArgument for a name that was added already or is empty; Unimplemented for resources and for variants that
  // cannot be encoded.
  absl::Status Add(absl::string_view name, const Tensor& tensor);
  // `tensor` is the part `slice` of a tensor of shape `full`; the other parts may be in other bundles, to be merged.
  absl::Status AddSlice(absl::string_view name, const TensorShape& full, const TensorSlice& slice,
                        const Tensor& tensor);
  // As SaveV2: `shape_and_slice` is empty, or as ParseShapeAndSlice reads it.
  absl::Status Save(absl::string_view name, absl::string_view shape_and_slice, const Tensor& tensor);
  absl::Status Finish();

 private:
  BundleWriter(FileSystem* file_system, std::string prefix, BundleWriterOptions options);

  absl::Status AddEntry(const std::string& key, const Tensor& tensor);
  absl::Status DoAddSlice(const std::string& name, const TensorShape& full, const TensorSlice& slice,
                          const Tensor& tensor);
  absl::Status WritePlain(const Tensor& tensor, BundleEntry* entry);
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
  // Removes the directories of the merged bundles, where they are empty then.
  bool delete_old_dirs = true;
};

// Makes one checkpoint at `destination` of several, whose data files it moves and whose indexes it removes; the index
// of the result appears last. InvalidArgument when two hold the same tensor, unless as different slices.
absl::Status MergeBundles(FileSystem* file_system, absl::Span<const std::string> prefixes,
                          const std::string& destination, MergeBundlesOptions options = {});

}  // namespace weir
