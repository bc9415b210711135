// ScatterNdUpdate and the like: slices of a variable named by several coordinates, on references and on resources.
#include "absl/strings/str_join.h"
#include "kernels/device/indices.h"
#include "kernels/state/family.h"
#include "kernels/state/update_loops.h"
#include "kernels/state/variable_access.h"

namespace weir {
namespace {

// Where in the variable each update goes.
struct Slices {
  int64_t elements = 1;          // of one slice
  std::vector<int64_t> offsets;  // of each slice, in elements; -1: dropped
};

// `indices` has shape [..., K]: K coordinates of each slice.
absl::StatusOr<Slices> FindSlices(const TensorShape& params, const Indices& indices, const TensorShape& updates,
                                  bool ignore_bad) {
  const TensorShape& shape = indices.shape();
  if (shape.dims() < 1)
    return errors::InvalidArgument("Indices shape must have rank at least one. Found: ", shape.ToString());
  const int outer = shape.dims() - 1;
  const int64_t depth = shape.dim_size(outer);
  if (depth > params.dims()) {
    return errors::InvalidArgument("The last dimension of indices must be at most the rank of the variable: ",
                                   shape.ToString(), " and ", params.ToString());
  }
  DimVector expected(shape.dim_sizes().begin(), shape.dim_sizes().begin() + outer);
  expected.insert(expected.end(), params.dim_sizes().begin() + depth, params.dim_sizes().end());
  if (absl::MakeConstSpan(expected) != updates.dim_sizes()) {
    const bool rows_match =
        updates.dims() >= outer && updates.dim_sizes().first(outer) == shape.dim_sizes().first(outer);
    if (!rows_match) return MismatchOfRows(shape, updates);
    return errors::InvalidArgument("Dimensions [", depth, ",", params.dims(), ") of input[shape=", params.ToString(),
                                   "] must match dimensions [", outer, ",", updates.dims(),
                                   ") of updates[shape=", updates.ToString(), "]");
  }
  Slices result;
  if (updates.num_elements() == 0) return result;
  // The elements of updates bound the products below.
  int64_t count = 1;
  for (int i = 0; i < outer; ++i) count *= shape.dim_size(i);
  for (int i = static_cast<int>(depth); i < params.dims(); ++i) result.elements *= params.dim_size(i);
  result.offsets.resize(count);
  for (int64_t n = 0; n < count; ++n) {
    const int64_t* const coordinates = indices.data() + n * depth;
    int64_t offset = 0;
    bool ok = true;
    for (int64_t d = 0; d < depth; ++d) {
      ok = ok && coordinates[d] >= 0 && coordinates[d] < params.dim_size(d);
      if (ok) offset = offset * params.dim_size(d) + coordinates[d];
    }
    if (!ok && !ignore_bad) {
      const TensorShape outer_shape(shape.dim_sizes().subspan(0, outer));
      return errors::InvalidArgument("indices", ElementName(outer_shape, n), " = [",
                                     absl::StrJoin(absl::MakeConstSpan(coordinates, depth), ", "),
                                     "] does not index into shape ", params.ToString());
    }
    result.offsets[n] = ok ? offset * result.elements : -1;
  }
  return result;
}

template <UpdateOp kOp>
class ScatterNdKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    dtype_ = ctx.input_types()[2];
    loop_ = FindUpdateLoop(kOp, dtype_);
    if (loop_ == nullptr) return errors::Unimplemented(ctx.op(), " has no kernel for ", DataTypeName(dtype_));
    std::string policy;
    if (ctx.HasAttr("bad_indices_policy")) RETURN_IF_ERROR(ctx.GetAttr("bad_indices_policy", &policy));
    if (!policy.empty() && policy != "DEFAULT" && policy != "ERROR" && policy != "IGNORE") {
      return errors::InvalidArgument("Bad indices policy: ", policy, " is none of DEFAULT, ERROR and IGNORE");
    }
    ignore_bad_ = policy == "IGNORE";
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
    if (params.dtype() != dtype_ || updates.dtype() != dtype_) {
      return errors::InvalidArgument("The variable's type is ", DataTypeName(params.dtype()), ", that of updates is ",
                                     DataTypeName(updates.dtype()));
    }
    ASSIGN_OR_RETURN(Slices slices, FindSlices(params.shape(), indices, updates.shape(), ignore_bad_));
    if (slices.offsets.empty() || slices.elements == 0) return absl::OkStatus();
    const int64_t size = DataTypeSize(dtype_);
    RETURN_IF_ERROR(PrepareToUpdateRanges(variable, ctx.allocator(), slices.offsets.size(), slices.elements * size,
                                          [&](int64_t i) { return slices.offsets[i] * size; }));
    char* const x = static_cast<char*>(params.raw_data());
    const char* y = static_cast<const char*>(updates.raw_data());
    for (int64_t offset : slices.offsets) {
      if (offset >= 0) loop_(x + offset * size, y, 1, slices.elements);
      y += slices.elements * size;
    }
    return absl::OkStatus();
  }

  DataType dtype_ = DT_INVALID;
  UpdateLoop loop_ = nullptr;
  bool ignore_bad_ = false;
};

template <UpdateOp kOp>
absl::Status RegisterNdUpdate(KernelRegistry& kernels, const std::string& name) {
  for (int i = 1; i <= DT_UINT64; ++i) {
    const DataType type = static_cast<DataType>(i);
    if (IsQuantized(type) || type == DT_RESOURCE || type == DT_VARIANT || FindUpdateLoop(kOp, type) == nullptr)
      continue;
    for (const char* prefix : {"ScatterNd", "ResourceScatterNd"}) {
      RETURN_IF_ERROR(kernels.Register<ScatterNdKernel<kOp>>(Kernel(prefix + name).Cpu().Types("T", {type})));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterScatterNdUpdateKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(RegisterNdUpdate<UpdateOp::kAssign>(kernels, "Update"));
  RETURN_IF_ERROR(RegisterNdUpdate<UpdateOp::kAdd>(kernels, "Add"));
  RETURN_IF_ERROR(RegisterNdUpdate<UpdateOp::kSub>(kernels, "Sub"));
  RETURN_IF_ERROR(RegisterNdUpdate<UpdateOp::kMin>(kernels, "Min"));
  return RegisterNdUpdate<UpdateOp::kMax>(kernels, "Max");
}

}  // namespace weir
