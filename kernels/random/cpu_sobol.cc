// SobolSample: points that fill the unit cube evenly. They follow one another in the order of Gray's code, so that each
// differs from its predecessor by one direction.
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/random/cpu_sobol.h"
#include "kernels/random/family.h"

namespace weir {
namespace {

constexpr int kDigits = 31;  // the number of a point is a positive int32

// directions[d][k]: what digit k of a point's number adds in dimension d, as a fraction of 2^31.
using Directions = std::vector<std::vector<uint32_t>>;

Directions DirectionsOf(int dimensions) {
  Directions directions(dimensions, std::vector<uint32_t>(kDigits));
  const uint16_t* from = sobol::kNumbers;
  for (int d = 0; d < dimensions; ++d) {
    std::vector<uint32_t> numbers(kDigits, 1);
    if (d > 0) {
      const uint32_t polynomial = *from++;
      const int degree = std::bit_width(polynomial) - 1;
      for (int k = 0; k < degree; ++k) numbers[k] = *from++;
      for (int k = degree; k < kDigits; ++k) {
        numbers[k] = numbers[k - degree] ^ numbers[k - degree] << degree;
        for (int i = 1; i < degree; ++i) {
          if (polynomial >> (degree - i) & 1) numbers[k] ^= numbers[k - i] << i;
        }
      }
    }
    for (int k = 0; k < kDigits; ++k) directions[d][k] = numbers[k] << (kDigits - 1 - k);
  }
  return directions;
}

template <typename T>
class SobolSampleKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    static constexpr const char* kNames[] = {"dim", "num_results", "skip"};
    int64_t values[3];
    for (int i = 0; i < 3; ++i) {
      if (ctx.input(i).dims() != 0) return errors::InvalidArgument(kNames[i], " must be a scalar");
      values[i] = ctx.input(i).scalar<int32_t>();
    }
    const auto [dimensions, count, skip] = values;
    if (dimensions < 1) return errors::InvalidArgument("dim must be at least one, got ", dimensions);
    if (dimensions > sobol::kMaxDimensions) {
      return errors::InvalidArgument("dim must be at most ", sobol::kMaxDimensions, ", got ", dimensions);
    }
    if (count < 1) return errors::InvalidArgument("num_results must be at least one, got ", count);
    if (skip < 0) return errors::InvalidArgument("skip must be non-negative, got ", skip);
    if (skip + count >= std::numeric_limits<int32_t>::max()) {
      return errors::InvalidArgument("num_results+skip must be less than ", std::numeric_limits<int32_t>::max(),
                                     ", got ", skip + count);
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, TensorShape({count, dimensions})));
    const Directions directions = DirectionsOf(static_cast<int>(dimensions));
    // Point 0, which is the origin, is left out.
    const uint32_t first = static_cast<uint32_t>(skip + 1), gray = first ^ first >> 1;
    std::vector<uint32_t> point(dimensions, 0);
    for (int64_t d = 0; d < dimensions; ++d) {
      for (int k = 0; k < kDigits; ++k) point[d] ^= gray >> k & 1 ? directions[d][k] : 0;
    }
    T* out = output->data<T>();
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t d = 0; d < dimensions; ++d) *out++ = Fraction(point[d]);
      const int changed = std::countr_zero(first + static_cast<uint32_t>(i) + 1);
      for (int64_t d = 0; d < dimensions; ++d) point[d] ^= directions[d][changed];
    }
    return absl::OkStatus();
  }

 private:
  // Rounding must not leave the half-open cube.
  static T Fraction(uint32_t x) {
    const T value = std::ldexp(static_cast<T>(x), -kDigits);
    return std::min(value, std::nextafter(T{1}, T{0}));
  }
};

}  // namespace

absl::Status RegisterSobolKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<SobolSampleKernel<float>>(Kernel("SobolSample").Cpu().Types("dtype", {DT_FLOAT})));
  return kernels.Register<SobolSampleKernel<double>>(Kernel("SobolSample").Cpu().Types("dtype", {DT_DOUBLE}));
}

}  // namespace weir
