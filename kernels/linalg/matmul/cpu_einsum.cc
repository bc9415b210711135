// Einsum over one or two operands: each is brought into the order of a batched matrix product, and the product into
// that of the output.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "kernels/device/elements.h"
#include "kernels/device/parallel.h"
#include "kernels/device/wide.h"
#include "kernels/linalg/family.h"
#include "kernels/linalg/matmul/einsum_plan.h"
#include "kernels/linalg/matmul/gemm.h"

namespace weir {
namespace {

class EinsumKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    std::string equation;
    RETURN_IF_ERROR(ctx.GetAttr("equation", &equation));
    ASSIGN_OR_RETURN(equation_, EinsumEquation::Parse(equation, static_cast<int>(ctx.input_types().size())));
    gemm_ = FindGemm(ctx.input_types()[0]);
    if (gemm_ != nullptr) return absl::OkStatus();
    return errors::Unimplemented("Einsum on CPU has no kernel for ", DataTypeName(ctx.input_types()[0]));
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    std::vector<TensorShape> shapes;
    for (int i = 0; i < ctx.num_inputs(); ++i) shapes.push_back(ctx.input(i).shape());
    ASSIGN_OR_RETURN(const EinsumPlan plan, equation_->PlanFor(shapes));
    ASSIGN_OR_RETURN(Tensor product, Arrange(ctx, ctx.input(0), plan.operands[0]));
    if (ctx.num_inputs() == 2) {
      ASSIGN_OR_RETURN(const Tensor b, Arrange(ctx, ctx.input(1), plan.operands[1]));
      ASSIGN_OR_RETURN(product, Multiply(ctx, product, b, plan.batches, plan.rows, plan.columns, plan.k));
    }
    ASSIGN_OR_RETURN(Tensor * result, ctx.allocate_output(0, plan.output));
    if (result->NumElements() == 0) return absl::OkStatus();
    ZeroElements(result->dtype(), result->raw_data(), result->NumElements());
    StridedCopy(ctx, result->dtype(), plan.sizes, product.raw_data(), DenseSteps(plan.sizes), result->raw_data(),
                plan.steps);
    return absl::OkStatus();
  }

 private:
  // A dense copy of the operand, summed over what it has behind its factor.
  absl::StatusOr<Tensor> Arrange(OpKernelContext& ctx, const Tensor& input, const EinsumPlan::Operand& operand) const {
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build(operand.sizes));
    ASSIGN_OR_RETURN(Tensor dense, ctx.allocate_temp(input.dtype(), shape));
    if (dense.NumElements() > 0) {
      StridedCopy(ctx, input.dtype(), operand.sizes, input.raw_data(), operand.steps, dense.raw_data(),
                  DenseSteps(operand.sizes));
    }
    if (operand.num_summed == 0) return dense;
    DimVector lengths = operand.sizes;
    lengths.resize(lengths.size() - operand.num_summed);
    ASSIGN_OR_RETURN(const TensorShape kept, TensorShape::Build(lengths));
    if (kept.num_elements() == 0) return dense.Reshaped(kept);  // and what is added may be too many to count
    int64_t added = 1;
    for (size_t d = lengths.size(); d < operand.sizes.size(); ++d) added *= operand.sizes[d];
    ASSIGN_OR_RETURN(Tensor one, ctx.allocate_temp(DT_DOUBLE, TensorShape({added})));
    std::fill_n(one.data<double>(), added, 1.0);
    ASSIGN_OR_RETURN(const Tensor ones, ConvertTensor(ctx, one, input.dtype()));
    ASSIGN_OR_RETURN(Tensor sums, Multiply(ctx, dense, ones, 1, kept.num_elements(), 1, added));
    return sums.Reshaped(kept);
  }

  // [batches, rows, k] times [batches, k, columns].
  absl::StatusOr<Tensor> Multiply(OpKernelContext& ctx, const Tensor& a, const Tensor& b, int64_t batches, int64_t rows,
                                  int64_t columns, int64_t k) const {
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build({batches, rows, columns}));
    ASSIGN_OR_RETURN(Tensor product, ctx.allocate_temp(a.dtype(), shape));
    if (product.NumElements() == 0) return product;
    if (k == 0) {
      ZeroElements(product.dtype(), product.raw_data(), product.NumElements());
      return product;
    }
    const int64_t size = static_cast<int64_t>(DataTypeSize(a.dtype()));
    // Rows are shared among threads in blocks where there are few batches.
    const int64_t block = std::max<int64_t>(1, std::min<int64_t>(rows, 64)), blocks = (rows + block - 1) / block;
    const double cost = 60.0 * static_cast<double>(block) * static_cast<double>(columns) * static_cast<double>(k);
    ParallelRanges(ctx, batches * blocks, static_cast<int64_t>(std::min(cost, 1e15)) + 1,
                   [&](int64_t begin, int64_t end) {
                     for (int64_t i = begin; i < end; ++i) {
                       const int64_t item = i / blocks, first = i % blocks * block;
                       GemmArgs args;
                       args.m = std::min(block, rows - first);
                       args.n = columns;
                       args.k = k;
                       args.a = static_cast<const char*>(a.raw_data()) + (item * rows + first) * k * size;
                       args.lda = k;
                       args.b = static_cast<const char*>(b.raw_data()) + item * k * columns * size;
                       args.ldb = columns;
                       args.c = static_cast<char*>(product.raw_data()) + (item * rows + first) * columns * size;
                       args.ldc = columns;
                       gemm_(args);
                     }
                   });
    return product;
  }

  std::optional<EinsumEquation> equation_;
  Gemm gemm_ = nullptr;
};

}  // namespace

absl::Status RegisterEinsumKernels(KernelRegistry& kernels) {
  return kernels.Register<EinsumKernel>(Kernel("Einsum").Cpu().Types(
      "T", {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT32, DT_INT64, DT_COMPLEX64, DT_COMPLEX128}));
}

}  // namespace weir
