// Rounding to what a few bits hold, and the gradient that passes through it; batch normalisation with given moments.
#include <cmath>
#include <limits>

#include "kernels/cpu/indices.h"
#include "kernels/cpu/numeric_families.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/wide.h"

namespace weir {
namespace {

// A tensor seen as [outer, axis, inner]; without an axis, as one slice.
struct AxisView {
  static absl::StatusOr<AxisView> Of(const TensorShape& shape, int64_t axis) {
    if (axis == -1) return AxisView{1, 1, shape.num_elements()};
    if (axis < -1 || axis >= shape.dims()) {
      return errors::InvalidArgument("Shape must be at least rank ", axis + 1, " but is rank ", shape.dims());
    }
    AxisView view{1, shape.dim_size(static_cast<int>(axis)), 1};
    for (int i = 0; i < axis; ++i) view.outer *= shape.dim_size(i);
    for (int i = static_cast<int>(axis) + 1; i < shape.dims(); ++i) view.inner *= shape.dim_size(i);
    return view;
  }
  // fn(element) for those of one slice.
  template <typename Fn>
  void Each(int64_t slice, Fn fn) const {
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) fn((o * axis + slice) * inner + i);
    }
  }
  int64_t outer, axis, inner;
};

// input_min or input_max: a scalar, or one for each slice.
absl::Status CheckRange(const Tensor& range, const AxisView& view, bool per_slice, const char* name) {
  if (!per_slice && range.dims() == 0) return absl::OkStatus();
  if (per_slice && range.dims() == 1 && range.dim_size(0) == view.axis) return absl::OkStatus();
  if (!per_slice) {
    return errors::InvalidArgument(name, " must be a scalar.");
  }
  return errors::InvalidArgument(name, "_tensor has incorrect size, was ", range.NumElements(), " expected ", view.axis,
                                 " to match the dimension of `axis`, got shape ", range.shape().ToString());
}

// All versions of QuantizeAndDequantize.
class QuantizeAndDequantizeKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("signed_input", &signed_));
    RETURN_IF_ERROR(ctx.GetAttr("range_given", &range_given_));
    if (ctx.HasAttr("axis")) RETURN_IF_ERROR(ctx.GetAttr("axis", &axis_));
    if (ctx.HasAttr("narrow_range")) RETURN_IF_ERROR(ctx.GetAttr("narrow_range", &narrow_));
    if (axis_ < -1) return errors::InvalidArgument("Axis must be at least -1. Found ", axis_);
    std::string mode = "HALF_TO_EVEN";
    if (ctx.HasAttr("round_mode")) RETURN_IF_ERROR(ctx.GetAttr("round_mode", &mode));
    half_up_ = mode == "HALF_UP" || ctx.op() == "QuantizeAndDequantize";
    if (!ctx.HasAttr("num_bits")) return absl::OkStatus();
    RETURN_IF_ERROR(ctx.GetAttr("num_bits", &bits_));
    RETURN_IF_ERROR(CheckBits(bits_));
    if (!ctx.HasAttr("input_min")) return absl::OkStatus();
    float low, high;
    RETURN_IF_ERROR(ctx.GetAttr("input_min", &low));
    RETURN_IF_ERROR(ctx.GetAttr("input_max", &high));
    low_ = Tensor::Scalar<float>(low);
    high_ = Tensor::Scalar<float>(high);
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    int64_t bits = bits_;
    if (ctx.num_inputs() == 4) {
      if (ctx.input(3).dims() != 0) {
        return errors::InvalidArgument("Invalid shape. The `num_bits` tensor should be a scalar. Got dimensions: ",
                                       ctx.input(3).dims());
      }
      ASSIGN_OR_RETURN(bits, ScalarFromTensor(ctx.input(3), "num_bits"));
      RETURN_IF_ERROR(CheckBits(bits));
    }
    ASSIGN_OR_RETURN(const AxisView view, AxisView::Of(ctx.input(0).shape(), axis_));
    const bool has_inputs = ctx.num_inputs() > 1;
    const Tensor& low = has_inputs ? ctx.input(1) : low_;
    const Tensor& high = has_inputs ? ctx.input(2) : high_;
    if (range_given_) {
      RETURN_IF_ERROR(CheckRange(low, view, axis_ != -1, "input_min"));
      RETURN_IF_ERROR(CheckRange(high, view, axis_ != -1, "input_max"));
    }
    ASSIGN_OR_RETURN(const Tensor input, Widen(ctx, ctx.input(0)));
    ASSIGN_OR_RETURN(const Tensor wide_low, ConvertTensor(ctx, low, input.dtype()));
    ASSIGN_OR_RETURN(const Tensor wide_high, ConvertTensor(ctx, high, input.dtype()));
    ASSIGN_OR_RETURN(WideOutput output, WideOutput::Allocate(ctx, 0, input.shape()));
    RETURN_IF_ERROR(VisitWide(input.dtype(), [&](auto element) {
      using T = decltype(element);
      for (int64_t slice = 0; slice < view.axis && input.NumElements() > 0; ++slice) {
        T least, most;
        if (range_given_) {
          least = wide_low.data<T>()[axis_ == -1 ? 0 : slice];
          most = wide_high.data<T>()[axis_ == -1 ? 0 : slice];
          if (least > most) {
            return errors::InvalidArgument("Invalid range: input_min ", least, " > input_max ", most);
          }
        } else {
          least = std::numeric_limits<T>::infinity();
          most = -least;
          view.Each(slice, [&](int64_t i) {
            least = std::min(least, input.data<T>()[i]);
            most = std::max(most, input.data<T>()[i]);
          });
        }
        Slice<T>(view, slice, bits, least, most, input.data<T>(), output.data<T>());
      }
      return absl::OkStatus();
    }));
    return output.Finish(ctx);
  }

 private:
  absl::Status CheckBits(int64_t bits) const {
    if (bits > 0 && bits < (signed_ ? 62 : 63)) return absl::OkStatus();
    return errors::InvalidArgument("num_bits is out of range: ", bits, " with signed_input_ ", signed_);
  }

  template <typename T>
  void Slice(const AxisView& view, int64_t slice, int64_t bits, T least, T most, const T* in, T* out) const {
    const int64_t half = int64_t{1} << (bits - 1);
    const int64_t low = signed_ ? (narrow_ ? -half + 1 : -half) : 0, high = signed_ ? half - 1 : 2 * half - 1;
    const T low_steps = static_cast<T>(low), high_steps = static_cast<T>(high);
    const T from_low = low_steps * least > 0 ? low_steps / least : std::numeric_limits<T>::max();
    const T from_high = high_steps * most > 0 ? high_steps / most : std::numeric_limits<T>::max();
    T scale, inverse;
    if (from_low < from_high) {
      scale = from_low;
      inverse = least / low_steps;
      most = high_steps * inverse;
    } else {
      scale = from_high;
      inverse = most / high_steps;
      least = low_steps * inverse;
    }
    view.Each(slice, [&](int64_t i) {
      const T x = range_given_ ? std::max(std::min(in[i], most), least) : in[i];
      out[i] = (half_up_ ? std::floor(x * scale + T(0.5)) : std::nearbyint(x * scale)) * inverse;
    });
  }

  bool signed_ = true, range_given_ = false, narrow_ = false, half_up_ = false;
  int64_t bits_ = 8, axis_ = -1;
  Tensor low_ = Tensor::Scalar<float>(0), high_ = Tensor::Scalar<float>(0);
};

// The gradient where the input lay within the range; none for the range.
class QuantizeAndDequantizeGradKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("axis", &axis_); }

  absl::Status Compute(OpKernelContext& ctx) override {
    const TensorShape& shape = ctx.input(0).shape();
    if (ctx.input(1).shape() != shape) {
      return errors::InvalidArgument("gradient and input must be the same size");
    }
    ASSIGN_OR_RETURN(const AxisView view, AxisView::Of(shape, axis_));
    for (int i : {2, 3}) {
      const int rank = ctx.input(i).dims();
      if (rank > 1) {
        return errors::InvalidArgument("Input ", i == 2 ? "min" : "max",
                                       " tensor must have dimension 0 or 1. Received ", rank, ".");
      }
    }
    for (int i : {2, 3}) {
      RETURN_IF_ERROR(CheckRange(ctx.input(i), view, axis_ != -1, i == 2 ? "input_min" : "input_max"));
    }
    Tensor wide[4];
    for (int i = 0; i < 4; ++i) {
      ASSIGN_OR_RETURN(wide[i], Widen(ctx, ctx.input(i)));
    }
    ASSIGN_OR_RETURN(WideOutput output, WideOutput::Allocate(ctx, 0, shape));
    RETURN_IF_ERROR(VisitWide(wide[0].dtype(), [&](auto element) {
      using T = decltype(element);
      for (int64_t slice = 0; slice < view.axis; ++slice) {
        const T low = wide[2].data<T>()[axis_ == -1 ? 0 : slice], high = wide[3].data<T>()[axis_ == -1 ? 0 : slice];
        view.Each(slice, [&](int64_t i) {
          const T x = wide[1].data<T>()[i];
          output.data<T>()[i] = x >= low && x <= high ? wide[0].data<T>()[i] : T(0);
        });
      }
      return absl::OkStatus();
    }));
    for (int i : {1, 2}) {
      ASSIGN_OR_RETURN(Tensor * zero, ctx.allocate_output(i, ctx.input(1 + i).shape()));
      std::fill_n(static_cast<char*>(zero->raw_data()), zero->TotalBytes(), 0);
    }
    return output.Finish(ctx);
  }

 private:
  int64_t axis_ = -1;
};

// (t - mean) / sqrt(variance + epsilon), times gamma where asked, plus beta; all but t are vectors of channels.
template <bool kGradient>
class GlobalNormalizationKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("variance_epsilon", &epsilon_));
    return ctx.GetAttr("scale_after_normalization", &scale_);
  }

  // Inputs: t, m, v, beta, gamma; for the gradient t, m, v, gamma, backprop.
  absl::Status Compute(OpKernelContext& ctx) override {
    const TensorShape& shape = ctx.input(0).shape();
    if (shape.dims() != 4) return errors::InvalidArgument("input must be 4-dimensional", shape.ToString());
    const int64_t channels = shape.dim_size(3);
    Tensor in[5];
    static constexpr const char* kNames[2][5] = {{"t", "mean", "var", "beta", "gamma"},
                                                 {"t", "mean", "var", "gamma", "backprop"}};
    for (int i = 0; i < 5; ++i) {
      const bool image = i == 0 || (kGradient && i == 4);
      if (image ? ctx.input(i).shape() != shape : ctx.input(i).dims() != 1 || ctx.input(i).dim_size(0) != channels) {
        return errors::InvalidArgument(
            kNames[kGradient][i], image ? " must be as large as t" : " must be 1-dimensional, one for each channel: ",
            ctx.input(i).shape().ToString());
      }
      ASSIGN_OR_RETURN(in[i], Widen(ctx, ctx.input(i)));
    }
    std::vector<WideOutput> out(kGradient ? 5 : 1);
    for (int i = 0; i < static_cast<int>(out.size()); ++i) {
      ASSIGN_OR_RETURN(out[i], WideOutput::Allocate(ctx, i, i == 0 ? shape : TensorShape({channels})));
    }
    RETURN_IF_ERROR(VisitWide(in[0].dtype(), [&](auto element) {
      Run<decltype(element)>(in, channels, out);
      return absl::OkStatus();
    }));
    for (WideOutput& output : out) RETURN_IF_ERROR(output.Finish(ctx));
    return absl::OkStatus();
  }

 private:
  template <typename T>
  void Run(const Tensor* in, int64_t channels, std::vector<WideOutput>& out) const {
    const T *t = in[0].data<T>(), *mean = in[1].data<T>(), *variance = in[2].data<T>();
    const int64_t n = in[0].NumElements();
    const T* const gamma = in[kGradient ? 3 : 4].data<T>();
    std::vector<T> root(channels), factor(channels);
    for (int64_t c = 0; c < channels; ++c) {
      root[c] = T(1) / std::sqrt(variance[c] + static_cast<T>(epsilon_));
      factor[c] = scale_ ? root[c] * gamma[c] : root[c];
    }
    T* const first = out[0].template data<T>();
    if constexpr (!kGradient) {
      const T* const beta = in[3].data<T>();
      for (int64_t i = 0; i < n; ++i)
        first[i] = (t[i] - mean[i % channels]) * factor[i % channels] + beta[i % channels];
    } else {
      const T* const dy = in[4].data<T>();
      T *dm = out[1].template data<T>(), *dv = out[2].template data<T>(), *db = out[3].template data<T>(),
        *dg = out[4].template data<T>();
      for (T* vector : {dm, dv, db, dg}) std::fill_n(vector, channels, T(0));
      for (int64_t i = 0; i < n; ++i) {
        const int64_t c = i % channels;
        first[i] = dy[i] * factor[c];
        db[c] += dy[i];
        dv[c] += dy[i] * (t[i] - mean[c]);
      }
      for (int64_t c = 0; c < channels; ++c) {
        dm[c] = -db[c] * factor[c];
        if (scale_) dg[c] = dv[c] * root[c];
        dv[c] *= T(-0.5) * factor[c] * root[c] * root[c];
      }
    }
  }

  float epsilon_ = 0;
  bool scale_ = false;
};

}  // namespace

absl::Status RegisterQuantizationKernels(KernelRegistry& kernels) {
  const DataTypeVector floats = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16};
  for (const char* op :
       {"QuantizeAndDequantize", "QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3", "QuantizeAndDequantizeV4"}) {
    RETURN_IF_ERROR(kernels.Register<QuantizeAndDequantizeKernel>(Kernel(op).Cpu().Types("T", floats)));
  }
  RETURN_IF_ERROR(kernels.Register<QuantizeAndDequantizeGradKernel>(
      Kernel("QuantizeAndDequantizeV4Grad").Cpu().Types("T", floats)));
  RETURN_IF_ERROR(kernels.Register<GlobalNormalizationKernel<false>>(
      Kernel("BatchNormWithGlobalNormalization").Cpu().Types("T", floats)));
  return kernels.Register<GlobalNormalizationKernel<true>>(
      Kernel("BatchNormWithGlobalNormalizationGrad").Cpu().Types("T", floats));
}

}  // namespace weir
