// Sums and products of quantised integers, element by element, and their normalisation within each image.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/device/broadcast_steps.h"
#include "kernels/device/elements.h"
#include "kernels/elementwise/args_broadcast.h"
#include "kernels/quantized/family.h"
#include "kernels/quantized/quantization.h"

namespace weir {
namespace {

// `operand` as `shape` wants it; a tensor of another shape is repeated.
absl::StatusOr<Tensor> Repeated(OpKernelContext& ctx, const Tensor& operand, const TensorShape& shape) {
  if (operand.shape() == shape) return operand;
  ASSIGN_OR_RETURN(const DimVector steps, BroadcastSteps(operand.shape(), shape));
  ASSIGN_OR_RETURN(Tensor all, ctx.allocate_temp(operand.dtype(), shape));
  StridedCopy(ctx, operand.dtype(), shape.dim_sizes(), operand.raw_data(), steps, all.raw_data(),
              DenseSteps(shape.dim_sizes()));
  return all;
}

// Inputs: x and y, unsigned bytes, then the range of each. QuantizedAdd and QuantizedMul name their ranges differently
// in what they complain of.
class QuantizedBinaryKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    RETURN_IF_ERROR(CheckScalars(ctx));
    const QuantizedRange x_range{ctx.input(2).scalar<float>(), ctx.input(3).scalar<float>()};
    const QuantizedRange y_range{ctx.input(4).scalar<float>(), ctx.input(5).scalar<float>()};
    RETURN_IF_ERROR(CheckRanges(x_range, y_range));
    ASSIGN_OR_RETURN(const Broadcasting both, Broadcasting::Of(ctx.input(0).shape(), ctx.input(1).shape()));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, both.shape));
    ASSIGN_OR_RETURN(const Tensor x, Repeated(ctx, ctx.input(0), both.shape));
    ASSIGN_OR_RETURN(const Tensor y, Repeated(ctx, ctx.input(1), both.shape));
    const uint8_t* const a = static_cast<const uint8_t*>(x.raw_data());
    const uint8_t* const b = static_cast<const uint8_t*>(y.raw_data());
    SetRange(ctx, 1, Combine(a, x_range, b, y_range, output->NumElements(), static_cast<int32_t*>(output->raw_data())));
    return absl::OkStatus();
  }

 protected:
  virtual absl::Status CheckScalars(const OpKernelContext& ctx) const = 0;
  virtual absl::Status CheckRanges(QuantizedRange x, QuantizedRange y) const = 0;
  // Fills `out` and returns its range.
  virtual QuantizedRange Combine(const uint8_t* x, QuantizedRange x_range, const uint8_t* y, QuantizedRange y_range,
                                 int64_t n, int32_t* out) const = 0;

  static constexpr const char* kRangeNames[] = {"min_x", "max_x", "min_y", "max_y"};
};

// What each of the 256 values is in another range, or less an offset.
template <typename Fn>
std::vector<int64_t> Table(Fn fn) {
  std::vector<int64_t> table(256);
  for (int i = 0; i < 256; ++i) table[i] = fn(static_cast<uint8_t>(i));
  return table;
}

class QuantizedAddKernel : public QuantizedBinaryKernel {
  absl::Status CheckScalars(const OpKernelContext& ctx) const override {
    for (int i = 0; i < 4; ++i) {
      if (ctx.input(2 + i).dims() == 0) continue;
      return errors::InvalidArgument("`", kRangeNames[i], "` must be rank 0 but is rank ", ctx.input(2 + i).dims());
    }
    return absl::OkStatus();
  }
  absl::Status CheckRanges(QuantizedRange x, QuantizedRange y) const override {
    if (!(x.high > x.low)) return errors::InvalidArgument("max_x must be larger than min_x.");
    if (!(y.high > y.low)) return errors::InvalidArgument("max_y must be larger than min_y.");
    return absl::OkStatus();
  }
  QuantizedRange Combine(const uint8_t* x, QuantizedRange x_range, const uint8_t* y, QuantizedRange y_range, int64_t n,
                         int32_t* out) const override {
    // Room for many sums.
    const float most = std::max({x_range.high, -x_range.low, y_range.high, -y_range.low}) * (1 << 14);
    const QuantizedRange total{-most, most};
    const auto wider = [&](QuantizedRange range) {
      return Table([&](uint8_t q) -> int64_t { return ToQuantized<int32_t>(FromQuantized(q, range), total); });
    };
    const std::vector<int64_t> a = wider(x_range), b = wider(y_range);
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<int32_t>(a[x[i]] + b[y[i]]);
    return total;
  }
};

class QuantizedMulKernel : public QuantizedBinaryKernel {
  absl::Status CheckScalars(const OpKernelContext& ctx) const override {
    for (int i = 0; i < 4; ++i) {
      if (ctx.input(2 + i).dims() != 0) return errors::InvalidArgument(kRangeNames[i], " must be a scalar");
    }
    return absl::OkStatus();
  }
  absl::Status CheckRanges(QuantizedRange x, QuantizedRange y) const override {
    if (!(x.high > x.low)) return errors::InvalidArgument("max_x must be larger than min_a.");
    if (!(y.high > y.low)) return errors::InvalidArgument("max_x must be larger than min_b.");
    return absl::OkStatus();
  }
  QuantizedRange Combine(const uint8_t* x, QuantizedRange x_range, const uint8_t* y, QuantizedRange y_range, int64_t n,
                         int32_t* out) const override {
    const auto from_zero = [](QuantizedRange range) {
      const int32_t zero = static_cast<int32_t>(ToQuantizedUnclamped<uint8_t>(0.0f, range));
      return Table([&](uint8_t q) { return int64_t{q} - zero; });
    };
    const std::vector<int64_t> a = from_zero(x_range), b = from_zero(y_range);
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<int32_t>(a[x[i]] * b[y[i]]);
    return ProductRange<uint8_t, uint8_t>(x_range, y_range);
  }
};

// Images [batch, rows, columns, channels]: each channel of each gets mean 0 and variance 1, over a range that is given
// or that of the results.
class QuantizedInstanceNormKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("variance_epsilon", &epsilon_));
    RETURN_IF_ERROR(ctx.GetAttr("min_separation", &least_width_));
    RETURN_IF_ERROR(ctx.GetAttr("output_range_given", &given_));
    RETURN_IF_ERROR(ctx.GetAttr("given_y_min", &range_.low));
    RETURN_IF_ERROR(ctx.GetAttr("given_y_max", &range_.high));
    if (!given_ || range_.low < range_.high) return absl::OkStatus();
    return errors::InvalidArgument("given_y_min must be less than given_y_max : ", range_.low, " >= ", range_.high);
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    const char* const names[] = {"x_min", "x_max"};
    for (int i : {1, 2}) {
      if (ctx.input(i).dims() == 0) continue;
      return errors::InvalidArgument("`", names[i - 1], "` must be rank 0 but is rank ", ctx.input(i).dims());
    }
    const QuantizedRange range{ctx.input(1).scalar<float>(), ctx.input(2).scalar<float>()};
    if (!(range.low < range.high)) {
      return errors::InvalidArgument("input_min must be less than input_max : ", range.low, " >= ", range.high);
    }
    if (input.dims() != 4) return errors::InvalidArgument("x must be 4-dimensional, got ", input.shape().ToString());
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, input.shape()));
    ASSIGN_OR_RETURN(const Tensor normal, ctx.allocate_temp(DT_FLOAT, input.shape()));
    float* const y = static_cast<float*>(normal.raw_data());
    Normalize(input, (range.high - range.low) / 255.0f, y);
    const int64_t n = input.NumElements();
    QuantizedRange out = range_;
    if (!given_) {
      constexpr float kInfinity = std::numeric_limits<float>::infinity();
      out = {kInfinity, -kInfinity};
      for (int64_t i = 0; i < n; ++i) out = {std::min(out.low, y[i]), std::max(out.high, y[i])};
    }
    if (out.high - out.low < least_width_) out.high = out.low + least_width_;
    const float scale = static_cast<float>(255.0 / (static_cast<double>(out.high) - static_cast<double>(out.low)));
    const float low = std::round(out.low * scale);
    uint8_t* const q = static_cast<uint8_t*>(output->raw_data());
    for (int64_t i = 0; i < n; ++i) {
      const float rounded = std::round(y[i] * scale) - low;
      q[i] = std::isnan(rounded) ? 0 : static_cast<uint8_t>(std::clamp(rounded, 0.0f, 255.0f));
    }
    SetRange(ctx, 1, out);
    return absl::OkStatus();
  }

 private:
  void Normalize(const Tensor& input, float scale, float* y) const {
    const int64_t pixels = input.dim_size(1) * input.dim_size(2), channels = input.dim_size(3);
    const uint8_t* x = static_cast<const uint8_t*>(input.raw_data());
    if (input.NumElements() == 0) return;
    for (int64_t image = 0; image < input.dim_size(0); ++image, x += pixels * channels, y += pixels * channels) {
      for (int64_t c = 0; c < channels; ++c) {
        const auto mean_of = [&](auto value) {
          float sum = 0;
          for (int64_t p = 0; p < pixels; ++p) sum += value(static_cast<float>(x[p * channels + c]));
          return sum / static_cast<float>(pixels);
        };
        const float mean = mean_of([](float v) { return v; });
        const float variance = mean_of([&](float v) { return (scale * (v - mean)) * (scale * (v - mean)); });
        const float shrink = 1.0f / std::sqrt(variance + epsilon_);
        for (int64_t p = 0; p < pixels; ++p) {
          y[p * channels + c] = scale * (static_cast<float>(x[p * channels + c]) - mean) * shrink;
        }
      }
    }
  }

  float epsilon_ = 0, least_width_ = 0;
  bool given_ = false;
  QuantizedRange range_;
};

}  // namespace

absl::Status RegisterQuantizedElementKernels(KernelRegistry& kernels) {
  const auto bytes = [](const char* op) {
    return Kernel(op).Cpu().Types("T1", {DT_QUINT8}).Types("T2", {DT_QUINT8}).Types("Toutput", {DT_QINT32});
  };
  RETURN_IF_ERROR(kernels.Register<QuantizedAddKernel>(bytes("QuantizedAdd")));
  RETURN_IF_ERROR(kernels.Register<QuantizedMulKernel>(bytes("QuantizedMul")));
  return kernels.Register<QuantizedInstanceNormKernel>(Kernel("QuantizedInstanceNorm").Cpu().Types("T", {DT_QUINT8}));
}

}  // namespace weir
