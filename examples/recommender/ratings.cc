#include "examples/recommender/ratings.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace weir::recommender {
namespace {

constexpr int kHidden = 4;

// SplitMix64's finalizer.
uint64_t Mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

std::vector<double> CumulativeZipf(int64_t n, double exponent) {
  std::vector<double> sums(n);
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sums[i] = sum += std::pow(static_cast<double>(i + 1), -exponent);
  for (double& value : sums) value /= sum;
  return sums;
}

int64_t Draw(const std::vector<double>& cumulative, double uniform) {
  const auto found = std::lower_bound(cumulative.begin(), cumulative.end(), uniform);
  return std::min<int64_t>(found - cumulative.begin(), static_cast<int64_t>(cumulative.size()) - 1);
}

// A standard normal value that depends only on its arguments.
double Hidden(uint64_t key, int i) {
  std::mt19937_64 engine(Mix(key + static_cast<uint64_t>(i)));
  return std::normal_distribution<double>()(engine);
}

}  // namespace

Ratings::Ratings(RatingsOptions options)
    : options_(options),
      user_ranks_(CumulativeZipf(options.users, options.exponent)),
      item_ranks_(CumulativeZipf(options.items, options.exponent)) {}

Batch Ratings::Take(uint64_t stream, uint64_t number, int64_t size) const {
  std::mt19937_64 engine(Mix(options_.seed ^ Mix(stream ^ Mix(number))));
  std::uniform_real_distribution<double> uniform;
  std::normal_distribution<double> normal(0, options_.noise);
  Batch batch{Tensor(DT_INT64, TensorShape({size})), Tensor(DT_INT64, TensorShape({size})),
              Tensor(DT_FLOAT, TensorShape({size}))};
  for (int64_t i = 0; i < size; ++i) {
    const uint64_t user = Mix(2 * Draw(user_ranks_, uniform(engine)));
    const uint64_t item = Mix(2 * Draw(item_ranks_, uniform(engine)) + 1);
    double rating = normal(engine);
    for (int k = 0; k < kHidden; ++k) rating += Hidden(user, k) * Hidden(item, k) / std::sqrt(double{kHidden});
    batch.users.data<int64_t>()[i] = static_cast<int64_t>(user);
    batch.items.data<int64_t>()[i] = static_cast<int64_t>(item);
    batch.ratings.data<float>()[i] = static_cast<float>(rating);
  }
  return batch;
}

}  // namespace weir::recommender
