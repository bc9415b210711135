// The executor implements control flow itself; these kernels serve other callers.

#include "kernels/control/family.h"

namespace weir {
namespace {

void HandOn(OpKernelContext& ctx, int input, int output) {
  if (ctx.input_is_ref(input)) {
    ctx.forward_ref_input_to_ref_output(input, output);
  } else {
    ctx.set_output(output, ctx.input(input));
  }
}

class SwitchKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor predicate = ctx.locked_input(1);
    if (predicate.dtype() != DT_BOOL) {
      return errors::InvalidArgument("The second input must be a bool, but it is ", DataTypeName(predicate.dtype()));
    }
    if (predicate.dims() != 0) {
      return errors::InvalidArgument("The second input must be a scalar, but it has shape ",
                                     predicate.shape().ToString());
    }
    HandOn(ctx, 0, predicate.scalar<bool>() ? 1 : 0);
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }
};

// An index out of range chooses the last output.
class SwitchNKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor index = ctx.locked_input(1);
    if (index.dtype() != DT_INT32 || index.dims() != 0) {
      const bool wrong_type = index.dtype() != DT_INT32;
      return errors::InvalidArgument("The second input must be a scalar", wrong_type ? " int32" : "", ", but it has ",
                                     wrong_type ? absl::StrCat("type ", DataTypeName(index.dtype()), " and ") : "",
                                     "shape ", index.shape().ToString());
    }
    const int32_t chosen = index.scalar<int32_t>();
    HandOn(ctx, 0, chosen >= 0 && chosen < ctx.num_outputs() ? chosen : ctx.num_outputs() - 1);
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }
};

class MergeKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    int winner = -1;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      if (!ctx.has_input(i)) continue;
      if (winner >= 0) return errors::Internal("Merge can not have more than one valid input.");
      winner = i;
    }
    if (winner < 0) return errors::Internal("Merge has no valid input.");
    HandOn(ctx, winner, 0);
    ctx.set_output(1, Tensor::Scalar<int32_t>(winner));
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }
};

class PassKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    if (ctx.num_inputs() > 0) HandOn(ctx, 0, 0);
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }
};

// TensorFlow's op ends the process; a server must outlive its graphs, so here the step fails.
class AbortKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("error_msg", &message_); }
  absl::Status Compute(OpKernelContext&) override {
    return errors::Aborted(message_.empty() ? "The Abort op ran" : message_);
  }
  bool IsExpensive() const override { return false; }

 private:
  std::string message_;
};

}  // namespace

absl::Status RegisterControlFlowKernels(KernelRegistry& kernels) {
  for (const char* ref : {"", "Ref"}) {
    const auto name = [ref](const char* op) { return absl::StrCat(ref, op); };
    RETURN_IF_ERROR(kernels.Register<SwitchKernel>(Kernel(name("Switch")).Cpu()));
    RETURN_IF_ERROR(kernels.Register<MergeKernel>(Kernel(name("Merge")).Cpu()));
    for (const char* op : {"Enter", "Exit", "NextIteration"}) {
      RETURN_IF_ERROR(kernels.Register<PassKernel>(Kernel(name(op)).Cpu()));
    }
  }
  RETURN_IF_ERROR(kernels.Register<SwitchNKernel>(Kernel("_SwitchN").Cpu()));
  RETURN_IF_ERROR(kernels.Register<PassKernel>(Kernel("LoopCond").Cpu()));
  RETURN_IF_ERROR(kernels.Register<PassKernel>(Kernel("ControlTrigger").Cpu()));
  return kernels.Register<AbortKernel>(Kernel("Abort").Cpu());
}

}  // namespace weir
