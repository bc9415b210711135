#include "client/initializers.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "client/ops.h"

namespace weir {
namespace initializers {
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

namespace {

// Uniform or truncated normal, with this variance.
Initializer WithVariance(const std::function<double(const Fans&)>& variance, bool uniform, int64_t seed) {
  return [=](const Scope& scope, const TensorShape& shape, DataType dtype) {
    const double stddev = std::sqrt(variance(Fans(shape)));
    if (!uniform) return TruncatedNormal(0, stddev / kTruncationFactor, seed)(scope, shape, dtype);
    const double limit = std::sqrt(3.0) * stddev;
    return RandomUniform(-limit, limit, seed)(scope, shape, dtype);
  };
}

}  // namespace

Initializer GlorotNormal(int64_t seed) {
  return WithVariance([](const Fans& fans) { return 2 / (fans.in + fans.out); }, /*uniform=*/false, seed);
}
Initializer HeNormal(int64_t seed) {
  return WithVariance([](const Fans& fans) { return 2 / fans.in; }, /*uniform=*/false, seed);
}
Initializer HeUniform(int64_t seed) {
  return WithVariance([](const Fans& fans) { return 2 / fans.in; }, /*uniform=*/true, seed);
}
Initializer LecunNormal(int64_t seed) {
  return WithVariance([](const Fans& fans) { return 1 / fans.in; }, /*uniform=*/false, seed);
}
Initializer LecunUniform(int64_t seed) {
  return WithVariance([](const Fans& fans) { return 1 / fans.in; }, /*uniform=*/true, seed);
}

// The Q of a random matrix, with the signs of R's diagonal, is uniformly distributed.
Initializer Orthogonal(double gain, int64_t seed) {
  return [=](const Scope& scope, const TensorShape& shape, DataType dtype) {
    if (shape.dims() < 2) {
      scope.UpdateStatus(errors::InvalidArgument("An orthogonal initial value needs rank 2 or more; '", scope.name(),
                                                 "' has shape ", shape.ToString()));
      return Output();
    }
    const int64_t columns = shape.dim_size(shape.dims() - 1);
    const int64_t rows = columns == 0 ? 0 : shape.num_elements() / columns;
    const TensorShape tall({std::max(rows, columns), std::min(rows, columns)});
    const Output random = ops::RandomStandardNormal(scope, ShapeTensor(tall), DT_FLOAT, {.seed = seed, .seed2 = seed});
    const auto qr = ops::Qr(scope, random);
    const Output signs = ops::Sign(scope, ops::MatrixDiagPart(scope, qr.r));
    Output q = ops::Mul(scope, qr.q, signs);
    if (rows < columns) q = ops::Transpose(scope, q, Tensor::Vector<int32_t>({1, 0}));
    const Output value = ops::Reshape(scope, ops::Mul(scope, q, gain), ShapeTensor(shape));
    return dtype == DT_FLOAT ? value : ops::Cast(scope, value, dtype);
  };
}

}  // namespace initializers
}  // namespace weir
