// Grey-scale dilation, the maximum of image plus filter over each window, and its gradients.
#include <limits>
#include <vector>

#include "kernels/convolution/window.h"
#include "kernels/device/parallel.h"
#include "kernels/device/wide.h"
#include "kernels/pooling/family.h"

namespace weir {
namespace {

enum class Part { kForward, kInput, kFilter };

// Inputs: image [batch, rows, columns, channels], filter [rows, columns, channels] and, backwards, the gradient. Real
// types are computed in double.
template <Part kPart>
class DilationKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    std::vector<int64_t> strides, rates;
    RETURN_IF_ERROR(ctx.GetAttr("strides", &strides));
    RETURN_IF_ERROR(ctx.GetAttr("rates", &rates));
    RETURN_IF_ERROR(ctx.GetAttr("padding", &attrs_.padding));
    RETURN_IF_ERROR(CheckWindow(strides, "strides"));
    RETURN_IF_ERROR(CheckWindow(rates, "rates"));
    if (strides[0] != 1 || strides[3] != 1)
      return errors::Unimplemented("Stride is only supported across spatial dimensions.");
    if (rates[0] != 1 || rates[3] != 1)
      return errors::Unimplemented("Rate is only supported across spatial dimensions.");
    for (int i : {0, 1}) {
      attrs_.strides[i] = strides[1 + i];
      attrs_.dilations[i] = rates[1 + i];
    }
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const TensorShape in = ctx.input(0).shape(), filter = ctx.input(1).shape();
    if (in.dims() != 4) return errors::InvalidArgument("input must be 4-dimensional: ", in.ToString());
    if (filter.dims() != 3) return errors::InvalidArgument("filter must be 3-dimensional: ", filter.ToString());
    const int64_t channels = in.dim_size(3), batch = in.dim_size(0);
    if (channels != filter.dim_size(2)) {
      return errors::InvalidArgument("input and filter must have the same depth: ", channels, " vs ",
                                     filter.dim_size(2));
    }
    if (filter.num_elements() == 0) return errors::InvalidArgument("filter must not be empty: ", filter.ToString());
    ASSIGN_OR_RETURN(const WindowDim rows, attrs_.Dim(0, in.dim_size(1), filter.dim_size(0)));
    ASSIGN_OR_RETURN(const WindowDim columns, attrs_.Dim(1, in.dim_size(2), filter.dim_size(1)));
    ASSIGN_OR_RETURN(const TensorShape out, TensorShape::Build({batch, rows.out, columns.out, channels}));
    if (kPart != Part::kForward && ctx.input(2).shape() != out) {
      return errors::InvalidArgument("out_backprop has incompatible size: ", ctx.input(2).shape().ToString(), " vs. ",
                                     out.ToString());
    }
    ASSIGN_OR_RETURN(const Tensor image, ConvertTensor(ctx, ctx.input(0), DT_DOUBLE));
    ASSIGN_OR_RETURN(const Tensor weights, ConvertTensor(ctx, ctx.input(1), DT_DOUBLE));
    Tensor gradient;
    if (kPart != Part::kForward) {
      ASSIGN_OR_RETURN(gradient, ConvertTensor(ctx, ctx.input(2), DT_DOUBLE));
    }
    ASSIGN_OR_RETURN(Tensor result, ctx.allocate_temp(DT_DOUBLE, kPart == Part::kForward ? out
                                                                 : kPart == Part::kInput ? in
                                                                                         : filter));
    std::fill_n(result.data<double>(), result.NumElements(), 0.0);
    for (int64_t o = 0; o < out.num_elements(); ++o) {
      const int64_t c = o % channels, x = o / channels % columns.out, y = o / channels / columns.out % rows.out;
      const int64_t b = o / channels / columns.out / rows.out;
      double best = -std::numeric_limits<double>::infinity();
      int64_t best_image = -1, best_filter = 0;
      for (int64_t i = 0; i < rows.filter; ++i) {
        const int64_t row = y * rows.stride - rows.before + i * rows.dilation;
        if (row < 0 || row >= rows.in) continue;
        for (int64_t j = 0; j < columns.filter; ++j) {
          const int64_t column = x * columns.stride - columns.before + j * columns.dilation;
          if (column < 0 || column >= columns.in) continue;
          const int64_t at = ((b * rows.in + row) * columns.in + column) * channels + c;
          const int64_t tap = (i * columns.filter + j) * channels + c;
          const double value = image.data<double>()[at] + weights.data<double>()[tap];
          if (best_image < 0 || value > best) {
            best = value;
            best_image = at;
            best_filter = tap;
          }
        }
      }
      if constexpr (kPart == Part::kForward) {
        result.data<double>()[o] = best;
      } else if (best_image >= 0) {
        result.data<double>()[kPart == Part::kInput ? best_image : best_filter] += gradient.data<double>()[o];
      }
    }
    ASSIGN_OR_RETURN(Tensor narrow, ConvertTensor(ctx, result, ctx.expected_output_dtype(0)));
    ctx.set_output(0, std::move(narrow));
    return absl::OkStatus();
  }

 private:
  WindowAttrs attrs_;
};

}  // namespace

absl::Status RegisterDilationKernels(KernelRegistry& kernels) {
  const DataTypeVector reals = {DT_FLOAT, DT_DOUBLE, DT_HALF,  DT_BFLOAT16, DT_INT8,   DT_INT16,
                                DT_INT32, DT_INT64,  DT_UINT8, DT_UINT16,   DT_UINT32, DT_UINT64};
  RETURN_IF_ERROR(kernels.Register<DilationKernel<Part::kForward>>(Kernel("Dilation2D").Cpu().Types("T", reals)));
  RETURN_IF_ERROR(
      kernels.Register<DilationKernel<Part::kInput>>(Kernel("Dilation2DBackpropInput").Cpu().Types("T", reals)));
  return kernels.Register<DilationKernel<Part::kFilter>>(Kernel("Dilation2DBackpropFilter").Cpu().Types("T", reals));
}

}  // namespace weir
