#include "client/initializers.h"

#include <cmath>
#include <numeric>

#include "client/ops.h"

namespace weir::initializers {
namespace {

Tensor ShapeTensor(const TensorShape& shape) { return Tensor::Vector<int64_t>(shape.dim_sizes()); }

// The products of a weight's input and output dimensions: [in, out], or [h, w, in, out] for convolutions.
struct Fans {
  explicit Fans(const TensorShape& shape) {
    const auto dims = shape.dim_sizes();
    if (dims.empty()) return;
    if (dims.size() == 1) {
      in = out = static_cast<double>(dims[0]);
      return;
    }
    const double receptive = std::accumulate(dims.begin(), dims.end() - 2, 1.0, std::multiplies<double>());
    in = receptive * static_cast<double>(dims[dims.size() - 2]);
    out = receptive * static_cast<double>(dims.back());
  }
  double in = 1, out = 1;
};

// value * scale + shift in the variable's type.
Output ScaleAndShift(const Scope& scope, const Output& value, double scale, double shift) {
  return ops::AddV2(scope, ops::Mul(scope, value, scale), shift);
}

// Compensates for the variance that a normal distribution loses when truncated at two standard deviations.
constexpr double kTruncationFactor = 0.87962566103423978;

}  // namespace

Initializer Constant(double value) {
  return [value](const Scope& scope, const TensorShape& shape, DataType dtype) {
    return ops::Fill(scope, ShapeTensor(shape), scope.Constant(value, dtype));
  };
}

Initializer Zeros() { return Constant(0); }
Initializer Ones() { return Constant(1); }

Initializer Value(Tensor value) {
  return [value = std::move(value)](const Scope& scope, const TensorShape& shape, DataType dtype) {
    if (value.dtype() != dtype || value.shape() != shape) {
      scope.UpdateStatus(errors::InvalidArgument("The initial value is ", DataTypeName(value.dtype()),
                                                 value.shape().ToString(), "; the variable '", scope.name(), "' is ",
                                                 DataTypeName(dtype), shape.ToString()));
      return Output();
    }
    return scope.Constant(value, dtype);
  };
}

Initializer RandomUniform(double low, double high, int64_t seed) {
  return [=](const Scope& scope, const TensorShape& shape, DataType dtype) {
    const Output unit = ops::RandomUniform(scope, ShapeTensor(shape), dtype, {.seed = seed, .seed2 = seed});
    return ScaleAndShift(scope, unit, high - low, low);
  };
}

Initializer RandomNormal(double mean, double stddev, int64_t seed) {
  return [=](const Scope& scope, const TensorShape& shape, DataType dtype) {
    const Output unit = ops::RandomStandardNormal(scope, ShapeTensor(shape), dtype, {.seed = seed, .seed2 = seed});
    return ScaleAndShift(scope, unit, stddev, mean);
  };
}

Initializer TruncatedNormal(double mean, double stddev, int64_t seed) {
  return [=](const Scope& scope, const TensorShape& shape, DataType dtype) {
    const Output unit = ops::TruncatedNormal(scope, ShapeTensor(shape), dtype, {.seed = seed, .seed2 = seed});
    return ScaleAndShift(scope, unit, stddev, mean);
  };
}

Initializer GlorotUniform(int64_t seed) {
  return [=](const Scope& scope, const TensorShape& shape, DataType dtype) {
    const Fans fans(shape);
    const double limit = std::sqrt(6.0 / (fans.in + fans.out));
    return RandomUniform(-limit, limit, seed)(scope, shape, dtype);
  };
}

Initializer HeNormal(int64_t seed) {
  return [=](const Scope& scope, const TensorShape& shape, DataType dtype) {
    const double stddev = std::sqrt(2.0 / Fans(shape).in) / kTruncationFactor;
    return TruncatedNormal(0, stddev, seed)(scope, shape, dtype);
  };
}

}  // namespace weir::initializers
