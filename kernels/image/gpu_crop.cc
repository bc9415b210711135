// CropAndResize and its gradients. An index that names no image is an error, as on the CPU and in TensorFlow: the host
// waits for the device to look.
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/device/gpu/reading_kernel.h"
#include "kernels/image/args_crop.h"
#include "kernels/image/device.h"
#include "kernels/image/family.h"

namespace weir {
namespace {

class CropKernel : public ReadingGpuKernel {
 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(check_, FindBody("CropIndices", DT_INT32));
    return attrs_.Read(ctx);
  }

  absl::StatusOr<Begun> Begin(OpKernelContext& ctx, GpuStream& stream) override {
    ASSIGN_OR_RETURN(const CropSizes sizes, Sizes(ctx));
    Begun begun{.to_read = Tensor(DT_INT64, TensorShape({0}))};
    if (sizes.crops.dim_size(0) == 0) return begun;
    ASSIGN_OR_RETURN(begun.to_read, ctx.allocate_temp(DT_INT64, TensorShape({1})));
    CropArgs args = ArgsOf(ctx, sizes);
    args.out = begun.to_read.raw_data();
    args.count = 1;
    RETURN_IF_ERROR(stream.LaunchWith(check_, args, {ReadOf(Indices(ctx)), WriteOf(begun.to_read)}));
    return begun;
  }

  absl::Status Finish(OpKernelContext& ctx, GpuStream& stream, const Tensor& read, const std::vector<Tensor>&) final {
    if (read.NumElements() > 0 && read.data<int64_t>()[0] != 0) return BoxIndexOutOfRange();
    ASSIGN_OR_RETURN(const CropSizes sizes, Sizes(ctx));
    return Crop(ctx, stream, sizes, ArgsOf(ctx, sizes));
  }

  virtual absl::StatusOr<CropSizes> Sizes(OpKernelContext& ctx) const = 0;
  virtual int first_box_input() const { return 1; }
  // Where all indices are of images.
  virtual absl::Status Crop(OpKernelContext& ctx, GpuStream& stream, const CropSizes& sizes, CropArgs args) = 0;

  const Tensor& Boxes(OpKernelContext& ctx) const { return ctx.input(first_box_input()); }
  const Tensor& Indices(OpKernelContext& ctx) const { return ctx.input(first_box_input() + 1); }

 private:
  CropArgs ArgsOf(OpKernelContext& ctx, const CropSizes& sizes) const {
    return {.boxes = Boxes(ctx).data<float>(),
            .indices = Indices(ctx).data<int32_t>(),
            .nearest = attrs_.nearest,
            .outside = attrs_.outside,
            .batch = sizes.image.dim_size(0),
            .rows = sizes.image.dim_size(1),
            .columns = sizes.image.dim_size(2),
            .channels = sizes.image.dim_size(3),
            .crop_rows = sizes.crops.dim_size(1),
            .crop_columns = sizes.crops.dim_size(2),
            .num_boxes = sizes.crops.dim_size(0),
            .count = sizes.crops.num_elements()};
  }

  CropAttrs attrs_;
  GpuKernel check_;
};

class CropAndResizeKernel : public CropKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(crop_, FindBody("Crop", ctx.input_types()[0]));
    return CropKernel::InitOnGpu(ctx);
  }
  absl::StatusOr<CropSizes> Sizes(OpKernelContext& ctx) const override { return CropSizes::Of(ctx); }
  absl::Status Crop(OpKernelContext& ctx, GpuStream& stream, const CropSizes& sizes, CropArgs args) override {
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, sizes.crops));
    if (args.count == 0) return absl::OkStatus();
    args.images = ctx.input(0).raw_data();
    args.out = output->raw_data();
    return stream.LaunchWith(crop_, args,
                             {ReadOf(ctx.input(0)), ReadOf(Boxes(ctx)), ReadOf(Indices(ctx)), WriteOf(*output)});
  }

  GpuKernel crop_;
};

// Sums in float, or in double where that is asked for, in no order.
class CropGradImageKernel : public CropKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    type_ = ctx.output_types()[0];
    sum_type_ = type_ == DT_HALF ? DT_FLOAT : type_;
    ASSIGN_OR_RETURN(fill_, FindMove("Fill", sum_type_));
    ASSIGN_OR_RETURN(add_, FindBody("CropGradImage", sum_type_));
    ASSIGN_OR_RETURN(cast_, FindBody("Cast", sum_type_, type_));
    return CropKernel::InitOnGpu(ctx);
  }
  absl::StatusOr<CropSizes> Sizes(OpKernelContext& ctx) const override { return CropSizes::OfImageGradient(ctx); }
  absl::Status Crop(OpKernelContext& ctx, GpuStream& stream, const CropSizes& sizes, CropArgs args) override {
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, sizes.image));
    const int64_t elements = output->NumElements();
    if (elements == 0) return absl::OkStatus();
    Tensor sums = *output;
    if (sum_type_ != type_) {
      ASSIGN_OR_RETURN(sums, ctx.allocate_temp(sum_type_, sizes.image));
    }
    RETURN_IF_ERROR(stream.LaunchWith(fill_, FillArgs{.out = sums.raw_data(), .count = elements}, {WriteOf(sums)}));
    const Tensor& gradients = ctx.input(0);
    args.gradients = gradients.data<float>();
    args.out = sums.raw_data();
    if (args.count > 0) {
      RETURN_IF_ERROR(
          stream.LaunchWith(add_, args, {ReadOf(gradients), ReadOf(Boxes(ctx)), ReadOf(Indices(ctx)), WriteOf(sums)}));
    }
    if (sum_type_ == type_) return absl::OkStatus();
    return stream.LaunchWith(cast_, CastArgs{.in = sums.raw_data(), .out = output->raw_data(), .count = elements},
                             {ReadOf(sums), WriteOf(*output)});
  }

  DataType type_ = DT_INVALID, sum_type_ = DT_INVALID;
  GpuKernel fill_, add_, cast_;
};

class CropGradBoxesKernel : public CropKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(sum_, FindBody("CropGradBoxes", ctx.input_types()[1]));
    return CropKernel::InitOnGpu(ctx);
  }
  absl::StatusOr<CropSizes> Sizes(OpKernelContext& ctx) const override { return CropSizes::OfBoxesGradient(ctx); }
  int first_box_input() const override { return 2; }
  absl::Status Crop(OpKernelContext& ctx, GpuStream& stream, const CropSizes&, CropArgs args) override {
    const Tensor& gradients = ctx.input(0);
    const Tensor& images = ctx.input(1);
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, TensorShape({args.num_boxes, 4})));
    if (output->NumElements() == 0) return absl::OkStatus();
    args.images = images.raw_data();
    args.gradients = gradients.data<float>();
    args.out = output->raw_data();
    args.count = args.num_boxes;
    return stream.LaunchWith(
        sum_, args, {ReadOf(gradients), ReadOf(images), ReadOf(Boxes(ctx)), ReadOf(Indices(ctx)), WriteOf(*output)});
  }

  GpuKernel sum_;
};

}  // namespace

absl::Status RegisterGpuCropKernels(KernelRegistry& kernels) {
  const auto kernel = [](const char* op) {
    return Kernel(op).Device(kDeviceGpu).Types("T", {DT_FLOAT, DT_DOUBLE, DT_HALF});
  };
  RETURN_IF_ERROR(kernels.Register<CropAndResizeKernel>(kernel("CropAndResize").HostMemory("crop_size")));
  RETURN_IF_ERROR(kernels.Register<CropGradImageKernel>(kernel("CropAndResizeGradImage").HostMemory("image_size")));
  return kernels.Register<CropGradBoxesKernel>(kernel("CropAndResizeGradBoxes"));
}

}  // namespace weir
