// QuantizeV2 and Dequantize: between real numbers and small integers that are spread over a range.
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/device/wide.h"
#include "kernels/quantized/family.h"
#include "kernels/quantized/quantization.h"

namespace weir {
namespace {

enum class Mode { kMinCombined, kMinFirst, kScaled };

absl::StatusOr<Mode> ReadMode(OpKernelConstruction& ctx) {
  std::string name;
  RETURN_IF_ERROR(ctx.GetAttr("mode", &name));
  if (name == "MIN_COMBINED") return Mode::kMinCombined;
  if (name == "MIN_FIRST") return Mode::kMinFirst;
  if (name == "SCALED") return Mode::kScaled;
  return errors::InvalidArgument("Mode string must be 'MIN_COMBINED', 'MIN_FIRST', or 'SCALED', is '", name, "'");
}

// A tensor as [outer, slices, inner], each slice with a range of its own; without an axis, one slice.
struct Slices {
  static absl::StatusOr<Slices> Of(const TensorShape& shape, int64_t axis) {
    if (axis < -1) return errors::InvalidArgument("axis must be at least -1, got ", axis);
    if (axis == -1) return Slices{1, 1, shape.num_elements()};
    if (axis >= shape.dims()) {
      return errors::InvalidArgument("Axis must be less than input dimension(", shape.dims(), "), got ", axis);
    }
    Slices slices{1, shape.dim_size(static_cast<int>(axis)), 1};
    for (int i = 0; i < axis; ++i) slices.outer *= shape.dim_size(i);
    for (int i = static_cast<int>(axis) + 1; i < shape.dims(); ++i) slices.inner *= shape.dim_size(i);
    return slices;
  }
  template <typename Fn>
  void Each(int64_t slice, Fn fn) const {
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) fn((o * count + slice) * inner + i);
    }
  }
  int64_t outer, count, inner;
};

absl::Status CheckLimits(const Tensor& limits, const Slices& slices, int64_t axis, const char* name) {
  if (axis == -1 ? limits.NumElements() == 1 : limits.dims() == 1 && limits.dim_size(0) == slices.count) {
    return absl::OkStatus();
  }
  if (axis == -1) {
    return errors::InvalidArgument("If axis is not specified, ", name,
                                   " must contain a single float element, but it contains ", limits.NumElements(),
                                   " elements");
  }
  return errors::InvalidArgument(
      "If axis is specified, ", name,
      " must be a 1-D tensor whose size matches the axis dimension of the input and output tensors, but ", name,
      " is a ", limits.dims(), "-D tensor of size ", limits.NumElements(), " and input's axis dimension is of size ",
      slices.count);
}

template <typename T>
T Clamp(float x) {
  // The greatest 32-bit integer is no float.
  constexpr float kHigh = sizeof(T) == 4 ? 2147483520.0f : static_cast<float>(std::numeric_limits<T>::max());
  constexpr float kLow = static_cast<float>(std::numeric_limits<T>::lowest());
  return static_cast<T>(std::isnan(x) ? 0.0f : std::min(std::max(x, kLow), kHigh));
}

class QuantizeKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(mode_, ReadMode(ctx));
    std::string rounding;
    RETURN_IF_ERROR(ctx.GetAttr("round_mode", &rounding));
    half_to_even_ = rounding == "HALF_TO_EVEN";
    if (half_to_even_ && mode_ != Mode::kScaled) {
      return errors::InvalidArgument("Round mode 'HALF_TO_EVEN' only supported for mode 'SCALED', but mode is '",
                                     mode_ == Mode::kMinFirst ? "MIN_FIRST" : "MIN_COMBINED", "'.");
    }
    RETURN_IF_ERROR(ctx.GetAttr("narrow_range", &narrow_));
    RETURN_IF_ERROR(ctx.GetAttr("axis", &axis_));
    return ctx.GetAttr("ensure_minimum_range", &least_range_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (axis_ >= input.dims()) {
      return errors::InvalidArgument(
          "Axis is on a zero-based index, so its value must always be less than number of input's dims, but given axis "
          "value was ",
          axis_, " and input's dims was ", input.dims());
    }
    ASSIGN_OR_RETURN(const Slices slices, Slices::Of(input.shape(), axis_));
    RETURN_IF_ERROR(CheckLimits(ctx.input(1), slices, axis_, "min_range"));
    RETURN_IF_ERROR(CheckLimits(ctx.input(2), slices, axis_, "max_range"));
    const TensorShape limits = axis_ == -1 ? TensorShape() : TensorShape({slices.count});
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, input.shape()));
    ASSIGN_OR_RETURN(Tensor * out_low, ctx.allocate_output(1, limits));
    ASSIGN_OR_RETURN(Tensor * out_high, ctx.allocate_output(2, limits));
    return VisitQuantized(output->dtype(), [&](auto element) -> absl::Status {
      using T = decltype(element);
      for (int64_t slice = 0; slice < slices.count; ++slice) {
        ASSIGN_OR_RETURN(QuantizedRange range,
                         Range(ctx.input(1).data<float>()[slice], ctx.input(2).data<float>()[slice]));
        Slice(slices, slice, input.data<float>(), static_cast<T*>(output->raw_data()), &range);
        out_low->data<float>()[slice] = range.low;
        out_high->data<float>()[slice] = range.high;
      }
      return absl::OkStatus();
    });
  }

 private:
  // Holds 0, and is not too narrow.
  absl::StatusOr<QuantizedRange> Range(float low, float high) const {
    if (low > high) return errors::InvalidArgument("input_max_range must be larger than input_min_range.");
    const float least = std::max(1.0f, std::max(std::abs(low), std::abs(high))) * least_range_;
    QuantizedRange range;
    range.low = std::min(0.0f, low);
    range.high = std::max(0.0f, std::max(high, range.low + least));
    return range;
  }

  template <typename T>
  void Slice(const Slices& slices, int64_t slice, const float* in, T* out, QuantizedRange* range) const {
    constexpr float kLow = static_cast<float>(std::numeric_limits<T>::lowest()),
                    kHigh = static_cast<float>(std::numeric_limits<T>::max());
    const float low = range->low, high = range->high;
    switch (mode_) {
      case Mode::kMinCombined: {
        const float scale = static_cast<float>(kSteps<T> / (static_cast<double>(high) - static_cast<double>(low)));
        const float half = std::is_signed_v<T> ? static_cast<float>((kSteps<T> + 1) / 2) : 0;
        slices.Each(slice, [&](int64_t i) {
          out[i] = Clamp<T>(std::round((std::max(std::min(in[i], high), low) - low) * scale - half));
        });
        return;
      }
      case Mode::kMinFirst: {
        const float scale =
            low == high ? 0 : static_cast<float>(kSteps<T> / (static_cast<double>(high) - static_cast<double>(low)));
        const float offset = std::round(low * scale) - kLow;
        slices.Each(slice, [&](int64_t i) { out[i] = Clamp<T>(std::round(in[i] * scale) - offset); });
        return;
      }
      case Mode::kScaled: {
        const float least = kLow + (narrow_ ? 1 : 0);
        const float from_low = least * low > 0 ? least / low : std::numeric_limits<float>::max();
        const float from_high = kHigh * high > 0 ? kHigh / high : std::numeric_limits<float>::max();
        const float scale = std::min(from_low, from_high);
        range->low = least / scale;
        range->high = kHigh / scale;
        slices.Each(slice, [&](int64_t i) {
          const float x = std::max(std::min(in[i], range->high), range->low) * scale;
          out[i] = Clamp<T>(half_to_even_ ? std::nearbyint(x) : std::round(x));
        });
        return;
      }
    }
  }

  Mode mode_ = Mode::kMinCombined;
  bool half_to_even_ = false, narrow_ = false;
  int64_t axis_ = -1;
  float least_range_ = 0.01f;
};

class DequantizeKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(mode_, ReadMode(ctx));
    DataType type;
    RETURN_IF_ERROR(ctx.GetAttr("dtype", &type));
    if (type != DT_FLOAT && mode_ != Mode::kMinCombined) {
      return errors::InvalidArgument("When output type is bfloat16, Mode string must be 'MIN_COMBINED', is '",
                                     mode_ == Mode::kScaled ? "SCALED" : "MIN_FIRST", "'");
    }
    RETURN_IF_ERROR(ctx.GetAttr("narrow_range", &narrow_));
    return ctx.GetAttr("axis", &axis_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const Slices slices, Slices::Of(input.shape(), axis_));
    for (int i : {1, 2}) {
      const Tensor& limits = ctx.input(i);
      if (limits.NumElements() != slices.count || (slices.count != 1 && limits.dims() != 1)) {
        return errors::InvalidArgument(i == 1 ? "input_min_tensor" : "input_max_tensor",
                                       " must have as many elements as input on the dequantization axis (", axis_,
                                       "), got ", limits.NumElements(), ", expected ", slices.count);
      }
    }
    if (slices.count != 1 && mode_ == Mode::kMinFirst) {
      return errors::Unimplemented("MIN_FIRST mode is not implemented for Dequantize with axis != -1.");
    }
    ASSIGN_OR_RETURN(WideOutput output, WideOutput::Allocate(ctx, 0, input.shape()));
    RETURN_IF_ERROR(VisitQuantized(input.dtype(), [&](auto element) {
      using T = decltype(element);
      for (int64_t slice = 0; slice < slices.count; ++slice) {
        const QuantizedRange range{ctx.input(1).data<float>()[slice], ctx.input(2).data<float>()[slice]};
        Slice(slices, slice, static_cast<const T*>(input.raw_data()), range, output.data<float>());
      }
      return absl::OkStatus();
    }));
    return output.Finish(ctx);
  }

 private:
  template <typename T>
  void Slice(const Slices& slices, int64_t slice, const T* in, QuantizedRange range, float* out) const {
    constexpr float kLow = static_cast<float>(std::numeric_limits<T>::lowest()),
                    kHigh = static_cast<float>(std::numeric_limits<T>::max());
    switch (mode_) {
      case Mode::kMinCombined: {
        const float scale = (range.high - range.low) / static_cast<float>(kSteps<T>);
        const float half = std::is_signed_v<T> ? static_cast<float>((kSteps<T> + 1) / 2) : 0;
        slices.Each(slice, [&](int64_t i) { out[i] = (static_cast<float>(in[i]) + half) * scale + range.low; });
        return;
      }
      case Mode::kMinFirst:
        if (sizeof(T) == 4) {
          slices.Each(slice, [&](int64_t i) { out[i] = FromQuantized<T>(in[i], range); });
          return;
        } else {
          const float scale = (range.high - range.low) / static_cast<float>(kSteps<T>);
          const float low = range.low == range.high ? range.low : std::round(range.low / scale) * scale;
          const float offset = low - kLow * scale;
          slices.Each(slice, [&](int64_t i) { out[i] = static_cast<float>(in[i]) * scale + offset; });
          return;
        }
      case Mode::kScaled: {
        const float scale = std::is_signed_v<T> ? std::max(range.low / (kLow + (narrow_ ? 1 : 0)), range.high / kHigh)
                                                : range.high / kHigh;
        slices.Each(slice, [&](int64_t i) { out[i] = static_cast<float>(in[i]) * scale; });
        return;
      }
    }
  }

  Mode mode_ = Mode::kMinCombined;
  bool narrow_ = false;
  int64_t axis_ = -1;
};

}  // namespace

absl::StatusOr<float> RangeLimit(const Tensor& tensor, const char* name) {
  if (tensor.NumElements() == 1) return tensor.data<float>()[0];
  return errors::InvalidArgument("`", name, "` must be rank 0 but is rank ", tensor.dims());
}

absl::StatusOr<QuantizedRange> RangeAt(const OpKernelContext& ctx, int first, const char* low, const char* high) {
  QuantizedRange range;
  ASSIGN_OR_RETURN(range.low, RangeLimit(ctx.input(first), low));
  ASSIGN_OR_RETURN(range.high, RangeLimit(ctx.input(first + 1), high));
  return range;
}

void SetRange(OpKernelContext& ctx, int first, QuantizedRange range) {
  ctx.set_output(first, Tensor::Scalar<float>(range.low));
  ctx.set_output(first + 1, Tensor::Scalar<float>(range.high));
}

absl::Status RegisterQuantizeKernels(KernelRegistry& kernels) {
  const DataTypeVector types = {DT_QINT8, DT_QUINT8, DT_QINT16, DT_QUINT16, DT_QINT32};
  RETURN_IF_ERROR(kernels.Register<QuantizeKernel>(Kernel("QuantizeV2").Cpu().Types("T", types)));
  return kernels.Register<DequantizeKernel>(
      Kernel("Dequantize").Cpu().Types("T", types).Types("dtype", {DT_FLOAT, DT_BFLOAT16}));
}

}  // namespace weir
