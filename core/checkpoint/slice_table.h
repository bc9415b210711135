// TensorFlow's V1 checkpoints: one table of tensor slices per file.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/checkpoint/tensor_slice.h"
#include "core/files/file_system.h"
#include "core/tensor/tensor.h"

namespace weir {

// Collects slices and writes them on Finish, to a temporary file that is renamed to `path` last. Not thread-safe;
// blocks for I/O.
class SliceTableWriter {
 public:
  // `file_system` outlives the writer.
  SliceTableWriter(FileSystem* file_system, std::string path) : file_system_(file_system), path_(std::move(path)) {}

  // `shape_and_slice` is empty or in the form that ParseShapeAndSlice reads. InvalidArgument for a slice that does not
  // fit the tensor or what was added under its name before; Unimplemented for resources and variants.
  absl::Status Add(const std::string& name, absl::string_view shape_and_slice, const Tensor& tensor);
  absl::Status Finish();

 private:
  struct Meta {
    DataType dtype = DT_INVALID;
    TensorShape shape;
    std::vector<TensorSlice> slices;
  };

  std::string EncodeMeta() const;

  FileSystem* const file_system_;
  const std::string path_;
  std::map<std::string, Meta> tensors_;
  std::map<std::string, std::string> entries_;  // by SliceKey
};

// Reads all files that match a pattern. Blocks for I/O. The files are untrusted.
class SliceTableReader {
 public:
  // NotFound if no file matches; DataLoss, naming the file and the reason, if one is not such a table.
  static absl::StatusOr<std::unique_ptr<SliceTableReader>> Open(FileSystem* file_system, const std::string& pattern);

  // Like the writer's Add. NotFound: "Tensor name NAME not found in checkpoint files". The dtype must match, and the
  // stored slices must cover the requested one.
  absl::StatusOr<Tensor> Restore(const std::string& name, absl::string_view shape_and_slice, DataType dtype,
                                 Allocator* allocator = CpuAllocator()) const;

 private:
  struct Stored {
    DataType dtype = DT_INVALID;
    TensorShape shape;
    std::vector<TensorSlice> slices;
  };

  explicit SliceTableReader(std::string pattern) : pattern_(std::move(pattern)) {}
  absl::Status AddFile(FileSystem* file_system, const std::string& path);
  absl::Status AddMeta(const std::string& path, const std::string& bytes);
  // The values of a slice, as a tensor of its shape.
  absl::StatusOr<Tensor> ReadSlice(const std::string& name, const Stored& stored, const TensorSlice& slice) const;

  const std::string pattern_;
  std::map<std::string, Stored> tensors_;
  std::map<std::string, std::string> entries_;
};

}  // namespace weir
