// LearnedUnigramCandidateSampler's distribution: classes as frequent as they were among the true ones so far.
#include <algorithm>
#include <limits>
#include <vector>

#include "core/mutex.h"
#include "kernels/candidate_sampling/cpu_candidate_sampling.h"

namespace weir {
namespace {

// A tree of sums, so that a class is found and counted in logarithmic time.
class LearnedUnigramSampler : public Sampler {
 public:
  explicit LearnedUnigramSampler(int64_t range) : Sampler(range), leaves_(1) {
    while (leaves_ < range) leaves_ *= 2;
    sums_.assign(2 * leaves_, 0);
    std::fill_n(sums_.begin() + leaves_, range, 1);
    for (int64_t i = leaves_ - 1; i > 0; --i) sums_[i] = sums_[2 * i] + sums_[2 * i + 1];
  }
  int64_t Sample(Draws& draws) const override {
    MutexLock lock(mu_);
    uint32_t at = Unbiased(draws, static_cast<uint32_t>(sums_[1]));
    int64_t i = 1;
    while (i < leaves_) {
      i *= 2;
      if (at >= static_cast<uint32_t>(sums_[i])) at -= static_cast<uint32_t>(sums_[i++]);
    }
    return i - leaves_;
  }
  float Probability(int64_t value) const override {
    MutexLock lock(mu_);
    return static_cast<float>(sums_[leaves_ + value]) / static_cast<float>(sums_[1]);
  }
  void Update(absl::Span<const int64_t> values) override {
    MutexLock lock(mu_);
    for (int64_t value : values) {
      if (sums_[1] == std::numeric_limits<int32_t>::max()) return;
      for (int64_t i = leaves_ + value; i > 0; i /= 2) ++sums_[i];
    }
  }

 private:
  // Drops the lowest words, unlike DrawBelow: TensorFlow draws differently here, and its samples depend on it.
  static uint32_t Unbiased(Draws& draws, uint32_t n) {
    if ((n & (n - 1)) == 0) return draws.Word() & (n - 1);
    const uint32_t rest = ~uint32_t{0} % n + 1;
    uint32_t word;
    do word = draws.Word();
    while (word < rest);
    return word % n;
  }

  int64_t leaves_;  // set once
  mutable Mutex mu_;
  std::vector<int32_t> sums_ GUARDED_BY(mu_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<Sampler>> MakeLearnedUnigramSampler(int64_t range) {
  constexpr int64_t kMost = int64_t{1} << 28;
  if (range > kMost) return errors::InvalidArgument("range_max must be at most ", kMost, ", got ", range);
  return std::make_unique<LearnedUnigramSampler>(range);
}

}  // namespace weir
