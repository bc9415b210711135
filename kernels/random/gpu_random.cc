// Random numbers: the CPU's streams, drawn from on the device.
#include <algorithm>
#include <limits>

#include "absl/strings/match.h"
#include "core/tensor/index_tensor.h"
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/random/device.h"
#include "kernels/random/family.h"
#include "kernels/random/random_stream.h"
#include "kernels/random/stateless_random.h"

namespace weir {
namespace {

// The body for an op, whether stateful, seeded or keyed.
absl::StatusOr<GpuKernel> FindDistribution(const std::string& op, DataType type) {
  const absl::string_view name = op;
  if (absl::StrContains(name, "Int")) {
    if (type == DT_UINT32) type = DT_INT32;
    if (type == DT_UINT64) type = DT_INT64;
    return FindBody("RandomInteger", type);
  }
  if (absl::StrContains(name, "TruncatedNormal")) return FindBody("RandomTruncatedNormal", type);
  return FindBody(absl::StrContains(name, "Normal") ? "RandomNormal" : "RandomUniform", type);
}

class RandomKernel : public GpuOpKernel {
 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(kernel_, FindDistribution(ctx.op(), ctx.output_types()[0]));
    is_bounded_ = absl::StrContains(ctx.op(), "UniformInt");
    return absl::OkStatus();
  }

  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    ASSIGN_OR_RETURN(const TensorShape shape, ReadShape(ctx.input(0)));
    RandomArgs args{.total = shape.num_elements()};
    if (is_bounded_ && args.total > 0) {
      int64_t low = 0, high = 0;
      const int bounds = ctx.num_inputs() - 2;
      RETURN_IF_ERROR(ReadBounds(ctx.input(bounds), ctx.input(bounds + 1), &low, &high));
      args.low = static_cast<uint64_t>(low);
      args.range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
    }
    ASSIGN_OR_RETURN(const Philox from, Stream(ctx, args.total));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (args.total == 0) return absl::OkStatus();
    std::copy(from.counter().begin(), from.counter().end(), args.counter);
    std::copy(from.key().begin(), from.key().end(), args.key);
    args.out = output->raw_data();
    const int64_t per_group = DataTypeSize(output->dtype()) == 8 ? 2 : 4;
    args.count = (args.total + per_group - 1) / per_group;
    return stream.LaunchWith(kernel_, args, {WriteOf(*output)});
  }
  // From which `total` numbers are drawn.
  virtual absl::StatusOr<Philox> Stream(OpKernelContext& ctx, int64_t total) = 0;

 private:
  bool is_bounded_ = false;
  GpuKernel kernel_;
};

class StatefulRandomKernel : public RandomKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(generator_.Init(ctx));
    return RandomKernel::InitOnGpu(ctx);
  }
  absl::StatusOr<Philox> Stream(OpKernelContext&, int64_t total) override {
    return generator_.Reserve(static_cast<uint64_t>(total) * kGroupsPerOutput);
  }
  GuardedPhilox generator_;
};
class SeededRandomKernel : public RandomKernel {
  absl::StatusOr<Philox> Stream(OpKernelContext& ctx, int64_t) override { return PhiloxFromSeed(ctx.input(1)); }
};
class KeyedRandomKernel : public RandomKernel {
  absl::StatusOr<Philox> Stream(OpKernelContext& ctx, int64_t) override {
    return PhiloxFromKeyAndCounter(ctx.input(1), ctx.input(2), ctx.input(3));
  }
};

// The seeded op and its second version, with key, counter and algorithm.
absl::Status RegisterStateless(KernelRegistry& kernels, const std::string& op, absl::Span<const DataType> types,
                               bool is_bounded) {
  Kernel seeded(op), keyed(op + "V2");
  seeded.Device(kDeviceGpu).Types("dtype", types).HostMemory("shape").HostMemory("seed");
  keyed.Device(kDeviceGpu)
      .Types("dtype", types)
      .HostMemory("shape")
      .HostMemory("key")
      .HostMemory("counter")
      .HostMemory("alg");
  if (is_bounded) {
    seeded.HostMemory("minval").HostMemory("maxval");
    keyed.HostMemory("minval").HostMemory("maxval");
  }
  RETURN_IF_ERROR(kernels.Register<SeededRandomKernel>(seeded));
  return kernels.Register<KeyedRandomKernel>(keyed);
}

}  // namespace

absl::Status RegisterGpuRandomKernels(KernelRegistry& kernels) {
  for (const char* op : {"RandomUniform", "RandomStandardNormal", "TruncatedNormal"}) {
    RETURN_IF_ERROR(kernels.Register<StatefulRandomKernel>(
        Kernel(op).Device(kDeviceGpu).Types("dtype", kGpuFloats).HostMemory("shape")));
  }
  RETURN_IF_ERROR(kernels.Register<StatefulRandomKernel>(Kernel("RandomUniformInt")
                                                             .Device(kDeviceGpu)
                                                             .Types("Tout", {DT_INT32, DT_INT64})
                                                             .HostMemory("shape")
                                                             .HostMemory("minval")
                                                             .HostMemory("maxval")));
  for (const char* op : {"StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal"}) {
    RETURN_IF_ERROR(RegisterStateless(kernels, op, kGpuFloats, /*is_bounded=*/false));
  }
  RETURN_IF_ERROR(RegisterStateless(kernels, "StatelessRandomUniformInt", {DT_INT32, DT_INT64}, /*is_bounded=*/true));
  return RegisterStateless(kernels, "StatelessRandomUniformFullInt", {DT_INT32, DT_INT64, DT_UINT32, DT_UINT64},
                           /*is_bounded=*/false);
}

}  // namespace weir
