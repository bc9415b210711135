// The file format of TensorFlow's V2 checkpoints ("tensor bundle"): PREFIX.index, a sorted table of entries by name,
// and PREFIX.data-00000-of-00001 and so on, the tensors' bytes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/checkpoint/tensor_slice.h"
#include "core/files/file_system.h"
#include "core/tensor/tensor.h"

namespace weir {

// One tensor, or one slice of a partitioned one. The entry of a partitioned tensor lists its slices only; each is
// stored under the key that SliceKey returns.
struct BundleEntry {
  DataType dtype = DT_INVALID;
  TensorShape shape;
  int shard = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
  uint32_t masked_crc = 0;
  std::vector<TensorSlice> slices;
};

struct BundleIndex {
  int num_shards = 1;
  std::map<std::string, BundleEntry> entries;  // by key, slices included
};

std::string BundleIndexPath(absl::string_view prefix);
std::string BundleDataPath(absl::string_view prefix, int shard, int num_shards);
std::string SliceKey(absl::string_view name, const TensorSlice& slice);
bool IsSliceKey(absl::string_view key);

// Writes a complete file to `path`, syncs and closes it.
absl::Status WriteBundleIndex(FileSystem* file_system, const std::string& path, const BundleIndex& index, bool sync);
// NotFound if there is no file; DataLoss, naming the file, the key and the reason, if it is inconsistent. The result is
// safe to use: shapes, offsets, shards and slices are checked.
absl::StatusOr<BundleIndex> ReadBundleIndex(FileSystem* file_system, absl::string_view prefix);
// Checks that every data file exists and is as long as the index requires.
absl::Status CheckBundleData(FileSystem* file_system, absl::string_view prefix, const BundleIndex& index);

}  // namespace weir
