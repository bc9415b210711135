// ExtractImagePatches and ExtractVolumePatches: what each place of a sliding window sees becomes the depth there.
#include <cstring>

#include "kernels/device/parallel.h"
#include "kernels/image/family.h"

namespace weir {
namespace {

// One spatial dimension.
struct Slide {
  int64_t in = 0, size = 1, stride = 1, rate = 1, out = 0, before = 0;
};

class PatchesKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    rank_ = ctx.op() == "ExtractImagePatches" ? 4 : 5;
    RETURN_IF_ERROR(ReadAttr(ctx, "ksizes", &sizes_));
    RETURN_IF_ERROR(ReadAttr(ctx, "strides", &strides_));
    if (ctx.HasAttr("rates")) {
      RETURN_IF_ERROR(ReadAttr(ctx, "rates", &rates_));
    } else {
      rates_.assign(rank_, 1);
    }
    return ctx.GetAttr("padding", &padding_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (input.dims() != rank_) {
      return errors::InvalidArgument("input must be ", rank_, "-dimensional", input.shape().ToString());
    }
    const int64_t depth = input.dim_size(rank_ - 1);
    // An image counts as a volume of one plane.
    Slide slides[3];
    slides[0] = {1, 1, 1, 1, 1, 0};
    int64_t patch = depth;
    DimVector dims{input.dim_size(0)};
    for (int d = 1; d < rank_ - 1; ++d) {
      ASSIGN_OR_RETURN(const Slide slide, MakeSlide(d, input.dim_size(d)));
      slides[d + 4 - rank_] = slide;
      dims.push_back(slide.out);
      patch = MultiplyWithoutOverflow(patch, slide.size);
    }
    if (patch < 0) return errors::InvalidArgument("Patches are too large for ", input.shape().ToString());
    dims.push_back(patch);
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build(dims));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    const int64_t pixel = depth * static_cast<int64_t>(DataTypeSize(input.dtype()));
    const int64_t patch_bytes = patch / depth * pixel;
    ParallelRanges(ctx, shape.num_elements() / patch, patch_bytes * 100, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        Patch(static_cast<const char*>(input.raw_data()), slides, i, pixel,
              static_cast<char*>(output->raw_data()) + i * patch_bytes);
      }
    });
    return absl::OkStatus();
  }

 private:
  absl::Status ReadAttr(OpKernelConstruction& ctx, const char* name, std::vector<int64_t>* values) const {
    RETURN_IF_ERROR(ctx.GetAttr(name, values));
    if (static_cast<int>(values->size()) != rank_) {
      return errors::InvalidArgument("Sliding window ", name, " field must specify ", rank_, " dimensions");
    }
    if (values->front() != 1 || values->back() != 1) {
      return errors::Unimplemented("Current implementation does not yet support ", name,
                                   " in the batch and depth dimensions.");
    }
    for (int64_t value : *values) {
      if (value < 1 || value > std::numeric_limits<int32_t>::max()) {
        return errors::OutOfRange(name, " in the spatial dimensions must be at least 1, got ", value);
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Slide> MakeSlide(int d, int64_t in) const {
    Slide slide{in, sizes_[d], strides_[d], rates_[d], 0, 0};
    const int64_t seen = slide.size + (slide.size - 1) * (slide.rate - 1);
    if (padding_ == "VALID") {
      slide.out = in < seen ? 0 : (in - seen) / slide.stride + 1;
      if ((in - seen + slide.stride) / slide.stride < 0) {
        return errors::InvalidArgument("Computed output size would be negative: input ", in, ", window ", seen);
      }
      return slide;
    }
    slide.out = (in + slide.stride - 1) / slide.stride;
    slide.before = std::max<int64_t>(0, (slide.out - 1) * slide.stride + seen - in) / 2;
    return slide;
  }

  // Patch `index` of those of all images.
  static void Patch(const char* in, const Slide* slides, int64_t index, int64_t pixel, char* out) {
    int64_t first[3];
    for (int d = 2; d >= 0; --d) {
      first[d] = index % slides[d].out * slides[d].stride - slides[d].before;
      index /= slides[d].out;
    }
    in += index * slides[0].in * slides[1].in * slides[2].in * pixel;
    for (int64_t z = 0; z < slides[0].size; ++z) {
      for (int64_t y = 0; y < slides[1].size; ++y) {
        for (int64_t x = 0; x < slides[2].size; ++x, out += pixel) {
          const int64_t at[3] = {first[0] + z * slides[0].rate, first[1] + y * slides[1].rate,
                                 first[2] + x * slides[2].rate};
          bool inside = true;
          for (int d = 0; d < 3; ++d) inside = inside && at[d] >= 0 && at[d] < slides[d].in;
          if (inside) {
            std::memcpy(out, in + ((at[0] * slides[1].in + at[1]) * slides[2].in + at[2]) * pixel, pixel);
          } else {
            std::memset(out, 0, pixel);
          }
        }
      }
    }
  }

  int rank_ = 4;
  std::vector<int64_t> sizes_, strides_, rates_;
  std::string padding_;
};

}  // namespace

absl::Status RegisterPatchKernels(KernelRegistry& kernels) {
  const DataTypeVector real = {DT_FLOAT, DT_DOUBLE, DT_HALF,  DT_BFLOAT16, DT_INT8,   DT_INT16,
                               DT_INT32, DT_INT64,  DT_UINT8, DT_UINT16,   DT_UINT32, DT_UINT64};
  DataTypeVector all = real;
  for (DataType type : {DT_BOOL, DT_COMPLEX64, DT_COMPLEX128}) all.push_back(type);
  RETURN_IF_ERROR(kernels.Register<PatchesKernel>(Kernel("ExtractImagePatches").Cpu().Types("T", all)));
  return kernels.Register<PatchesKernel>(Kernel("ExtractVolumePatches").Cpu().Types("T", real));
}

}  // namespace weir
