#include "tensorflow/core/framework/node_def.pb.h"

#include "kernels/array/family.h"

namespace weir {
namespace {

class NoOpKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext&) override { return absl::OkStatus(); }
  bool IsExpensive() const override { return false; }
};

// Identity and the other ops that pass their inputs on.
class IdentityKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      if (ctx.input_is_ref(i)) {
        ctx.forward_ref_input_to_ref_output(i, i);
      } else {
        ctx.set_output(i, ctx.input(i));
      }
    }
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }
};

class ConstKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("value", &value_); }
  absl::Status Compute(OpKernelContext& ctx) override {
    ctx.set_output(0, value_);
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }

 private:
  Tensor value_;
};

// Runs only if the placeholder was not fed.
class PlaceholderKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("shape", &shape_); }
  absl::Status Compute(OpKernelContext& ctx) override {
    const std::string type = DataTypeName(ctx.expected_output_dtype(0));
    const std::string& name = ctx.node_def().name();
    if (shape_.unknown_rank() || shape_.dims() == 0) {
      return errors::InvalidArgument("You must feed a value for placeholder tensor '", name, "' with dtype ", type);
    }
    return errors::InvalidArgument("You must feed a value for placeholder tensor '", name, "' with dtype ", type,
                                   " and shape ", shape_.ToString());
  }
  bool IsExpensive() const override { return false; }

 private:
  PartialTensorShape shape_;
};

}  // namespace

absl::Status RegisterValueKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<NoOpKernel>(Kernel("NoOp").Cpu()));
  for (const char* op : {"Const", "HostConst"}) RETURN_IF_ERROR(kernels.Register<ConstKernel>(Kernel(op).Cpu()));
  for (const char* op : {"Placeholder", "PlaceholderV2"}) {
    RETURN_IF_ERROR(kernels.Register<PlaceholderKernel>(Kernel(op).Cpu()));
  }
  for (const char* op : {"Identity", "RefIdentity", "IdentityN", "StopGradient", "PreventGradient",
                         "PlaceholderWithDefault", "DebugGradientIdentity", "DebugGradientRefIdentity", "_ListToArray",
                         "_ArrayToList", "MakeWeakResourceHandle"}) {
    RETURN_IF_ERROR(kernels.Register<IdentityKernel>(Kernel(op).Cpu()));
  }
  return absl::OkStatus();
}

}  // namespace weir
