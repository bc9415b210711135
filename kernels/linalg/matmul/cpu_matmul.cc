// MatMul and the batched products.
#include <algorithm>

#include "core/kernel/determinism.h"
#include "core/op/attr_value.h"
#include "graph/passes/loop_constants.h"
#include "kernels/device/epilogue.h"
#include "kernels/elementwise/cpu_elementwise.h"
#include "kernels/linalg/family.h"
#include "kernels/linalg/matmul/args.h"
#include "kernels/linalg/matmul/gemm.h"
#include "kernels/linalg/matmul/loop_operand.h"

namespace weir {
namespace {

constexpr int64_t kPicosecondsPerMultiply = 15;
// Half of less than this is little more than the waking of a thread costs, and where the machine has other work, the
// whole product would wait for that thread.
constexpr int64_t kWorthSplitting = 150'000'000;  // 150 us

// How a product is divided into blocks of rows or columns, at most one for each 16 of the longer side. The bits of an
// element may depend on its block: libraries choose their code by the block's shape.
int64_t BlocksOf(OpKernelContext& ctx, int64_t cost, int64_t side, bool deterministic) {
  if (cost < kWorthSplitting) return 1;
  if (!deterministic) return std::min<int64_t>(ctx.work_queue()->num_threads(), (side + 15) / 16);
  constexpr int64_t kMostBlocks = 8, kLeastExtent = 64;
  return std::clamp<int64_t>(std::min(2 * cost / kWorthSplitting, side / kLeastExtent), 1, kMostBlocks);
}

// Computes `batch` products, split over the device's threads. a_at and b_at give the operands of one product in bytes
// from g.a and g.b; products lie one after another in g.c. Each thread applies `epilogue`, if any, to its share.
template <typename AAt, typename BAt>
void ParallelGemm(OpKernelContext& ctx, Gemm gemm, const GemmArgs& g, DataType type, int64_t batch, bool deterministic,
                  AAt a_at, BAt b_at, const BoundEpilogue* epilogue = nullptr) {
  const int64_t size = DataTypeSize(type);
  const auto rows = [&](int64_t item, int64_t begin, int64_t end) {
    GemmArgs part = g;
    part.a = static_cast<const char*>(g.a) + a_at(item) + begin * (g.transpose_a ? 1 : g.lda) * size;
    part.b = static_cast<const char*>(g.b) + b_at(item);
    part.c = static_cast<char*>(g.c) + (item * g.m + begin) * g.n * size;
    part.m = end - begin;
    gemm(part);
    if (epilogue != nullptr) epilogue->ApplyToRows(part.c, part.m, g.n, g.n);
  };
  const auto columns = [&](int64_t begin, int64_t end) {
    GemmArgs part = g;
    part.a = static_cast<const char*>(g.a) + a_at(0);
    part.b = static_cast<const char*>(g.b) + b_at(0) + begin * (g.transpose_b ? g.ldb : 1) * size;
    part.c = static_cast<char*>(g.c) + begin * size;
    part.n = end - begin;
    gemm(part);
    if (epilogue != nullptr) epilogue->ApplyToRows(part.c, part.m, part.n, g.ldc, begin);
  };
  const int64_t row_cost = std::max<int64_t>(1, g.n * g.k) * kPicosecondsPerMultiply;
  if (batch > 1) {
    ParallelRanges(ctx, batch, g.m * row_cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) rows(i, 0, g.m);
    });
    return;
  }
  // Blocks of rows or columns, one per thread where that pays. Each thread brings its share of the operand that is
  // split, and the whole other one, into the library's order: so the longer side of the result is the one to split.
  const bool by_columns = g.n > g.m;
  const int64_t side = by_columns ? g.n : g.m;
  const int64_t blocks = BlocksOf(ctx, g.m * row_cost, side, deterministic);
  const int64_t extent = ((side + blocks - 1) / blocks + 15) / 16 * 16;
  ParallelRanges(ctx, blocks, blocks == 1 ? 1 : g.m * row_cost / blocks, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = block * extent, last = std::min(side, first + extent);
      if (first >= last) return;
      if (by_columns) {
        columns(first, last);
      } else {
        rows(0, first, last);
      }
    }
  });
}

// MatMul, and _FusedMatMul, which has an epilogue.
class MatMulKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    if (ctx.op() == "_FusedMatMul") RETURN_IF_ERROR(epilogue_.emplace().Init(ctx));
    RETURN_IF_ERROR(ctx.GetAttr("transpose_a", &transpose_a_));
    RETURN_IF_ERROR(ctx.GetAttr("transpose_b", &transpose_b_));
    const DataType type = ctx.input_types()[0];
    gemm_ = FindGemm(type);
    deterministic_ = IsDeterministic(ctx.node_def());
    keeps_b_ = FindAttr(ctx.node_def(), kLoopConstantAttr) != nullptr && !deterministic_ && !transpose_a_ &&
               (type == DT_FLOAT || (type == DT_BFLOAT16 && HasFastBfloat16()));
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& a = ctx.input(0);
    const Tensor& b = ctx.input(1);
    ASSIGN_OR_RETURN(const MatMulSizes sizes, MatMulSizes::Of(a.shape(), b.shape(), transpose_a_, transpose_b_));
    GemmArgs g;
    g.transpose_a = transpose_a_;
    g.transpose_b = transpose_b_;
    g.m = sizes.m;
    g.k = sizes.k;
    g.n = sizes.n;
    std::optional<BoundEpilogue> epilogue;
    if (epilogue_.has_value()) {
      ASSIGN_OR_RETURN(epilogue, epilogue_->Bind(ctx, 2, g.n));
    }
    ASSIGN_OR_RETURN(TensorShape shape, TensorShape::Build({g.m, g.n}));
    ASSIGN_OR_RETURN(Tensor * c, ctx.allocate_output(0, shape));
    if (c->NumElements() == 0) return absl::OkStatus();
    if (g.k == 0) {
      std::fill_n(static_cast<char*>(c->raw_data()), c->TotalBytes(), 0);
      if (epilogue.has_value()) epilogue->ApplyToRows(c->raw_data(), g.m, g.n, g.n);
      return absl::OkStatus();
    }
    g.a = a.raw_data();
    g.lda = a.dim_size(1);
    g.b = b.raw_data();
    g.ldb = b.dim_size(1);
    g.c = c->raw_data();
    g.ldc = g.n;
    const BoundEpilogue* const after = epilogue.has_value() ? &*epilogue : nullptr;
    if (keeps_b_ && g.m * g.n * g.k >= kWorthKeeping && ctx.frame_iter().frame_id != 0) {
      const int64_t blocks = BlocksOf(ctx, g.m * g.n * g.k * kPicosecondsPerMultiply, g.m, /*deterministic=*/false);
      const int64_t rows = (g.m + blocks - 1) / blocks;
      ASSIGN_OR_RETURN(const std::shared_ptr<const LoopOperand> kept, LoopOperand::Find(ctx, this, b, g, rows));
      if (kept != nullptr) {
        MultiplyKept(ctx, g, c->dtype(), *kept, rows, after);
        return absl::OkStatus();
      }
    }
    const auto at_start = [](int64_t) { return int64_t{0}; };
    ParallelGemm(ctx, gemm_, g, c->dtype(), 1, deterministic_, at_start, at_start, after);
    return absl::OkStatus();
  }

 private:
  // Threads share the operand, and each has some rows.
  static void MultiplyKept(OpKernelContext& ctx, const GemmArgs& g, DataType type, const LoopOperand& b, int64_t rows,
                           const BoundEpilogue* epilogue) {
    const int64_t blocks = (g.m + rows - 1) / rows, size = DataTypeSize(type);
    const int64_t cost = blocks == 1 ? 1 : rows * g.n * g.k * kPicosecondsPerMultiply;
    ParallelRanges(ctx, blocks, cost, [&](int64_t begin, int64_t end) {
      for (int64_t first = begin * rows; first < std::min(g.m, end * rows); first += rows) {
        GemmArgs part = g;
        part.a = static_cast<const char*>(g.a) + first * g.lda * size;
        part.c = static_cast<char*>(g.c) + first * g.n * size;
        part.m = std::min(rows, g.m - first);
        b.Multiply(part);
        if (epilogue != nullptr) epilogue->ApplyToRows(part.c, part.m, g.n, g.n);
      }
    });
  }

  bool transpose_a_ = false, transpose_b_ = false, deterministic_ = false;
  bool keeps_b_ = false;  // between the iterations of a loop
  Gemm gemm_ = nullptr;
  std::optional<Epilogue> epilogue_;
};

// x and y are batches of matrices. Version 1 wants equal batch dimensions, later ones broadcast them.
class BatchMatMulKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("adj_x", &adj_x_));
    RETURN_IF_ERROR(ctx.GetAttr("adj_y", &adj_y_));
    broadcast_ = ctx.op() != "BatchMatMul";
    gemm_ = FindGemm(ctx.input_types()[0]);
    deterministic_ = IsDeterministic(ctx.node_def());
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    const Tensor& y = ctx.input(1);
    ASSIGN_OR_RETURN(const BatchMatMulSizes sizes,
                     BatchMatMulSizes::Of(x.shape(), y.shape(), adj_x_, adj_y_, broadcast_));
    GemmArgs g = Arguments(x, y, sizes.product);
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, sizes.output));
    if (output->NumElements() == 0) return absl::OkStatus();
    g.c = output->raw_data();
    if (g.k == 0) {
      std::fill_n(static_cast<char*>(g.c), output->TotalBytes(), 0);
      return absl::OkStatus();
    }
    const int64_t size = DataTypeSize(output->dtype()), batch = sizes.batches.shape.num_elements();
    const auto offset = [&](int64_t item, const DimVector& steps) {
      int64_t at = 0;
      for (int d = static_cast<int>(steps.size()) - 1; d >= 0; --d) {
        at += item % sizes.batches.sizes[d] * steps[d];
        item /= sizes.batches.sizes[d];
      }
      return at;
    };
    ParallelGemm(
        ctx, gemm_, g, output->dtype(), batch, deterministic_,
        [&](int64_t i) { return offset(i, sizes.batches.x_steps) * g.m * g.k * size; },
        [&](int64_t i) { return offset(i, sizes.batches.y_steps) * g.k * g.n * size; });
    return absl::OkStatus();
  }

 private:
  GemmArgs Arguments(const Tensor& x, const Tensor& y, const MatMulSizes& product) const {
    GemmArgs g;
    g.transpose_a = g.conjugate_a = adj_x_;
    g.transpose_b = g.conjugate_b = adj_y_;
    g.m = product.m;
    g.k = product.k;
    g.n = product.n;
    g.a = x.raw_data();
    g.lda = x.dim_size(x.dims() - 1);
    g.b = y.raw_data();
    g.ldb = y.dim_size(y.dims() - 1);
    g.ldc = g.n;
    return g;
  }

  bool adj_x_ = false, adj_y_ = false, broadcast_ = false, deterministic_ = false;
  Gemm gemm_ = nullptr;
};

}  // namespace

absl::Status RegisterMatMulKernels(KernelRegistry& kernels) {
  const DataTypeVector types = {DT_FLOAT, DT_DOUBLE, DT_HALF,      DT_BFLOAT16,  DT_INT16,
                                DT_INT32, DT_INT64,  DT_COMPLEX64, DT_COMPLEX128};
  RETURN_IF_ERROR(kernels.Register<MatMulKernel>(Kernel("MatMul").Cpu().Types("T", types)));
  RETURN_IF_ERROR(
      kernels.Register<MatMulKernel>(Kernel("_FusedMatMul").Cpu().Types("T", {DT_FLOAT, DT_HALF, DT_BFLOAT16})));
  RETURN_IF_ERROR(kernels.Register<BatchMatMulKernel>(Kernel("BatchMatMul").Cpu().Types("T", types)));
  return kernels.Register<BatchMatMulKernel>(Kernel("BatchMatMulV2").Cpu().Types("T", types));
}

}  // namespace weir
