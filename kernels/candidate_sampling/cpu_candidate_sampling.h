// Distributions from which classes are sampled for the losses of wide softmax layers.
#pragma once

#include <memory>

#include "core/kernel/op_kernel.h"
#include "kernels/random/random_fill.h"

namespace weir {

// Random numbers as the samplers draw them.
class Draws {
 public:
  explicit Draws(const Philox& stream) : words_(stream) {}
  uint64_t Word64() {
    const uint64_t low = words_.Next();
    return low | static_cast<uint64_t>(words_.Next()) << 32;
  }
  double Fraction() {
    const uint32_t first = words_.Next(), second = words_.Next();
    return UniformDouble(first, second);
  }
  float SingleFraction() { return UniformFloat(words_.Next()); }
  // Below n, without bias.
  uint64_t Below(uint64_t n) {
    return DrawBelow(n, [this] { return Word64(); });
  }
  uint32_t Word() { return words_.Next(); }
  uint32_t SingleBelow(uint32_t n) {
    return DrawBelow(n, [this] { return words_.Next(); });
  }

 private:
  SingleSamples words_;
};

// A distribution over [0, range).
class Sampler {
 public:
  explicit Sampler(int64_t range) : range_(range) {}
  virtual ~Sampler() = default;
  virtual int64_t Sample(Draws& draws) const = 0;
  virtual float Probability(int64_t value) const = 0;
  int64_t range() const { return range_; }
  // The number of values with a probability above zero.
  virtual int64_t support() const { return range_; }
  // Learns that these classes were true.
  virtual void Update(absl::Span<const int64_t> values) {}

 protected:
  const int64_t range_;
};

// Classes by weights from the node's attributes or from a file, raised to the power "distortion".
absl::StatusOr<std::unique_ptr<Sampler>> MakeFixedUnigramSampler(const OpKernelConstruction& ctx, int64_t range);
// Classes as frequent as they were among the true ones so far. Thread-safe.
absl::StatusOr<std::unique_ptr<Sampler>> MakeLearnedUnigramSampler(int64_t range);

}  // namespace weir
