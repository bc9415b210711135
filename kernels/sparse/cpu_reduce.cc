// Sums and maxima of sparse tensors along axes.
#include <algorithm>
#include <limits>

#include "core/tensor/numeric_types.h"
#include "kernels/device/elements.h"
#include "kernels/elementwise/cast/cpu_cast.h"
#include "kernels/sparse/family.h"
#include "kernels/sparse/sparse_tensor.h"
#include "kernels/state/update_loops.h"

namespace weir {
namespace {

// What remains of a shape, and the values that fall together.
struct Reduction {
  DimVector kept;                   // axes that remain
  DimVector shape;                  // of the result
  std::vector<int64_t> firsts;      // for each group one entry, in order of the kept indices
  std::vector<int64_t> order;       // entries, group by group
  std::vector<int64_t> group_ends;  // in `order`
};

absl::StatusOr<std::vector<bool>> ReducedAxes(const Tensor& axes, int64_t rank) {
  if (axes.dims() > 1) {
    return errors::InvalidArgument("Expected reduction_axes to be a scalar or a vector; got shape: ",
                                   axes.shape().ToString());
  }
  std::vector<bool> reduced(rank, false);
  for (int32_t axis : axes.flat<int32_t>()) {
    if (axis < -rank || axis >= rank) {
      return errors::InvalidArgument("Invalid reduction dimension ", axis, ", for input with ", rank, " dimensions.");
    }
    reduced[axis < 0 ? axis + rank : axis] = true;
  }
  return reduced;
}

absl::StatusOr<Reduction> MakeReduction(OpKernelContext& ctx, const SparseTensor& input, bool keep_dims) {
  Reduction result;
  ASSIGN_OR_RETURN(const std::vector<bool> reduced, ReducedAxes(ctx.input(3), input.rank()));
  for (int d = 0; d < input.rank(); ++d) {
    if (!reduced[d]) result.kept.push_back(d);
    if (!reduced[d] || keep_dims) result.shape.push_back(reduced[d] ? 1 : input.shape()[d]);
  }
  RETURN_IF_ERROR(input.DenseShape().status());
  RETURN_IF_ERROR(input.CheckBounds());
  const int64_t entries = input.entries(), kept = result.kept.size();
  ASSIGN_OR_RETURN(Tensor keys, ctx.allocate_temp(DT_INT64, TensorShape({entries, kept})));
  int64_t* key = keys.data<int64_t>();
  for (int64_t i = 0; i < entries; ++i) {
    for (int64_t d : result.kept) *key++ = input.index(i)[d];
  }
  result.order = SortedEntries(keys.data<int64_t>(), entries, static_cast<int>(kept));
  const auto key_of = [&](int64_t i) {
    return absl::MakeConstSpan(keys.data<int64_t>() + result.order[i] * kept, kept);
  };
  for (int64_t begin = 0, end; begin < entries; begin = end) {
    end = begin + 1;
    while (end < entries && key_of(end) == key_of(begin)) ++end;
    result.firsts.push_back(result.order[begin]);
    result.group_ends.push_back(end);
  }
  return result;
}

// One value for each group. The 16-bit floats are added up as floats.
absl::StatusOr<Tensor> Fold(OpKernelContext& ctx, const Reduction& reduction, const Tensor& values, UpdateOp op) {
  const DataType type = values.dtype();
  const bool widen = op == UpdateOp::kAdd && (type == DT_HALF || type == DT_BFLOAT16);
  const DataType fold_type = widen ? DT_FLOAT : type;
  ASSIGN_OR_RETURN(Tensor sorted, GatherElements(ctx, values, reduction.order));
  if (widen) {
    ASSIGN_OR_RETURN(Tensor wide, ctx.allocate_temp(fold_type, sorted.shape()));
    FindCast(type, fold_type)(sorted.raw_data(), wide.raw_data(), sorted.NumElements());
    sorted = std::move(wide);
  }
  const int64_t groups = reduction.group_ends.size(), width = DataTypeSize(fold_type);
  ASSIGN_OR_RETURN(Tensor folded, ctx.allocate_temp(fold_type, TensorShape({groups})));
  const UpdateLoop loop = FindUpdateLoop(op, fold_type);
  const char* from = static_cast<const char*>(sorted.raw_data());
  int64_t i = 0;
  for (int64_t group = 0; group < groups; ++group) {
    char* const to = static_cast<char*>(folded.raw_data()) + group * width;
    CopyElements(fold_type, to, from + i++ * width, 1);
    for (; i < reduction.group_ends[group]; ++i) loop(to, from + i * width, 1, 1);
  }
  if (!widen) return folded;
  ASSIGN_OR_RETURN(Tensor result, ctx.allocate_temp(type, folded.shape()));
  FindCast(fold_type, type)(folded.raw_data(), result.raw_data(), groups);
  return result;
}

// input_indices, input_values, input_shape, reduction_axes. What has no entry is zero in the dense result.
template <UpdateOp kOp, bool kSparseResult>
class SparseReduceKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("keep_dims", &keep_dims_); }

  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const SparseTensor input, SparseTensor::Read(ctx.input(0), ctx.input(1), ctx.input(2),
                                                                  {"input_indices", "input_values", "input_shape",
                                                                   SparseTensor::Wording::kParts}));
    ASSIGN_OR_RETURN(const Reduction reduction, MakeReduction(ctx, input, keep_dims_));
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build(reduction.shape));
    const DataType type = input.values().dtype();
    const int64_t groups = reduction.firsts.size(), kept = reduction.kept.size(), width = DataTypeSize(type);
    if (kSparseResult) {
      ASSIGN_OR_RETURN(Tensor * indices, ctx.allocate_output(0, TensorShape({groups, shape.dims()})));
      std::fill_n(indices->data<int64_t>(), groups * shape.dims(), 0);
      for (int64_t group = 0; group < groups; ++group) {
        for (int64_t d = 0; d < kept; ++d) {
          indices->data<int64_t>()[group * shape.dims() + (keep_dims_ ? reduction.kept[d] : d)] =
              input.index(reduction.firsts[group])[reduction.kept[d]];
        }
      }
      ASSIGN_OR_RETURN(Tensor values, Fold(ctx, reduction, input.values(), kOp));
      ctx.set_output(1, std::move(values));
      ctx.set_output(2, ShapeTensor(reduction.shape));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    ZeroElements(type, output->raw_data(), shape.num_elements());
    ASSIGN_OR_RETURN(const Tensor values, Fold(ctx, reduction, input.values(), kOp));
    DimVector sizes;
    for (int64_t d : reduction.kept) sizes.push_back(input.shape()[d]);
    const DimVector steps = DenseSteps(sizes);
    for (int64_t group = 0; group < groups; ++group) {
      int64_t at = 0;
      for (int64_t d = 0; d < kept; ++d) at += input.index(reduction.firsts[group])[reduction.kept[d]] * steps[d];
      CopyElements(type, static_cast<char*>(output->raw_data()) + at * width,
                   static_cast<const char*>(values.raw_data()) + group * width, 1);
    }
    return absl::OkStatus();
  }

 private:
  bool keep_dims_ = false;
};

template <UpdateOp kOp>
absl::Status RegisterReduce(KernelRegistry& kernels, const char* dense, const char* sparse, DataType type) {
  RETURN_IF_ERROR((kernels.Register<SparseReduceKernel<kOp, false>>(Kernel(dense).Cpu().Types("T", {type}))));
  return kernels.Register<SparseReduceKernel<kOp, true>>(Kernel(sparse).Cpu().Types("T", {type}));
}

}  // namespace

absl::Status RegisterSparseReduceKernels(KernelRegistry& kernels) {
  for (DataType type : {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT8, DT_INT16, DT_INT32, DT_INT64, DT_UINT8,
                        DT_UINT16, DT_UINT32, DT_UINT64, DT_COMPLEX64, DT_COMPLEX128}) {
    RETURN_IF_ERROR(RegisterReduce<UpdateOp::kAdd>(kernels, "SparseReduceSum", "SparseReduceSumSparse", type));
    if (IsComplex(type)) continue;
    RETURN_IF_ERROR(RegisterReduce<UpdateOp::kMax>(kernels, "SparseReduceMax", "SparseReduceMaxSparse", type));
  }
  return absl::OkStatus();
}

}  // namespace weir
