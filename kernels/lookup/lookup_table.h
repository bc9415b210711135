// The object behind the hash table ops.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/fingerprint.h"
#include "core/kernel/op_kernel.h"
#include "core/mutex.h"
#include "kernels/lookup/dense_buckets.h"

namespace weir {

// Maps integers or strings, or small tensors of them, to values of one type and shape. Thread-safe.
class LookupTable : public Resource {
 public:
  struct Options {
    std::string kind;  // "HashTable", "MutableHashTable", "MutableHashTableOfTensors", "MutableDenseHashTable"
    std::string name;
    DataType key_type = DT_INVALID, value_type = DT_INVALID;
    TensorShape key_shape, value_shape;
    bool is_mutable = false;  // the others are filled once, by Import
    // Dense tables have two keys that stand for no entry and must not be used. Otherwise without elements.
    Tensor empty_key, deleted_key;
    int64_t initial_buckets = 0;
    double max_load = 0;
    bool is_dense() const { return empty_key.NumElements() > 0; }
  };

  explicit LookupTable(Options options);
  const Options& options() const { return options_; }
  // InvalidArgument for reserved keys that are equal.
  absl::Status CheckOptions() const;
  std::string DebugString() const override;
  int64_t MemoryUsed() const override;
  int64_t size() const;  // 0 where a table that is filled once has not been, whatever an attempt left in it
  // Whether a table that is filled once has been.
  bool is_initialized() const;

  // Gives the values of keys that are there, and `default_value` (one value, or one for each key) for the others.
  absl::StatusOr<Tensor> Find(const OpKernelContext& ctx, const Tensor& keys, const Tensor& default_value) const;
  // Later duplicates win. Unimplemented for a table that is filled once.
  absl::Status Insert(const OpKernelContext& ctx, const Tensor& keys, const Tensor& values);
  absl::Status Remove(const Tensor& keys);
  // Replaces everything. A table that is filled once accepts this once; later it only checks that as many come.
  absl::Status Import(const OpKernelContext& ctx, const Tensor& keys, const Tensor& values);
  struct Entries {
    Tensor keys, values;
  };
  // A dense table gives all its buckets, as matrices, with empty_key and deleted_key where there is no entry; Import
  // takes them back.
  absl::StatusOr<Entries> Export(const OpKernelContext& ctx) const;

 private:
  struct StringHash {
    using is_transparent = void;
    size_t operator()(absl::string_view key) const { return Hash64(key); }
  };
  // Rows of `values_` by key; one of the maps is used: integers for scalar ones, else the bytes of EncodedKey. An
  // export has their order, which is that of TensorFlow's mutable tables: the same maps with the same hashes.
  struct Rows {
    std::unordered_map<int64_t, int64_t> by_integer;
    std::unordered_map<std::string, int64_t, StringHash, std::equal_to<>> by_string;
  };

  absl::Status CheckEntries(const Tensor& keys, const Tensor& values) const;
  // InvalidArgument, with the signature of a look-up, where the types are not the table's.
  absl::Status CheckTypes(DataType keys, DataType values) const;
  // Types and shape; the shape of their values.
  absl::StatusOr<TensorShape> CheckKeys(const Tensor& keys) const;
  absl::Status CheckNotReserved(const Tensor& keys) const;
  int64_t CountOf(const Tensor& keys) const { return keys.NumElements() / options_.key_shape.num_elements(); }
  bool ByInteger() const { return options_.key_type != DT_STRING && options_.key_shape.dims() == 0; }
  std::string EncodedKey(const Tensor& keys, int64_t i) const;
  uint64_t KeyHash(const Tensor& keys, int64_t i) const;
  void DecodeKey(absl::string_view encoded, Tensor* keys, int64_t i) const;
  int64_t KeyCount() const REQUIRES(mu_);
  void Clear() REQUIRES(mu_);
  absl::Status ImportBuckets(const OpKernelContext& ctx, const Tensor& keys, const Tensor& values);
  absl::StatusOr<Entries> ExportBuckets(const OpKernelContext& ctx) const REQUIRES(mu_);
  // -1 when absent.
  int64_t FindRow(const Tensor& keys, int64_t i) const REQUIRES(mu_);
  absl::StatusOr<int64_t> FindOrAddRow(const OpKernelContext& ctx, const Tensor& keys, int64_t i) REQUIRES(mu_);
  void* RowAt(const Tensor& values, int64_t row) const;
  bool RowsEqual(const void* a, const void* b) const;

  const Options options_;
  mutable Mutex mu_;
  Rows rows_ GUARDED_BY(mu_);
  Tensor values_ GUARDED_BY(mu_);          // [capacity] + value_shape
  int64_t used_rows_ GUARDED_BY(mu_) = 0;  // of values_
  std::vector<int64_t> free_rows_ GUARDED_BY(mu_);
  std::unique_ptr<DenseBuckets> buckets_ GUARDED_BY(mu_);  // dense tables only
  bool filled_ GUARDED_BY(mu_) = false;
};

class KernelRegistry;
// The parts of RegisterLookupKernels: what makes tables, and what fills them from files.

}  // namespace weir
