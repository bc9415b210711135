// Reads checkpoints in TensorFlow's V2 format.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/checkpoint/bundle_format.h"
#include "core/files/file_system.h"
#include "core/mutex.h"
#include "core/tensor/tensor.h"
#include "core/threads/work_queue.h"

namespace weir {

// Thread-safe. Blocks for I/O. The files are untrusted: inconsistent content is DataLoss naming the file and the
// reason, and no tensor is allocated if its file is too short for it.
class BundleReader {
 public:
  struct Options {
    // Reads and checks large tensors in parallel. Optional; outlives the reader.
    WorkQueue* work_queue = nullptr;
  };
  struct Info {
    std::string name;
    DataType dtype;
    TensorShape shape;
    std::vector<TensorSlice> slices;  // empty: stored whole
  };

  // NotFound if there is no such checkpoint. `file_system` outlives the reader.
  static absl::StatusOr<std::unique_ptr<BundleReader>> Open(FileSystem* file_system, const std::string& prefix,
                                                            Options options);
  static absl::StatusOr<std::unique_ptr<BundleReader>> Open(FileSystem* file_system, const std::string& prefix) {
    return Open(file_system, prefix, Options());
  }

  bool Contains(absl::string_view name) const { return Find(name) != nullptr; }
  absl::StatusOr<Info> Lookup(absl::string_view name) const;
  std::vector<Info> List() const;

  // The whole tensor, assembled from its slices if it was stored that way. NotFound: "Key NAME not found in
  // checkpoint".
  absl::StatusOr<Tensor> Read(absl::string_view name, Allocator* allocator = CpuAllocator()) const;
  // Reads into the buffer of `tensor`, which has the dtype and shape that Lookup returns; InvalidArgument otherwise.
  // After an error the buffer's content is undefined.
  absl::Status ReadInto(absl::string_view name, Tensor* tensor) const;
  // A part of the tensor, from any stored slices; DataLoss if they do not cover it.
  absl::StatusOr<Tensor> ReadSlice(absl::string_view name, const TensorSlice& slice,
                                   Allocator* allocator = CpuAllocator()) const;
  // Like RestoreV2: `shape_and_slice` is empty or in the form that ParseShapeAndSlice reads; the dtype must match.
  absl::StatusOr<Tensor> Restore(absl::string_view name, absl::string_view shape_and_slice, DataType dtype,
                                 Allocator* allocator = CpuAllocator()) const;
  // Checks that every data file exists and is as long as the index requires.
  absl::Status CheckComplete() const { return CheckBundleData(file_system_, prefix_, index_); }

 private:
  BundleReader(FileSystem* file_system, std::string prefix, Options options, BundleIndex index);

  const BundleEntry* Find(absl::string_view key) const;
  absl::StatusOr<const BundleEntry*> Need(absl::string_view name) const;
  // The open file of the entry, checked to be long enough for it.
  absl::StatusOr<const ReadableFile*> FileOf(const BundleEntry& entry) const;
  absl::StatusOr<Tensor> ReadEntry(const std::string& key, const BundleEntry& entry, Allocator* allocator) const;
  absl::Status ReadEntryInto(const std::string& key, const BundleEntry& entry, Tensor* tensor) const;
  absl::StatusOr<uint32_t> ReadBytes(const ReadableFile& file, uint64_t offset, uint64_t size, char* buffer) const;
  absl::StatusOr<uint32_t> ReadStrings(const ReadableFile& file, const BundleEntry& entry, Tensor* tensor) const;
  absl::StatusOr<uint32_t> ReadVariants(const ReadableFile& file, const BundleEntry& entry, Tensor* tensor) const;
  absl::StatusOr<uint32_t> ReadContent(const ReadableFile& file, const BundleEntry& entry, Tensor* tensor) const;
  absl::Status Assemble(const std::string& name, const BundleEntry& entry, const TensorSlice& wanted,
                        Tensor* tensor) const;

  struct DataFile {
    std::unique_ptr<ReadableFile> file;
    uint64_t size = 0;
  };

  FileSystem* const file_system_;
  const std::string prefix_;
  const Options options_;
  const BundleIndex index_;
  mutable Mutex mu_;
  mutable std::map<int, DataFile> files_ GUARDED_BY(mu_);  // by shard, opened when first needed
};

}  // namespace weir
