// _FusedAttention: by a library for half and bfloat16 where it has a plan, and by tiles of its own.
#include "kernels/cuda/attention/attention_library.h"
#include "kernels/cuda/attention_bodies.h"
#include "kernels/cuda/body_kernel.h"
#include "kernels/cuda/families.h"

namespace weir {
namespace {

int64_t Blocks(int64_t count, int64_t size) { return (count + size - 1) / size; }

bool IsAligned(const Tensor& tensor) { return reinterpret_cast<uintptr_t>(tensor.raw_data()) % kPlanAlignment == 0; }

class FusedAttentionKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    int64_t num_masks = 0;
    RETURN_IF_ERROR(ctx.GetAttr("num_masks", &num_masks));
    if (num_masks > 1) return errors::InvalidArgument(ctx.op(), " adds at most one mask, not ", num_masks);
    RETURN_IF_ERROR(ctx.GetAttr("scale", &scale_));
    RETURN_IF_ERROR(ctx.GetAttr("transpose_k", &transpose_k_));
    const DataType type = ctx.input_types()[0];
    ASSIGN_OR_RETURN(kernel_, FindBody("Attention", type));
    if (type != DT_FLOAT) {
      ASSIGN_OR_RETURN(planner_, AttentionPlannerOf(gpu()));
    }
    return absl::OkStatus();
  }

  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor &q = ctx.input(0), &k = ctx.input(1), &v = ctx.input(2);
    const Tensor* const mask = ctx.num_inputs() > 3 ? &ctx.input(3) : nullptr;
    ASSIGN_OR_RETURN(
        const AttentionSizes sizes,
        AttentionSizes::Of(q.shape(), k.shape(), v.shape(), mask == nullptr ? nullptr : &mask->shape(), transpose_k_));
    ASSIGN_OR_RETURN(Tensor * out, ctx.allocate_output(0, sizes.output));
    if (out->NumElements() == 0) return absl::OkStatus();
    if (sizes.keys == 0) return stream.Fill(out->raw_data(), 0, static_cast<size_t>(out->TotalBytes()));
    const Call call{ctx, stream, sizes, q, k, v, mask, *out};
    ASSIGN_OR_RETURN(const bool is_done, ByLibrary(call));
    return is_done ? absl::OkStatus() : ByTiles(call);
  }

  struct Call {
    OpKernelContext& ctx;
    GpuStream& stream;
    const AttentionSizes& sizes;
    const Tensor &q, &k, &v;
    const Tensor* mask;
    const Tensor& out;
  };

  // False: no library computes it, and nothing was enqueued.
  absl::StatusOr<bool> ByLibrary(const Call& call) const {
    if (planner_ == nullptr || call.sizes.depth == 0) return false;
    const auto problem = ProblemOf(call.sizes, call.q.dtype(), call.mask != nullptr);
    if (!problem.has_value() || !IsAligned(call.q) || !IsAligned(call.k) || !IsAligned(call.v) ||
        !IsAligned(call.out) || (call.mask != nullptr && !IsAligned(*call.mask))) {
      return false;
    }
    return planner_->Run(*problem, call.stream, [&](AttentionPlan& plan) { return Run(call, plan); });
  }

  absl::Status Run(const Call& call, AttentionPlan& plan) const {
    ASSIGN_OR_RETURN(const TensorShape rows, TensorShape::Build({plan.problem().Rows()}));
    ASSIGN_OR_RETURN(const Tensor statistics, call.ctx.allocate_temp(DT_FLOAT, rows));
    ASSIGN_OR_RETURN(const TensorShape bytes, TensorShape::Build({static_cast<int64_t>(plan.workspace_bytes())}));
    ASSIGN_OR_RETURN(const Tensor workspace, call.ctx.allocate_temp(DT_UINT8, bytes));
    const AttentionBuffers buffers{.q = call.q.raw_data(),
                                   .k = call.k.raw_data(),
                                   .v = call.v.raw_data(),
                                   .mask = call.mask == nullptr ? nullptr : call.mask->raw_data(),
                                   .out = call.out.raw_data(),
                                   .row_statistics = statistics.raw_data(),
                                   .scale = scale_};
    return plan.Enqueue(call.stream, buffers, workspace.raw_data());
  }

  absl::Status ByTiles(const Call& call) const {
    const AttentionSizes& s = call.sizes;
    AttentionArgs args{.q = call.q.raw_data(),
                       .k = call.k.raw_data(),
                       .v = call.v.raw_data(),
                       .mask = call.mask == nullptr ? nullptr : call.mask->raw_data(),
                       .out = call.out.raw_data(),
                       .queries = s.queries,
                       .keys = s.keys,
                       .depth = s.depth,
                       .columns = s.columns,
                       .q_row = s.q_row,
                       .k_key = s.k_key,
                       .k_depth = s.k_depth,
                       .mask_row = s.mask_row,
                       .mask_key = s.mask_key,
                       .scale = scale_,
                       .row_blocks = Blocks(s.queries, kAttentionRows),
                       .column_blocks = Blocks(s.columns, kAttentionColumns)};
    ASSIGN_OR_RETURN(args.q_batch, LayoutOf(s.batch, s.q_batch));
    ASSIGN_OR_RETURN(args.k_batch, LayoutOf(s.batch, s.k_batch));
    ASSIGN_OR_RETURN(args.v_batch, LayoutOf(s.batch, s.v_batch));
    ASSIGN_OR_RETURN(args.mask_batch, LayoutOf(s.batch, s.mask_batch));
    args.count = args.row_blocks * args.column_blocks;
    for (const int64_t size : s.batch) args.count *= size;
    std::vector<GpuAccess> accesses = {ReadOf(call.q), ReadOf(call.k), ReadOf(call.v), WriteOf(call.out)};
    if (call.mask != nullptr) accesses.push_back(ReadOf(*call.mask));
    return call.stream.LaunchWith(kernel_, args, accesses);
  }

  float scale_ = 1;
  bool transpose_k_ = false;
  GpuKernel kernel_;
  std::shared_ptr<AttentionPlanner> planner_;  // null where no library is asked
};

}  // namespace

absl::Status RegisterGpuAttentionKernels(KernelRegistry& kernels) {
  return kernels.Register<FusedAttentionKernel>(
      Kernel("_FusedAttention").Device(kDeviceGpu).Types("T", {DT_FLOAT, DT_HALF, DT_BFLOAT16}));
}

}  // namespace weir
