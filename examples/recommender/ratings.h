// Ratings of items by users, made up: who rates what follows Zipf's law, and how is planted, so that it is known how
// well a model can do.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor.h"

namespace weir::recommender {

struct RatingsOptions {
  int64_t users = 4000, items = 1000;
  double exponent = 0.8;  // the key of rank r comes with a probability proportional to r^-exponent
  double noise = 0.2;     // its standard deviation; that of what is planted is 1
  uint64_t seed = 1;
};

struct Batch {
  Tensor users, items;  // int64 [n]: keys as they come, from all over the 64 bits
  Tensor ratings;       // float [n]
};

// The rating is the inner product of four hidden numbers of the user with four of the item, and noise.
class Ratings {
 public:
  explicit Ratings(RatingsOptions options);

  // Batch number `number` of a stream; the same one always is the same.
  Batch Take(uint64_t stream, uint64_t number, int64_t size) const;
  // What part of the variance can be explained: the rest is noise.
  double BestR2() const { return 1 / (1 + options_.noise * options_.noise); }

 private:
  const RatingsOptions options_;
  std::vector<double> user_ranks_, item_ranks_;  // cumulative probabilities
};

}  // namespace weir::recommender
