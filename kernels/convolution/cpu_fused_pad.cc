// FusedPadConv2D and FusedResizeAndPadConv2D: an image is resized (bilinearly), mirrored at its edges and convolved.

#include <cmath>
#include <cstring>

#include "core/kernel/determinism.h"
#include "core/tensor/index_tensor.h"
#include "kernels/convolution/cpu_convolution.h"
#include "kernels/convolution/family.h"
#include "kernels/device/parallel.h"
#include "kernels/device/wide.h"

namespace weir {
namespace {

// One spatial dimension: where each element of the resized and padded image comes from.
struct Source {
  int64_t low = 0, high = 0;
  float rest = 0;  // from low to high
};

std::vector<Source> Sources(int64_t in, int64_t resized, bool corners, int64_t before, int64_t after, bool reflect) {
  const float scale = corners && resized > 1 ? static_cast<float>(in - 1) / static_cast<float>(resized - 1)
                                             : static_cast<float>(in) / static_cast<float>(resized);
  const int64_t edge = reflect ? 0 : 1;  // symmetric padding repeats the edge
  std::vector<Source> sources;
  for (int64_t i = -before; i < resized + after; ++i) {
    const int64_t mirrored = i < 0 ? -i - edge : i >= resized ? 2 * resized - 2 + edge - i : i;
    const float at = static_cast<float>(mirrored) * scale, floor = std::floor(at);
    sources.push_back({std::min(static_cast<int64_t>(floor), in - 1),
                       std::min(static_cast<int64_t>(std::ceil(at)), in - 1), at - floor});
  }
  return sources;
}

template <bool kResize>
class FusedPadConvolutionKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    if (kResize) RETURN_IF_ERROR(ctx.GetAttr("resize_align_corners", &corners_));
    std::string mode;
    RETURN_IF_ERROR(ctx.GetAttr("mode", &mode));
    reflect_ = mode == "REFLECT";
    ASSIGN_OR_RETURN(attrs_, WindowAttrs::Read(ctx));
    convolution_ = NewConvolution(ConvolutionKind::kForward, ctx.input_types()[0], IsDeterministic(ctx.node_def()));
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    const Tensor& filter = ctx.input(ctx.num_inputs() - 1);
    if (input.dims() != 4) return errors::InvalidArgument("input must be 4-dimensional", input.shape().ToString());
    if (filter.dims() != 4) return errors::InvalidArgument("filter must be 4-dimensional: ", filter.shape().ToString());
    if (input.NumElements() == 0) return errors::InvalidArgument("Input tensor can't be empty");
    DimVector resized = {input.dim_size(1), input.dim_size(2)};
    if (kResize) {
      if (ctx.input(1).dims() != 1 || ctx.input(1).NumElements() != 2) {
        return errors::InvalidArgument("size must be a vector of two elements, got ", ctx.input(1).shape().ToString());
      }
      ASSIGN_OR_RETURN(resized, ReadIntegers(ctx.input(1)));
      if (resized[0] < 1 || resized[1] < 1) return errors::InvalidArgument("output dimensions must be positive");
    }
    const Tensor& paddings = ctx.input(ctx.num_inputs() - 2);
    if (paddings.dims() != 2 || paddings.dim_size(0) != 4 || paddings.dim_size(1) != 2) {
      return errors::InvalidArgument("paddings must be a matrix with 2 columns: ", paddings.shape().ToString());
    }
    ASSIGN_OR_RETURN(const DimVector pads, ReadIntegers(paddings));
    RETURN_IF_ERROR(CheckPaddings(pads, {input.dim_size(0), resized[0], resized[1], input.dim_size(3)}));
    const int64_t height = resized[0] + pads[2] + pads[3], width = resized[1] + pads[4] + pads[5];
    ASSIGN_OR_RETURN(const TensorShape shape,
                     TensorShape::Build({input.dim_size(0), height, width, input.dim_size(3)}));
    // Checked before anything of that size is allocated.
    ASSIGN_OR_RETURN(Tensor wide_image, ctx.allocate_temp(WideType(input.dtype()), shape));
    if (wide_image.NumElements() > 0) {
      RETURN_IF_ERROR(
          FillImage(ctx, input, Sources(input.dim_size(1), resized[0], corners_, pads[2], pads[3], reflect_),
                    Sources(input.dim_size(2), resized[1], corners_, pads[4], pads[5], reflect_), wide_image));
    }
    ASSIGN_OR_RETURN(const Tensor image, ConvertTensor(ctx, wide_image, input.dtype()));
    return Convolve(ctx, image, filter, height, width);
  }

 private:
  // `sizes` are those of the resized image.
  absl::Status CheckPaddings(const DimVector& pads, const DimVector& sizes) const {
    for (int d = 0; d < 4; ++d) {
      const int64_t before = pads[2 * d], after = pads[2 * d + 1];
      if (before < 0 || after < 0) {
        return errors::InvalidArgument("paddings must be non-negative: ", before, " ", after);
      }
      const int64_t limit = reflect_ ? sizes[d] - 1 : sizes[d];
      if (before <= limit && after <= limit) continue;
      return reflect_ ? errors::InvalidArgument("paddings must be less than the dimension size: ", before, ", ", after,
                                                " not less than ", sizes[d])
                      : errors::InvalidArgument("paddings must be no greater than the dimension size: ", before, ", ",
                                                after, " greater than ", sizes[d]);
    }
    for (const auto& [d, name] : {std::pair{0, "batches"}, std::pair{3, "channels"}}) {
      if (pads[2 * d] == 0 && pads[2 * d + 1] == 0) continue;
      return errors::InvalidArgument("Fused mirror padding only support spatial padding, not ", name);
    }
    return absl::OkStatus();
  }

  static absl::Status FillImage(OpKernelContext& ctx, const Tensor& input, const std::vector<Source>& rows,
                                const std::vector<Source>& columns, Tensor& image) {
    const int64_t height = static_cast<int64_t>(rows.size()), width = static_cast<int64_t>(columns.size()),
                  c = input.dim_size(3);
    ASSIGN_OR_RETURN(const Tensor wide, Widen(ctx, input));
    return VisitWide(wide.dtype(), [&](auto element) {
      using T = decltype(element);
      ParallelRanges(ctx, input.dim_size(0) * height, width * c * 3'000, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const Source& row = rows[i % height];
          const T* const plane = wide.data<T>() + i / height * input.dim_size(1) * input.dim_size(2) * c;
          for (int64_t x = 0; x < width; ++x) {
            const auto at = [&](int64_t y, int64_t column) { return plane + (y * input.dim_size(2) + column) * c; };
            const T *tl = at(row.low, columns[x].low), *tr = at(row.low, columns[x].high),
                    *bl = at(row.high, columns[x].low), *br = at(row.high, columns[x].high);
            T* const out = image.data<T>() + (i * width + x) * c;
            for (int64_t k = 0; k < c; ++k) {
              const T top = tl[k] + (tr[k] - tl[k]) * static_cast<T>(columns[x].rest);
              const T bottom = bl[k] + (br[k] - bl[k]) * static_cast<T>(columns[x].rest);
              out[k] = top + (bottom - top) * static_cast<T>(row.rest);
            }
          }
        }
      });
      return absl::OkStatus();
    });
  }

  absl::Status Convolve(OpKernelContext& ctx, const Tensor& image, const Tensor& filter, int64_t height,
                        int64_t width) {
    ConvolutionShape shape;
    shape.batch = image.dim_size(0);
    shape.in_channels = image.dim_size(3);
    shape.out_channels = filter.dim_size(3);
    if (filter.dim_size(2) != shape.in_channels) {
      return errors::InvalidArgument("input and filter must have the same depth: ", shape.in_channels, " vs ",
                                     filter.dim_size(2));
    }
    ASSIGN_OR_RETURN(shape.rows, attrs_.Dim(0, height, filter.dim_size(0)));
    ASSIGN_OR_RETURN(shape.columns, attrs_.Dim(1, width, filter.dim_size(1)));
    ASSIGN_OR_RETURN(const TensorShape out,
                     attrs_.MakeShape(shape.batch, shape.rows.out, shape.columns.out, shape.out_channels));
    if (out.num_elements() == 0) return errors::InvalidArgument("Output tensor can't be empty");
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, out));
    if (filter.NumElements() == 0) {
      std::memset(output->raw_data(), 0, output->TotalBytes());
      return absl::OkStatus();
    }
    return convolution_->Run(ctx, shape, {image.raw_data(), filter.raw_data(), output->raw_data()});
  }

  bool corners_ = false, reflect_ = false;
  WindowAttrs attrs_;
  std::unique_ptr<Convolution> convolution_;
};

}  // namespace

absl::Status RegisterFusedPadConvolutionKernels(KernelRegistry& kernels) {
  const DataTypeVector floats = {DT_FLOAT, DT_DOUBLE, DT_HALF};
  RETURN_IF_ERROR(kernels.Register<FusedPadConvolutionKernel<false>>(
      Kernel("FusedPadConv2D").Cpu().Types("T", {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16}).HostMemory("paddings")));
  return kernels.Register<FusedPadConvolutionKernel<true>>(
      Kernel("FusedResizeAndPadConv2D").Cpu().Types("T", floats).HostMemory("size").HostMemory("paddings"));
}

}  // namespace weir
