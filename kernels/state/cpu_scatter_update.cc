// ScatterUpdate, ScatterAdd and the like: rows of a variable, on references and on resources.
#include "kernels/device/indices.h"
#include "kernels/device/row_prefetch.h"
#include "kernels/state/family.h"
#include "kernels/state/update_loops.h"
#include "kernels/state/variable_access.h"

namespace weir {
namespace {

// Rows are updated in the order of their indices: a row that is named twice is updated twice.
template <UpdateOp kOp>
class ScatterKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    dtype_ = ctx.input_types()[2];
    loop_ = FindUpdateLoop(kOp, dtype_);
    if (loop_ == nullptr) return errors::Unimplemented(ctx.op(), " has no kernel for ", DataTypeName(dtype_));
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor updates = ctx.locked_input(2);
    ASSIGN_OR_RETURN(Indices indices, Indices::Read(ctx.locked_input(1)));
    RETURN_IF_ERROR(Update(ctx, indices, updates));
    ForwardReference(ctx);
    return absl::OkStatus();
  }

 private:
  absl::Status Update(OpKernelContext& ctx, const Indices& indices, const Tensor& updates) const {
    ASSIGN_OR_RETURN(VariableRef variable, FindVariable(ctx, 0));
    std::lock_guard<std::mutex> lock(*variable.mutex);
    if (!variable.IsInitialized()) return errors::FailedPrecondition("Attempting to use uninitialized value");
    Tensor& params = *variable.tensor;
    RETURN_IF_ERROR(Check(params, indices, updates));
    if (indices.size() == 0) return absl::OkStatus();
    RETURN_IF_ERROR(indices.CheckRange(params.dim_size(0)));
    if (kOp == UpdateOp::kDiv && HasIntegerZero(dtype_, updates.raw_data(), updates.NumElements())) {
      return errors::InvalidArgument("updates must not contain 0");
    }
    const int64_t row = params.NumElements() / std::max<int64_t>(params.dim_size(0), 1);
    const int64_t row_bytes = row * static_cast<int64_t>(DataTypeSize(dtype_));
    RETURN_IF_ERROR(PrepareToUpdateRanges(variable, ctx.allocator(), indices.size(), row_bytes,
                                          [&](int64_t i) { return indices[i] * row_bytes; }));
    const int64_t step = updates.dims() == 0 ? 0 : 1;
    char* const x = static_cast<char*>(params.raw_data());
    const char* const y = static_cast<const char*>(updates.raw_data());
    const RowPrefetch prefetch(x, row_bytes, indices.data(), indices.size());
    for (int64_t i = 0; i < indices.size(); ++i) {
      prefetch.At(i);
      loop_(x + indices[i] * row_bytes, y + step * i * row_bytes, step, row);
    }
    return absl::OkStatus();
  }

  absl::Status Check(const Tensor& params, const Indices& indices, const Tensor& updates) const {
    if (params.dtype() != dtype_ || updates.dtype() != dtype_) {
      return errors::InvalidArgument("params, updates and dtype must agree; they are ", DataTypeName(params.dtype()),
                                     ", ", DataTypeName(updates.dtype()), " and ", DataTypeName(dtype_));
    }
    bool ok = params.dims() >= 1;
    if (ok && updates.dims() > 0) {
      DimVector expected(indices.shape().dim_sizes().begin(), indices.shape().dim_sizes().end());
      expected.insert(expected.end(), params.shape().dim_sizes().begin() + 1, params.shape().dim_sizes().end());
      ok = absl::MakeConstSpan(expected) == updates.shape().dim_sizes();
    }
    if (ok) return absl::OkStatus();
    return errors::InvalidArgument(
        "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got updates.shape ",
        updates.shape().ToString(), ", indices.shape ", indices.shape().ToString(), ", params.shape ",
        params.shape().ToString());
  }

  DataType dtype_ = DT_INVALID;
  UpdateLoop loop_ = nullptr;
};

// Reference and resource forms, for every type that has a loop.
template <UpdateOp kOp>
absl::Status Register(KernelRegistry& kernels, const std::string& name) {
  for (int i = 1; i <= DT_UINT64; ++i) {
    const DataType type = static_cast<DataType>(i);
    if (IsQuantized(type) || type == DT_BOOL || FindUpdateLoop(kOp, type) == nullptr) {
      if (kOp != UpdateOp::kAssign || type != DT_BOOL) continue;
    }
    RETURN_IF_ERROR(kernels.Register<ScatterKernel<kOp>>(Kernel("Scatter" + name).Cpu().Types("T", {type})));
    RETURN_IF_ERROR(
        kernels.Register<ScatterKernel<kOp>>(Kernel("ResourceScatter" + name).Cpu().Types("dtype", {type})));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterScatterUpdateKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(Register<UpdateOp::kAssign>(kernels, "Update"));
  RETURN_IF_ERROR(Register<UpdateOp::kAdd>(kernels, "Add"));
  RETURN_IF_ERROR(Register<UpdateOp::kSub>(kernels, "Sub"));
  RETURN_IF_ERROR(Register<UpdateOp::kMul>(kernels, "Mul"));
  RETURN_IF_ERROR(Register<UpdateOp::kDiv>(kernels, "Div"));
  RETURN_IF_ERROR(Register<UpdateOp::kMin>(kernels, "Min"));
  return Register<UpdateOp::kMax>(kernels, "Max");
}

}  // namespace weir
