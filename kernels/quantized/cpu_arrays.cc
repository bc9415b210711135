// Ops on quantised integers that move, compare or add them.
#include <algorithm>
#include <vector>

#include "core/tensor/index_tensor.h"
#include "kernels/convolution/window.h"
#include "kernels/device/parallel.h"
#include "kernels/quantized/family.h"
#include "kernels/quantized/quantization.h"

namespace weir {
namespace {

// QuantizedRelu, and QuantizedRelu6, which has an upper limit.
class QuantizedReluKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    has_limit_ = ctx.op() == "QuantizedRelu6";
    return absl::OkStatus();
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const QuantizedRange range, RangeAt(ctx, 1, "min_features", "max_features"));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, input.shape()));
    RETURN_IF_ERROR(VisitQuantized(input.dtype(), [&](auto element) {
      using T = decltype(element);
      const T low = ToQuantized<T>(0.0f, range), high = ToQuantized<T>(6.0f, range);
      const T* const x = static_cast<const T*>(input.raw_data());
      T* const y = static_cast<T*>(output->raw_data());
      for (int64_t i = 0; i < input.NumElements(); ++i) {
        y[i] = std::max(x[i], low);
        if (has_limit_) y[i] = std::min(y[i], high);
      }
      return absl::OkStatus();
    }));
    SetRange(ctx, 1, range);
    return absl::OkStatus();
  }

 private:
  bool has_limit_ = false;
};

class QuantizedReshapeKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const QuantizedRange range, RangeAt(ctx, 2, "input_min", "input_max"));
    if (ctx.input(1).dims() != 1) {
      return errors::InvalidArgument("sizes input must be 1-D, not ", ctx.input(1).shape().ToString());
    }
    ASSIGN_OR_RETURN(DimVector dims, ReadIntegers(ctx.input(1)));
    int unknown = -1;
    int64_t known = 1;
    for (int i = 0; i < static_cast<int>(dims.size()); ++i) {
      if (dims[i] == -1 && unknown < 0) {
        unknown = i;
        continue;
      }
      if (dims[i] < 0) return errors::InvalidArgument("size ", i, " must be non-negative, not ", dims[i]);
      known = MultiplyWithoutOverflow(known, dims[i]);
    }
    if (unknown >= 0) {
      if (known <= 0 || input.NumElements() % known != 0) {
        return errors::InvalidArgument("Input to reshape is a tensor with ", input.NumElements(),
                                       " values, but the requested shape requires a multiple of ", known);
      }
      dims[unknown] = input.NumElements() / known;
    }
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build(dims));
    if (shape.num_elements() != input.NumElements()) {
      return errors::InvalidArgument("Input to reshape is a tensor with ", input.NumElements(),
                                     " values, but the requested shape has ", shape.num_elements());
    }
    ASSIGN_OR_RETURN(Tensor reshaped, input.Reshaped(shape));
    ctx.set_output(0, std::move(reshaped));
    SetRange(ctx, 1, range);
    return absl::OkStatus();
  }
};

// The greatest, or the mean, of what a window sees.
class QuantizedPoolKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    is_max_ = ctx.op() == "QuantizedMaxPool";
    ASSIGN_OR_RETURN(window_, WindowAttrs::Read(ctx));
    if (window_.depth_ksize == 1 && window_.depth_stride == 1) return absl::OkStatus();
    return errors::Unimplemented("Quantised pooling is not yet supported on the depth dimension.");
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (input.dims() != 4) {
      return errors::InvalidArgument("tensor_in must be 4-dimensional, got ", input.shape().ToString());
    }
    ASSIGN_OR_RETURN(const QuantizedRange range, RangeAt(ctx, 1, "min_input", "max_input"));
    ASSIGN_OR_RETURN(const WindowDim rows, window_.Dim(0, input.dim_size(1), window_.ksize[0]));
    ASSIGN_OR_RETURN(const WindowDim columns, window_.Dim(1, input.dim_size(2), window_.ksize[1]));
    const int64_t depth = input.dim_size(3);
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build({input.dim_size(0), rows.out, columns.out, depth}));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    RETURN_IF_ERROR(VisitQuantized(input.dtype(), [&](auto element) {
      using T = decltype(element);
      T* out = static_cast<T*>(output->raw_data());
      std::vector<int64_t> seen(depth);
      for (int64_t place = 0; depth > 0 && place < shape.num_elements() / depth; ++place, out += depth) {
        Pool(static_cast<const T*>(input.raw_data()), place, rows, columns, depth, seen.data(), out);
      }
      return absl::OkStatus();
    }));
    SetRange(ctx, 1, range);
    return absl::OkStatus();
  }

 private:
  template <typename T>
  void Pool(const T* in, int64_t place, const WindowDim& rows, const WindowDim& columns, int64_t depth, int64_t* seen,
            T* out) const {
    const int64_t top = place / columns.out % rows.out * rows.stride - rows.before,
                  left = place % columns.out * columns.stride - columns.before,
                  image = place / (columns.out * rows.out);
    std::fill_n(seen, depth, is_max_ ? int64_t{std::numeric_limits<T>::lowest()} : 0);
    int64_t count = 0;
    for (int64_t y = std::max<int64_t>(0, top); y < std::min(rows.in, top + rows.filter); ++y) {
      for (int64_t x = std::max<int64_t>(0, left); x < std::min(columns.in, left + columns.filter); ++x, ++count) {
        const T* const from = in + ((image * rows.in + y) * columns.in + x) * depth;
        for (int64_t d = 0; d < depth; ++d) {
          seen[d] = is_max_ ? std::max<int64_t>(seen[d], from[d]) : seen[d] + from[d];
        }
      }
    }
    for (int64_t d = 0; d < depth; ++d) {
      out[d] = static_cast<T>(is_max_ || count == 0 ? seen[d] : seen[d] / count);
    }
  }

  bool is_max_ = false;
  WindowAttrs window_;
};

// Inputs: values and a bias for the last dimension, each with a range; sums of 32 bits over a range with room for both.
class QuantizedBiasAddKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor &input = ctx.input(0), &bias = ctx.input(1);
    ASSIGN_OR_RETURN(const QuantizedRange range, RangeAt(ctx, 2, "min_input", "max_input"));
    ASSIGN_OR_RETURN(const QuantizedRange bias_range, RangeAt(ctx, 4, "min_bias", "max_bias"));
    if (input.dims() < 2) {
      return errors::InvalidArgument("Input tensor must be at least 2D: ", input.shape().ToString());
    }
    if (bias.dims() != 1) return errors::InvalidArgument("Biases must be 1D: ", bias.shape().ToString());
    const int64_t depth = input.dim_size(input.dims() - 1);
    if (bias.dim_size(0) != depth) {
      return errors::InvalidArgument("Must provide as many biases as the last dimension of the input tensor: ",
                                     bias.shape().ToString(), " vs. ", input.shape().ToString());
    }
    if (bias.NumElements() == 0) return errors::InvalidArgument("Must provide at least 1 bias");
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, input.shape()));
    const float most = std::max({range.high, -range.low, bias_range.high, -bias_range.low}) * (1 << 17);
    const QuantizedRange total{-most, most};
    RETURN_IF_ERROR(VisitQuantized(input.dtype(), [&](auto element) {
      using T = decltype(element);
      std::vector<int64_t> addends(depth);
      for (int64_t d = 0; d < depth; ++d) {
        addends[d] =
            ToQuantized<int32_t>(FromQuantized<T>(static_cast<const T*>(bias.raw_data())[d], bias_range), total);
      }
      const T* const x = static_cast<const T*>(input.raw_data());
      int32_t* const y = static_cast<int32_t*>(output->raw_data());
      for (int64_t i = 0; i < input.NumElements(); ++i) {
        y[i] = static_cast<int32_t>(ToQuantized<int32_t>(FromQuantized<T>(x[i], range), total) + addends[i % depth]);
      }
      return absl::OkStatus();
    }));
    SetRange(ctx, 1, total);
    return absl::OkStatus();
  }
};

// Brings values of one range to another, in single precision throughout, as TensorFlow does here: 32-bit integers are
// rounded more than once.
template <typename T>
class Rescaler {
 public:
  Rescaler(QuantizedRange from, QuantizedRange to)
      : same_(from.low == to.low && from.high == to.high),
        step_((from.high - from.low) / static_cast<float>(kSteps<T>)) {
    const float low = from.low == from.high ? from.low : std::round(from.low / step_) * step_;
    origin_ = low - kLow * step_;
    scale_ = to.low == to.high ? 0 : static_cast<float>(kSteps<T> / static_cast<double>(to.high - to.low));
    offset_ = std::round(to.low * scale_) - kLow;
  }
  T operator()(T x) const {
    if (same_) return x;
    const float y = std::round((origin_ + static_cast<float>(x) * step_) * scale_) - offset_;
    return static_cast<T>(std::isnan(y) ? kLow : std::min(std::max(y, kLow), kHigh));
  }

 private:
  static constexpr float kLow = static_cast<float>(std::numeric_limits<T>::lowest());
  // The greatest 32-bit integer is no float.
  static constexpr float kHigh = sizeof(T) == 4 ? 2147483520.0f : static_cast<float>(std::numeric_limits<T>::max());

  bool same_;
  float step_, origin_, scale_, offset_;
};

// Inputs: the dimension, values, minima and maxima. All are brought to one range.
class QuantizedConcatKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const int count = (ctx.num_inputs() - 1) / 3;
    if (ctx.input(0).dims() != 0) {
      return errors::InvalidArgument("Concat dim tensor should be a scalar integer, but got shape ",
                                     ctx.input(0).shape().ToString());
    }
    TensorShape shape = ctx.input(1).shape();
    const int64_t axis = ctx.input(0).scalar<int32_t>();
    if (axis < 0 || axis >= shape.dims()) {
      return errors::InvalidArgument("ConcatOp : Expected concatenating dimensions in the range [0, ", shape.dims(),
                                     "), but got ", axis);
    }
    const int d = static_cast<int>(axis);
    QuantizedRange all{0, 0};
    std::vector<QuantizedRange> ranges(count);
    int64_t size = 0;
    for (int i = 0; i < count; ++i) {
      TensorShape other = ctx.input(1 + i).shape();
      if (other.dims() != shape.dims()) {
        return errors::InvalidArgument("ConcatOp : Ranks of all input tensors should match: shape[0] = ",
                                       shape.ToString(), " vs. shape[", i, "] = ", other.ToString());
      }
      size += other.dim_size(d);
      RETURN_IF_ERROR(other.SetDim(d, shape.dim_size(d)));
      if (other != shape) {
        return errors::InvalidArgument("ConcatOp : Dimensions of inputs should match: shape[0] = ", shape.ToString(),
                                       " vs. shape[", i, "] = ", ctx.input(1 + i).shape().ToString());
      }
      ASSIGN_OR_RETURN(ranges[i].low, RangeLimit(ctx.input(1 + count + i), "input_mins"));
      ASSIGN_OR_RETURN(ranges[i].high, RangeLimit(ctx.input(1 + 2 * count + i), "input_maxes"));
      all.low = std::min(all.low, ranges[i].low);
      all.high = i == 0 ? ranges[i].high : std::max(all.high, ranges[i].high);
    }
    if (ctx.input_dtype(1) == DT_QINT32) {
      const float most = std::max(-all.low, all.high);
      all = {-most, most};
    }
    RETURN_IF_ERROR(shape.SetDim(d, size));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    int64_t outer = 1, inner = 1;
    for (int i = 0; i < d; ++i) outer *= shape.dim_size(i);
    for (int i = d + 1; i < shape.dims(); ++i) inner *= shape.dim_size(i);
    RETURN_IF_ERROR(VisitQuantized(output->dtype(), [&](auto element) {
      using T = decltype(element);
      int64_t at = 0;
      for (int i = 0; i < count; ++i) {
        const Tensor& input = ctx.input(1 + i);
        const int64_t width = input.dim_size(d) * inner;
        const Rescaler<T> rescaled(ranges[i], all);
        for (int64_t o = 0; o < outer; ++o) {
          const T* const from = static_cast<const T*>(input.raw_data()) + o * width;
          T* const to = static_cast<T*>(output->raw_data()) + o * size * inner + at;
          std::transform(from, from + width, to, rescaled);
        }
        at += width;
      }
      return absl::OkStatus();
    }));
    SetRange(ctx, 1, all);
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterQuantizedArrayKernels(KernelRegistry& kernels) {
  for (const char* op : {"QuantizedRelu", "QuantizedRelu6"}) {
    for (DataType type : {DT_QUINT8, DT_QINT32}) {
      RETURN_IF_ERROR(
          kernels.Register<QuantizedReluKernel>(Kernel(op).Cpu().Types("Tinput", {type}).Types("out_type", {type})));
    }
  }
  for (const char* op : {"QuantizedMaxPool", "QuantizedAvgPool"}) {
    RETURN_IF_ERROR(kernels.Register<QuantizedPoolKernel>(Kernel(op).Cpu().Types("T", {DT_QINT8, DT_QUINT8})));
  }
  for (DataType type : {DT_QINT8, DT_QUINT8}) {
    RETURN_IF_ERROR(kernels.Register<QuantizedBiasAddKernel>(
        Kernel("QuantizedBiasAdd").Cpu().Types("T1", {type}).Types("T2", {type}).Types("out_type", {DT_QINT32})));
  }
  RETURN_IF_ERROR(
      kernels.Register<QuantizedReshapeKernel>(Kernel("QuantizedReshape").Cpu().Types("T", {DT_QUINT8, DT_QINT32})));
  return kernels.Register<QuantizedConcatKernel>(Kernel("QuantizedConcat").Cpu().Types("T", {DT_QUINT8, DT_QINT32}));
}

}  // namespace weir
