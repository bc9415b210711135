// Multinomial and StatelessMultinomial: classes drawn by their logits, with the numbers that the CPU draws.
#include <algorithm>

#include "kernels/device/gpu/body_kernel.h"
#include "kernels/random/device.h"
#include "kernels/random/family.h"
#include "kernels/random/multinomial.h"
#include "kernels/random/random_stream.h"
#include "kernels/random/stateless_random.h"

namespace weir {
namespace {

class MultinomialKernel : public GpuOpKernel {
 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(widen_, FindBody("Cast", ctx.input_types()[0], DT_DOUBLE));
    ASSIGN_OR_RETURN(highest_, FindBody("HighestLogit", DT_DOUBLE));
    ASSIGN_OR_RETURN(totals_, FindBody("ClassTotals", DT_DOUBLE));
    ASSIGN_OR_RETURN(draw_, FindBody("DrawClass", ctx.output_types()[0]));
    return absl::OkStatus();
  }

  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& logits = ctx.input(0);
    ASSIGN_OR_RETURN(const int64_t samples, CheckMultinomial(logits, ctx.input(1)));
    const int64_t batch = logits.dim_size(0);
    ASSIGN_OR_RETURN(const Philox from, Stream(ctx, batch, samples));
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build({batch, samples}));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(Tensor totals, ctx.allocate_temp(DT_DOUBLE, logits.shape()));
    ASSIGN_OR_RETURN(Tensor highest, ctx.allocate_temp(DT_DOUBLE, TensorShape({batch})));
    RETURN_IF_ERROR(stream.LaunchWith(
        widen_, CastArgs{.in = logits.raw_data(), .out = totals.raw_data(), .count = logits.NumElements()},
        {ReadOf(logits), WriteOf(totals)}));
    MultinomialArgs args{.totals = totals.data<double>(), .highest = highest.data<double>()};
    std::copy(from.counter().begin(), from.counter().end(), args.counter);
    std::copy(from.key().begin(), from.key().end(), args.key);
    args.out = output->raw_data();
    args.classes = logits.dim_size(1);
    args.samples = samples;
    args.count = batch;
    RETURN_IF_ERROR(stream.LaunchWith(highest_, args, {ReadOf(totals), WriteOf(highest)}));
    RETURN_IF_ERROR(stream.LaunchWith(totals_, args, {ReadOf(highest), WriteOf(totals)}));
    args.count = output->NumElements();
    return stream.LaunchWith(draw_, args, {ReadOf(totals), WriteOf(*output)});
  }

 private:
  virtual absl::StatusOr<Philox> Stream(OpKernelContext& ctx, int64_t batch, int64_t samples) = 0;

  GpuKernel widen_, highest_, totals_, draw_;
};

class StatefulMultinomialKernel : public MultinomialKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(generator_.Init(ctx));
    return MultinomialKernel::InitOnGpu(ctx);
  }
  absl::StatusOr<Philox> Stream(OpKernelContext&, int64_t batch, int64_t samples) override {
    return generator_.Reserve(MultinomialGroups(batch, samples));
  }
  GuardedPhilox generator_;
};

class StatelessMultinomialKernel : public MultinomialKernel {
  absl::StatusOr<Philox> Stream(OpKernelContext& ctx, int64_t, int64_t) override {
    return PhiloxFromSeed(ctx.input(2));
  }
};

}  // namespace

absl::Status RegisterGpuMultinomialKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<StatefulMultinomialKernel>(
      Kernel("Multinomial").Device(kDeviceGpu).Types("T", kGpuFloats).HostMemory("num_samples")));
  return kernels.Register<StatelessMultinomialKernel>(Kernel("StatelessMultinomial")
                                                          .Device(kDeviceGpu)
                                                          .Types("T", kGpuFloats)
                                                          .HostMemory("num_samples")
                                                          .HostMemory("seed"));
}

}  // namespace weir
