#include "kernels/device/epilogue.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "absl/strings/str_join.h"
#include "core/tensor/numeric_types.h"
#include "kernels/activation/activation_functors.h"
#include "kernels/device/float16.h"
#include "kernels/device/parallel.h"
#include "kernels/device/vector_math.h"

namespace weir {
namespace {

using Function = BoundEpilogue::Function;

// Elements that stay in the L1 cache between one loop and the next.
constexpr int64_t kBlock = 2048;

struct Tanh {
  float operator()(float x, float) const { return vector_math::Tanh(x); }
  double operator()(double x, float) const { return std::tanh(x); }
};
struct Sigmoid {
  float operator()(float x, float) const { return vector_math::Sigmoid(x); }
  double operator()(double x, float) const { return 1 / (1 + std::exp(-x)); }
};

template <typename F, typename T>
void Map(T* x, int64_t n, float alpha) {
  for (int64_t i = 0; i < n; ++i) x[i] = F()(x[i], alpha);
}

template <typename T>
void Activate(Function function, float alpha, T* x, int64_t n) {
  switch (function) {
    case Function::kNone:
      return;
    case Function::kRelu:
      return Map<activations::Relu>(x, n, alpha);
    case Function::kRelu6:
      return Map<activations::Relu6>(x, n, alpha);
    case Function::kLeakyRelu:
      return Map<activations::LeakyRelu>(x, n, alpha);
    case Function::kElu:
      return Map<activations::Elu>(x, n, alpha);
    case Function::kTanh:
      return Map<Tanh>(x, n, alpha);
    case Function::kSigmoid:
      return Map<Sigmoid>(x, n, alpha);
  }
}

// scale and shift go along x with step 1, or stay with step 0; scale may be null.
template <typename T>
void ScaleAndShift(const T* scale, const T* shift, int64_t step, T* x, int64_t n) {
  if (step == 0) {
    const T a = scale == nullptr ? T{1} : *scale, b = *shift;
    for (int64_t i = 0; i < n; ++i) x[i] = x[i] * a + b;
  } else if (scale == nullptr) {
    WEIR_INDEPENDENT_ITERATIONS
    for (int64_t i = 0; i < n; ++i) x[i] += shift[i];
  } else {
    WEIR_INDEPENDENT_ITERATIONS
    for (int64_t i = 0; i < n; ++i) x[i] = x[i] * scale[i] + shift[i];
  }
}

// Calls fn(x, begin, count) over blocks of data, at most kBlock long, as numbers of type A: data's own or copies.
template <typename A, typename T, typename Fn>
void InBlocks(T* data, int64_t n, int64_t block_size, Fn&& fn) {
  if constexpr (std::is_same_v<A, T>) {
    for (int64_t i = 0; i < n; i += block_size) fn(data + i, i, std::min(block_size, n - i));
  } else {
    float block[kBlock];
    for (int64_t i = 0; i < n; i += block_size) {
      const int64_t count = std::min(block_size, n - i);
      ToFloats(data + i, block, count);
      fn(block, i, count);
      FromFloats(block, data + i, count);
    }
  }
}

template <typename T>
using Computed = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <typename T, typename A>
void Rows(Function function, float alpha, const A* scale, const A* shift, T* data, int64_t rows, int64_t width,
          int64_t stride) {
  if (stride == width && width <= kBlock) {
    InBlocks<A>(data, rows * width, kBlock / width * width, [&](A* x, int64_t, int64_t count) {
      for (int64_t i = 0; i < count; i += width) ScaleAndShift(scale, shift, 1, x + i, width);
      Activate(function, alpha, x, count);
    });
    return;
  }
  for (int64_t row = 0; row < rows; ++row) {
    InBlocks<A>(data + row * stride, width, kBlock, [&](A* x, int64_t begin, int64_t count) {
      ScaleAndShift(scale == nullptr ? nullptr : scale + begin, shift + begin, 1, x, count);
      Activate(function, alpha, x, count);
    });
  }
}

template <typename T, typename A>
void Planes(Function function, float alpha, const A* scale, const A* shift, T* data, int64_t images, int64_t channels,
            int64_t size) {
  for (int64_t plane = 0; plane < images * channels; ++plane) {
    const int64_t c = plane % channels;
    InBlocks<A>(data + plane * size, size, kBlock, [&](A* x, int64_t, int64_t count) {
      ScaleAndShift(scale == nullptr ? nullptr : scale + c, shift + c, 0, x, count);
      Activate(function, alpha, x, count);
    });
  }
}

template <typename T>
const T* DataOrNull(const std::vector<T>& values) {
  return values.empty() ? nullptr : values.data();
}

absl::StatusOr<Function> FunctionNamed(const std::string& name) {
  if (name == "Relu") return Function::kRelu;
  if (name == "Relu6") return Function::kRelu6;
  if (name == "LeakyRelu") return Function::kLeakyRelu;
  if (name == "Elu") return Function::kElu;
  if (name == "Tanh") return Function::kTanh;
  if (name == "Sigmoid") return Function::kSigmoid;
  return errors::Unimplemented(name);
}

template <typename T>
void Append(const Tensor& vector, std::vector<double>* values) {
  for (int64_t i = 0; i < vector.NumElements(); ++i) values->push_back(static_cast<double>(vector.data<T>()[i]));
}

absl::StatusOr<std::vector<double>> ReadVector(const Tensor& vector, int64_t channels) {
  if (!vector.shape().IsVector() || vector.dim_size(0) != channels) {
    return errors::InvalidArgument("A fused op's argument must be a vector of ", channels, " elements, not ",
                                   vector.shape().ToString());
  }
  std::vector<double> values;
  values.reserve(channels);
  switch (vector.dtype()) {
    case DT_DOUBLE:
      Append<double>(vector, &values);
      break;
    case DT_FLOAT:
      Append<float>(vector, &values);
      break;
    case DT_HALF:
      Append<half>(vector, &values);
      break;
    case DT_BFLOAT16:
      Append<bfloat16>(vector, &values);
      break;
    default:
      return errors::Unimplemented("A fused op's argument of type ", DataTypeName(vector.dtype()));
  }
  return values;
}

}  // namespace

void BoundEpilogue::ApplyToRows(void* data, int64_t rows, int64_t width, int64_t stride, int64_t first) const {
  const auto apply = [&](auto* elements, const auto& scale, const auto& shift) {
    const auto* const a = DataOrNull(scale);
    Rows(function_, alpha_, a == nullptr ? nullptr : a + first, shift.data() + first, elements, rows, width, stride);
  };
  switch (type_) {
    case DT_DOUBLE:
      return apply(static_cast<double*>(data), scale_, shift_);
    case DT_HALF:
      return apply(static_cast<half*>(data), float_scale_, float_shift_);
    case DT_BFLOAT16:
      return apply(static_cast<bfloat16*>(data), float_scale_, float_shift_);
    default:
      return apply(static_cast<float*>(data), float_scale_, float_shift_);
  }
}

void BoundEpilogue::ApplyToPlanes(void* data, int64_t images, int64_t size) const {
  const auto apply = [&](auto* elements, const auto& scale, const auto& shift) {
    Planes(function_, alpha_, DataOrNull(scale), shift.data(), elements, images, channels_, size);
  };
  switch (type_) {
    case DT_DOUBLE:
      return apply(static_cast<double*>(data), scale_, shift_);
    case DT_HALF:
      return apply(static_cast<half*>(data), float_scale_, float_shift_);
    case DT_BFLOAT16:
      return apply(static_cast<bfloat16*>(data), float_scale_, float_shift_);
    default:
      return apply(static_cast<float*>(data), float_scale_, float_shift_);
  }
}

absl::Status Epilogue::Init(OpKernelConstruction& ctx) {
  std::vector<std::string> ops;
  int64_t num_args = 0;
  RETURN_IF_ERROR(ctx.GetAttr("fused_ops", &ops));
  RETURN_IF_ERROR(ctx.GetAttr("num_args", &num_args));
  RETURN_IF_ERROR(ctx.GetAttr("epsilon", &epsilon_));
  RETURN_IF_ERROR(ctx.GetAttr("leakyrelu_alpha", &alpha_));
  normalizes_ = !ops.empty() && ops[0] == "FusedBatchNorm";
  absl::StatusOr<Function> function = ops.size() == 2 ? FunctionNamed(ops[1]) : Function::kNone;
  if (ops.empty() || ops.size() > 2 || (!normalizes_ && ops[0] != "BiasAdd") || !function.ok()) {
    return errors::Unimplemented(
        ctx.op(), " does not fuse [", absl::StrJoin(ops, ", "),
        "]: it takes BiasAdd or FusedBatchNorm, and then at most one of Relu, Relu6, LeakyRelu, "
        "Elu, Tanh and Sigmoid");
  }
  function_ = *function;
  const int wanted = normalizes_ ? 4 : 1;
  if (num_args == wanted) return absl::OkStatus();
  return errors::InvalidArgument("Fused ", ops[0], " takes ", wanted, " argument", wanted == 1 ? "" : "s", ", not ",
                                 num_args);
}

absl::StatusOr<BoundEpilogue> Epilogue::Bind(OpKernelContext& ctx, int first, int64_t channels) const {
  BoundEpilogue bound;
  bound.type_ = ctx.expected_output_dtype(0);
  bound.function_ = function_;
  bound.alpha_ = alpha_;
  bound.channels_ = channels;
  ASSIGN_OR_RETURN(bound.shift_, ReadVector(ctx.input(first + (normalizes_ ? 1 : 0)), channels));
  if (normalizes_) {
    ASSIGN_OR_RETURN(bound.scale_, ReadVector(ctx.input(first), channels));
    ASSIGN_OR_RETURN(const std::vector<double> mean, ReadVector(ctx.input(first + 2), channels));
    ASSIGN_OR_RETURN(const std::vector<double> variance, ReadVector(ctx.input(first + 3), channels));
    for (int64_t c = 0; c < channels; ++c) {
      bound.scale_[c] /= std::sqrt(variance[c] + epsilon_);
      bound.shift_[c] -= mean[c] * bound.scale_[c];
    }
  }
  if (bound.type_ != DT_DOUBLE) {  // rounded at the end
    bound.float_scale_.assign(bound.scale_.begin(), bound.scale_.end());
    bound.float_shift_.assign(bound.shift_.begin(), bound.shift_.end());
  }
  return bound;
}

}  // namespace weir
