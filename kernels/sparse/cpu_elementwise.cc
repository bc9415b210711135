// Element by element: a sparse tensor with a dense one that is broadcast to it, two sparse ones, softmax of rows.
#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_join.h"
#include "core/tensor/numeric_types.h"
#include "kernels/device/elements.h"
#include "kernels/sparse/family.h"
#include "kernels/sparse/sparse_tensor.h"
#include "kernels/state/update_loops.h"

namespace weir {
namespace {

// sp_indices, sp_values, sp_shape, dense: for each entry, op(value, what stands there in the dense tensor).
template <UpdateOp kOp>
class SparseDenseKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& dense = ctx.input(3);
    ASSIGN_OR_RETURN(const SparseTensor sparse, SparseTensor::Read(ctx.input(0), ctx.input(1), ctx.input(2),
                                                                   {"sp_indices", "sp_values", "sp_shape"}));
    RETURN_IF_ERROR(sparse.DenseShape().status());
    const int lead = sparse.rank() - dense.dims();
    bool fits = lead >= 0;
    for (int d = 0; fits && d < dense.dims(); ++d) {
      fits = dense.dim_size(d) == sparse.shape()[lead + d] || (dense.dim_size(d) == 1 && sparse.shape()[lead + d] >= 1);
    }
    if (!fits) {
      return errors::InvalidArgument(
          "SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible shapes: ",
          IndexText(sparse.shape()), " vs. ", dense.shape().ToString());
    }
    if (!sparse.CheckBounds().ok()) {
      return errors::InvalidArgument("Provided indices are out-of-bounds w.r.t. dense side with broadcasted shape");
    }
    DimVector steps = DenseSteps(dense.shape().dim_sizes());
    for (int d = 0; d < dense.dims(); ++d) steps[d] = dense.dim_size(d) == 1 ? 0 : steps[d];
    std::vector<int64_t> picks(sparse.entries(), 0);
    for (size_t i = 0; i < picks.size(); ++i) {
      const absl::Span<const int64_t> index = sparse.index(i);
      for (int d = 0; d < dense.dims(); ++d) picks[i] += index[lead + d] * steps[d];
    }
    ASSIGN_OR_RETURN(const Tensor others, GatherElements(ctx, dense, picks));
    const DataType type = dense.dtype();
    if (kOp == UpdateOp::kDiv && HasIntegerZero(type, others.raw_data(), others.NumElements())) {
      return errors::InvalidArgument("Integer division by zero");
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, TensorShape({sparse.entries()})));
    CopyElements(type, output->raw_data(), sparse.values().raw_data(), sparse.entries());
    FindUpdateLoop(kOp, type)(output->raw_data(), others.raw_data(), 1, sparse.entries());
    return absl::OkStatus();
  }
};

// Two sorted sparse tensors of one shape: the larger or smaller value wherever either has an entry, with zero for one
// that is missing.
template <UpdateOp kOp>
class SparseSparseKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const SparseTensor::Names names{"indices", "values", "shape", SparseTensor::Wording::kSparse};
    ASSIGN_OR_RETURN(const SparseTensor a, SparseTensor::Read(ctx.input(0), ctx.input(1), ctx.input(2), names));
    ASSIGN_OR_RETURN(const SparseTensor b, SparseTensor::Read(ctx.input(3), ctx.input(4), ctx.input(5), names));
    RETURN_IF_ERROR(a.CheckBounds(SparseTensor::Wording::kSparse));
    RETURN_IF_ERROR(b.CheckBounds(SparseTensor::Wording::kSparse));
    if (a.rank() != b.rank()) {
      return errors::InvalidArgument("Operands do not have the same ranks; got shapes: ", absl::StrJoin(a.shape(), " "),
                                     " and ", absl::StrJoin(b.shape(), " "));
    }
    for (int d = 0; d < a.rank(); ++d) {
      if (a.shape()[d] == b.shape()[d]) continue;
      return errors::InvalidArgument("Operands' shapes do not match: got ", a.shape()[d], " and ", b.shape()[d],
                                     " for dimension ", d);
    }
    const DataType type = a.values().dtype();
    const int64_t width = DataTypeSize(type), most = a.entries() + b.entries();
    ASSIGN_OR_RETURN(Tensor left, ctx.allocate_temp(type, TensorShape({most})));
    ASSIGN_OR_RETURN(Tensor right, ctx.allocate_temp(type, TensorShape({most})));
    ZeroElements(type, left.raw_data(), most);
    ZeroElements(type, right.raw_data(), most);
    std::vector<const int64_t*> rows;
    const auto put = [&](const SparseTensor& from, int64_t i, Tensor* to) {
      CopyElements(type, static_cast<char*>(to->raw_data()) + rows.size() * width,
                   static_cast<const char*>(from.values().raw_data()) + i * width, 1);
    };
    for (int64_t i = 0, j = 0; i < a.entries() || j < b.entries();) {
      const int order = i == a.entries() ? 1 : j == b.entries() ? -1 : CompareIndices(a.index(i), b.index(j));
      if (order <= 0) put(a, i, &left);
      if (order >= 0) put(b, j, &right);
      rows.push_back(order <= 0 ? a.index(i).data() : b.index(j).data());
      i += order <= 0;
      j += order >= 0;
    }
    const int64_t entries = rows.size();
    ASSIGN_OR_RETURN(Tensor * indices, ctx.allocate_output(0, TensorShape({entries, a.rank()})));
    for (int64_t i = 0; i < entries; ++i) std::copy_n(rows[i], a.rank(), indices->data<int64_t>() + i * a.rank());
    FindUpdateLoop(kOp, type)(left.raw_data(), right.raw_data(), 1, entries);
    ctx.set_output(1, most == 0 ? left : left.Slice(0, entries));
    return absl::OkStatus();
  }
};

// Over the entries of each row of the last dimension. Results are in row-major order, whatever that of the entries.
template <typename T>
class SparseSoftmaxKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const SparseTensor input, SparseTensor::Read(ctx.input(0), ctx.input(1), ctx.input(2),
                                                                  {"sp_indices", "sp_values", "sp_shape"}));
    if (input.rank() < 2) {
      return errors::InvalidArgument("Input should have rank >= 2, but received shape: ",
                                     absl::StrJoin(input.shape(), " "));
    }
    RETURN_IF_ERROR(input.DenseShape().status());
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, TensorShape({input.entries()})));
    const T* const x = input.values().data<T>();
    T* const y = output->data<T>();
    const std::vector<int64_t> order =
        SortedEntries(ctx.input(0).data<int64_t>(), input.entries(), static_cast<int>(input.rank()));
    for (size_t i = 0; i < order.size(); ++i) y[i] = x[order[i]];
    const auto row = [&](int64_t i) { return input.index(order[i]).first(input.rank() - 1); };
    for (int64_t begin = 0, end; begin < input.entries(); begin = end) {
      end = begin + 1;
      while (end < input.entries() && row(end) == row(begin)) ++end;
      Softmax(end - begin, y + begin);
    }
    return absl::OkStatus();
  }

 private:
  static void Softmax(int64_t n, T* y) {
    using Real = AccumulatorT<T>;
    Real highest = static_cast<Real>(y[0]), sum = 0;
    for (int64_t i = 1; i < n; ++i) highest = std::max(highest, static_cast<Real>(y[i]));
    std::vector<Real> powers(n);
    for (int64_t i = 0; i < n; ++i) sum += powers[i] = std::exp(static_cast<Real>(y[i]) - highest);
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<T>(powers[i] / sum);
  }
};

}  // namespace

absl::Status RegisterSparseElementwiseKernels(KernelRegistry& kernels) {
  for (DataType type : {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT8, DT_INT16, DT_INT32, DT_INT64, DT_UINT8,
                        DT_UINT16, DT_UINT32, DT_UINT64}) {
    const auto kernel = [type](const char* op) { return Kernel(op).Cpu().Types("T", {type}); };
    RETURN_IF_ERROR(kernels.Register<SparseDenseKernel<UpdateOp::kMul>>(kernel("SparseDenseCwiseMul")));
    RETURN_IF_ERROR(kernels.Register<SparseDenseKernel<UpdateOp::kDiv>>(kernel("SparseDenseCwiseDiv")));
    RETURN_IF_ERROR(kernels.Register<SparseDenseKernel<UpdateOp::kAdd>>(kernel("SparseDenseCwiseAdd")));
    RETURN_IF_ERROR(kernels.Register<SparseSparseKernel<UpdateOp::kMax>>(kernel("SparseSparseMaximum")));
    RETURN_IF_ERROR(kernels.Register<SparseSparseKernel<UpdateOp::kMin>>(kernel("SparseSparseMinimum")));
  }
#define WEIR_REGISTER(T) \
  RETURN_IF_ERROR(kernels.Register<SparseSoftmaxKernel<T>>(Kernel("SparseSoftmax").Cpu().Type<T>("T")));
  WEIR_REGISTER(float)
  WEIR_REGISTER(double)
  WEIR_REGISTER(half)
#undef WEIR_REGISTER
  return absl::OkStatus();
}

}  // namespace weir
