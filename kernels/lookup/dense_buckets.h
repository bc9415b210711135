// The buckets of a dense hash table, in the order in which it exports them.
#pragma once

#include <cstdint>
#include <vector>

namespace weir {

// Rows (of some other table) by bucket, with open addressing and quadratic probing. Not thread-safe.
class DenseBuckets {
 public:
  static constexpr int64_t kEmpty = -1, kDeleted = -2;

  DenseBuckets(int64_t count, double max_load) : rows_(count, kEmpty), hashes_(count, 0), max_load_(max_load) {}

  int64_t size() const { return static_cast<int64_t>(rows_.size()); }
  int64_t row(int64_t bucket) const { return rows_[bucket]; }
  // Makes room for `more` entries: doubles until the load is small enough.
  void Reserve(int64_t more) {
    int64_t count = size();
    while (static_cast<double>(entries_ + more) > static_cast<double>(count) * max_load_) count *= 2;
    if (count == size()) return;
    DenseBuckets larger(count, max_load_);
    for (int64_t i = 0; i < size(); ++i) {
      if (rows_[i] >= 0) larger.Add(hashes_[i], rows_[i]);
    }
    *this = std::move(larger);
  }
  // There is room.
  void Add(uint64_t hash, int64_t row) {
    const uint64_t mask = rows_.size() - 1;
    uint64_t bucket = hash & mask;
    for (uint64_t probe = 1; rows_[bucket] >= 0; ++probe) bucket = (bucket + probe) & mask;
    rows_[bucket] = row;
    hashes_[bucket] = hash;
    ++entries_;
  }
  void Remove(uint64_t hash, int64_t row) {
    const uint64_t mask = rows_.size() - 1;
    uint64_t bucket = hash & mask;
    for (uint64_t probe = 1; rows_[bucket] != row && probe <= rows_.size(); ++probe) bucket = (bucket + probe) & mask;
    if (rows_[bucket] != row) return;
    rows_[bucket] = kDeleted;
    --entries_;
  }

 private:
  std::vector<int64_t> rows_;
  std::vector<uint64_t> hashes_;
  int64_t entries_ = 0;
  double max_load_;
};

}  // namespace weir
