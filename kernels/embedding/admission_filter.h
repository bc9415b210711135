// Decides which new keys get a row.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/embedding/embedding_options.h"

namespace weir {

// Counts pushes of keys that have no row in a table of counters that keys share: a key is never counted too low, so
// that none waits too long. The counters are halved now and then, or else everything would be let in one day. Not
// thread-safe.
class AdmissionFilter {
 public:
  static constexpr int64_t kMaxFrequency = UINT16_MAX;

  // For the part of a table that has `counters` of its counters.
  AdmissionFilter(const EmbeddingOptions& options, int64_t counters);

  // Whether the key of this hash, which is pushed `count` times now, gets a row.
  bool Admit(uint64_t hash, int64_t count);
  void Clear();
  // The counters and how much they have counted, for a filter with the same options elsewhere.
  const std::vector<uint16_t>& counters() const { return counters_; }
  int64_t counted() const { return counted_; }
  // `counters` are as many as here.
  void Assign(const uint16_t* counters, int64_t counted);
  int64_t bytes() const { return static_cast<int64_t>(counters_.capacity() * sizeof(counters_[0])); }

 private:
  int64_t Count(uint64_t hash, int64_t count);
  bool Draw(uint64_t hash);

  const int64_t frequency_;
  const double probability_;
  const uint64_t seed_;
  std::vector<uint16_t> counters_;
  int64_t counted_ = 0;  // since they were halved
  uint64_t draws_ = 0;
};

}  // namespace weir
