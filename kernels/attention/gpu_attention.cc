// _FusedAttention on GPUs: by cuDNN for half and bfloat16 if it has a plan, else by the tiles of device.inc.
#include "kernels/attention/attention_attrs.h"
#include "kernels/attention/device.h"
#include "kernels/attention/family.h"
#include "kernels/attention/gpu/attention_library.h"
#include "kernels/device/gpu/body_kernel.h"

namespace weir {
namespace {

int64_t Blocks(int64_t count, int64_t size) { return (count + size - 1) / size; }

bool IsAligned(const Tensor& tensor) { return reinterpret_cast<uintptr_t>(tensor.raw_data()) % kPlanAlignment == 0; }

class FusedAttentionKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(attrs_.Read(ctx));
    int64_t num_statistics = 0;
    RETURN_IF_ERROR(ctx.GetAttr("num_statistics", &num_statistics));
    RETURN_IF_ERROR(CheckAttentionStatistics(ctx.op(), num_statistics));
    const DataType type = ctx.input_types()[0];
    ASSIGN_OR_RETURN(kernel_, FindBody("Attention", type));
    ASSIGN_OR_RETURN(fill_, FindMove("Fill", DT_FLOAT));
    if (type != DT_FLOAT) {
      ASSIGN_OR_RETURN(planner_, AttentionPlannerOf(gpu()));
    }
    return absl::OkStatus();
  }

  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor &q = ctx.input(0), &k = ctx.input(1), &v = ctx.input(2);
    const Tensor* const mask = attrs_.has_mask ? &ctx.input(3) : nullptr;
    ASSIGN_OR_RETURN(const AttentionSizes sizes,
                     AttentionSizes::Of(q.shape(), k.shape(), v.shape(), mask == nullptr ? nullptr : &mask->shape(),
                                        attrs_.transpose_k));
    ASSIGN_OR_RETURN(Tensor * out, ctx.allocate_output(0, sizes.output));
    Call call{ctx, stream, sizes, q, k, v, mask, *out};
    for (int i = 1; i < ctx.num_outputs(); ++i) {
      ASSIGN_OR_RETURN(call.statistics[i - 1], ctx.allocate_output(i, sizes.statistics));
    }
    // Its gradients are zero, whatever the statistics.
    if (out->NumElements() == 0 || sizes.keys == 0) return Clear(call);
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
    Tensor* statistics[2] = {};  // the largest score of each query and the sum of exponentials, or null
  };

  static absl::Status Clear(const Call& call) {
    for (const Tensor* tensor :
         {&call.out, static_cast<const Tensor*>(call.statistics[0]), static_cast<const Tensor*>(call.statistics[1])}) {
      if (tensor == nullptr || tensor->NumElements() == 0) continue;
      RETURN_IF_ERROR(call.stream.Fill(tensor->raw_data(), 0, static_cast<size_t>(tensor->TotalBytes())));
    }
    return absl::OkStatus();
  }

  // Returns false, with nothing enqueued, if no library supports the problem.
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
    Tensor statistics;
    if (call.statistics[0] != nullptr) {
      statistics = *call.statistics[0];
    } else {
      ASSIGN_OR_RETURN(const TensorShape rows, TensorShape::Build({plan.problem().Rows()}));
      ASSIGN_OR_RETURN(statistics, call.ctx.allocate_temp(DT_FLOAT, rows));
    }
    ASSIGN_OR_RETURN(const TensorShape bytes, TensorShape::Build({static_cast<int64_t>(plan.workspace_bytes())}));
    ASSIGN_OR_RETURN(const Tensor workspace, call.ctx.allocate_temp(DT_UINT8, bytes));
    const AttentionBuffers buffers{.q = call.q.raw_data(),
                                   .k = call.k.raw_data(),
                                   .v = call.v.raw_data(),
                                   .mask = call.mask == nullptr ? nullptr : call.mask->raw_data(),
                                   .out = call.out.raw_data(),
                                   .row_statistics = statistics.raw_data(),
                                   .scale = attrs_.scale};
    RETURN_IF_ERROR(plan.Enqueue(call.stream, buffers, workspace.raw_data()));
    if (call.statistics[1] == nullptr) return absl::OkStatus();
    // A library gives the logarithm of the sum with the largest: as if one exponential were the sum.
    const FillArgs ones{.constant = ValueOf(DT_FLOAT, 1, 1),
                        .out = call.statistics[1]->raw_data(),
                        .count = call.statistics[1]->NumElements()};
    return call.stream.LaunchWith(fill_, ones, {WriteOf(*call.statistics[1])});
  }

  absl::Status ByTiles(const Call& call) const {
    const AttentionSizes& s = call.sizes;
    AttentionArgs args{.q = call.q.raw_data(),
                       .k = call.k.raw_data(),
                       .v = call.v.raw_data(),
                       .mask = call.mask == nullptr ? nullptr : call.mask->raw_data(),
                       .out = call.out.raw_data(),
                       .largest = DataOf(call.statistics[0]),
                       .sums = DataOf(call.statistics[1]),
                       .queries = s.queries,
                       .keys = s.keys,
                       .depth = s.depth,
                       .columns = s.columns,
                       .q_row = s.q_row,
                       .k_key = s.k_key,
                       .k_depth = s.k_depth,
                       .mask_row = s.mask_row,
                       .mask_key = s.mask_key,
                       .scale = attrs_.scale,
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
    for (const Tensor* statistics : call.statistics) {
      if (statistics != nullptr) accesses.push_back(WriteOf(*statistics));
    }
    return call.stream.LaunchWith(kernel_, args, accesses);
  }
  static float* DataOf(Tensor* tensor) { return tensor == nullptr ? nullptr : static_cast<float*>(tensor->raw_data()); }

  AttentionAttrs attrs_;
  GpuKernel kernel_, fill_;
  std::shared_ptr<AttentionPlanner> planner_;  // null where no library is asked
};

}  // namespace

absl::Status RegisterGpuAttentionKernels(KernelRegistry& kernels) {
  return kernels.Register<FusedAttentionKernel>(
      Kernel("_FusedAttention").Device(kDeviceGpu).Types("T", {DT_FLOAT, DT_HALF, DT_BFLOAT16}));
}

}  // namespace weir
