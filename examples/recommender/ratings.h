// Synthetic ratings of items by users. Users and items follow Zipf's law, and ratings a known model, so the best
// possible result is known.
#pragma once

#include <cstdint>
#include <vector>

#include "weir/core/tensor/tensor.h"

namespace weir::recommender {

struct RatingsOptions {
  int64_t users = 4000, items = 1000;
  double exponent = 0.8;  // the key of rank r occurs with a probability proportional to r^-exponent
  double noise = 0.2;     // standard deviation; the noise-free rating's is 1
  uint64_t seed = 1;
};

struct Batch {
  Tensor users, items;  // int64 [n]: keys from the full 64-bit range
  Tensor ratings;       // float [n]
};

// A rating is the inner product of four hidden numbers of the user with four of the item, plus noise.
class Ratings {
 public:
  explicit Ratings(RatingsOptions options);

  // Batch `number` of a stream; deterministic.
  Batch Take(uint64_t stream, uint64_t number, int64_t size) const;
  // The fraction of the variance that can be explained: the rest is noise.
  double BestR2() const { return 1 / (1 + options_.noise * options_.noise); }

 private:
  const RatingsOptions options_;
  std::vector<double> user_ranks_, item_ranks_;  // cumulative probabilities
};

}  // namespace weir::recommender
