// AssignAdd and AssignSub, on references and on resources.
#include "kernels/device/parallel.h"
#include "kernels/state/family.h"
#include "kernels/state/overwrite.h"
#include "kernels/state/update_loops.h"
#include "kernels/state/variable_access.h"

namespace weir {
namespace {

template <UpdateOp kOp>
class AssignUpdateKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    dtype_ = ctx.input_types()[1];
    loop_ = FindUpdateLoop(kOp, dtype_);
    if (loop_ == nullptr) return errors::Unimplemented(ctx.op(), " has no kernel for ", DataTypeName(dtype_));
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor update = ctx.locked_input(1);
    RETURN_IF_ERROR(Update(ctx, update));
    ForwardReference(ctx);
    return absl::OkStatus();
  }

 private:
  absl::Status Update(OpKernelContext& ctx, const Tensor& update) const {
    ASSIGN_OR_RETURN(VariableRef variable, FindVariable(ctx, 0));
    std::lock_guard<std::mutex> lock(*variable.mutex);
    if (!variable.IsInitialized()) return errors::FailedPrecondition("Attempting to use uninitialized value");
    Tensor& target = *variable.tensor;
    if (target.dtype() != dtype_ || update.dtype() != dtype_) {
      return errors::InvalidArgument("Trying to update variable with wrong dtype. Expected ",
                                     DataTypeName(target.dtype()), " got ", DataTypeName(update.dtype()));
    }
    RETURN_IF_ERROR(CheckAssignUpdate(ctx, target.shape(), update.shape()));
    ASSIGN_OR_RETURN(const Tensor old, PrepareToOverwrite(variable, ctx.allocator()));
    const OverwriteSpan span{old.raw_data(), target.raw_data()};
    const int64_t size = DataTypeSize(dtype_);
    const char* const y = static_cast<const char*>(update.raw_data());
    ParallelRanges(ctx, target.NumElements(), 40 * size, [&](int64_t begin, int64_t end) {
      OverwriteRange({&span, 1}, size, begin, end,
                     [&](void* const* data, int64_t at, int64_t count) { loop_(data[0], y + at * size, 1, count); });
    });
    return absl::OkStatus();
  }

  DataType dtype_ = DT_INVALID;
  UpdateLoop loop_ = nullptr;
};

template <UpdateOp kOp>
absl::Status Register(KernelRegistry& kernels, const char* op, const char* type_attr) {
#define WEIR_REGISTER(T) \
  RETURN_IF_ERROR(kernels.Register<AssignUpdateKernel<kOp>>(Kernel(op).Cpu().Type<T>(type_attr)));
  WEIR_FOR_NUMBERS(WEIR_REGISTER)
#undef WEIR_REGISTER
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterAssignUpdateKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(Register<UpdateOp::kAdd>(kernels, "AssignAdd", "T"));
  RETURN_IF_ERROR(Register<UpdateOp::kSub>(kernels, "AssignSub", "T"));
  RETURN_IF_ERROR(Register<UpdateOp::kAdd>(kernels, "AssignAddVariableOp", "dtype"));
  return Register<UpdateOp::kSub>(kernels, "AssignSubVariableOp", "dtype");
}

}  // namespace weir
