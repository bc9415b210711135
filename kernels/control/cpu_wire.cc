// Encodes tensors for transfer between tasks (cast, compressed) and decodes them.
#include "core/kernel/kernel_registry.h"
#include "core/kernel/op_kernel.h"
#include "core/wire/wire_tensor.h"
#include "kernels/control/family.h"

namespace weir {
namespace {

class EncodeKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    std::string wire;
    RETURN_IF_ERROR(ctx.GetAttr("wire", &wire));
    ASSIGN_OR_RETURN(options_, WireOptions::Parse(wire));
    return absl::OkStatus();
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(Tensor encoded, EncodeForWire(options_, ctx.locked_input(0), ctx.device()->allocator()));
    ctx.set_output(0, std::move(encoded));
    return absl::OkStatus();
  }

 private:
  WireOptions options_;
};

class DecodeKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(Tensor decoded,
                     DecodeFromWire(ctx.input(0), ctx.expected_output_dtype(0), ctx.device()->allocator()));
    ctx.set_output(0, std::move(decoded));
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterWireKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<EncodeKernel>(Kernel("_WireEncode").Cpu()));
  return kernels.Register<DecodeKernel>(Kernel("_WireDecode").Cpu());
}

}  // namespace weir
