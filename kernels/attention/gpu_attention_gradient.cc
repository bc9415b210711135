// _FusedAttentionGrad on GPUs: by cuDNN for half and bfloat16 if it has a plan, else by the tiles of
// device_gradient.inc, one pass for each of queries, keys and values.
#include <algorithm>

#include "kernels/attention/attention_attrs.h"
#include "kernels/attention/device_gradient.h"
#include "kernels/attention/family.h"
#include "kernels/attention/gpu/attention_library.h"
#include "kernels/device/gpu/body_kernel.h"

namespace weir {
namespace {

int64_t GradientBlocks(int64_t count, int64_t size) { return (count + size - 1) / size; }

class FusedAttentionGradKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(attrs_.Read(ctx));
    RETURN_IF_ERROR(ctx.GetAttr("sums_weights", &sums_weights_));
    RETURN_IF_ERROR(ctx.GetAttr("sums_scores", &sums_scores_));
    const DataType type = ctx.input_types()[0];
    ASSIGN_OR_RETURN(dots_, FindBody("AttentionDots", type));
    ASSIGN_OR_RETURN(log_sums_, FindBody("AttentionLogSums", DT_FLOAT));
    if (type != DT_FLOAT) {
      ASSIGN_OR_RETURN(planner_, AttentionPlannerOf(gpu()));
    }
    const char* const names[] = {"AttentionGradientOfQueries", "AttentionGradientOfKeys", "AttentionGradientOfValues"};
    for (int i = 0; i < 3; ++i) {
      ASSIGN_OR_RETURN(kernels_[i], FindBody(names[i], type));
    }
    return absl::OkStatus();
  }

  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    ASSIGN_OR_RETURN(const AttentionGradientSizes sizes,
                     AttentionGradientSizes::Of(ShapesOfAttentionGradient(ctx, attrs_), attrs_.transpose_k,
                                                sums_weights_, sums_scores_));
    const TensorShape* const shapes[] = {&sizes.dq, &sizes.dk, &sizes.dv};
    Call call{ctx, stream, sizes};
    for (int i = 0; i < 3; ++i) {
      ASSIGN_OR_RETURN(call.out[i], ctx.allocate_output(i, *shapes[i]));
    }
    if (sizes.forward.output.num_elements() == 0 || sizes.forward.keys == 0) return Clear(call);
    ASSIGN_OR_RETURN(const bool is_done, ByLibrary(call));
    return is_done ? absl::OkStatus() : ByTiles(call);
  }

  // Of a node; inputs by their names.
  struct Call {
    OpKernelContext& ctx;
    GpuStream& stream;
    const AttentionGradientSizes& sizes;
    Tensor* out[3] = {};
  };
  const Tensor& Behind(const Call& call, int i) const { return call.ctx.input(i + (attrs_.has_mask ? 4 : 3)); }
  const Tensor& OutputOf(const Call& call) const { return Behind(call, 0); }
  const Tensor& LargestOf(const Call& call) const { return Behind(call, 1); }
  const Tensor& SumsOf(const Call& call) const { return Behind(call, 2); }
  const Tensor& GradientOf(const Call& call) const { return Behind(call, 3); }

  static absl::Status Clear(const Call& call) {
    for (const Tensor* out : call.out) {
      if (out->NumElements() == 0) continue;
      RETURN_IF_ERROR(call.stream.Fill(out->raw_data(), 0, static_cast<size_t>(out->TotalBytes())));
    }
    return absl::OkStatus();
  }

  // Returns false, with nothing enqueued, if no library supports the problem.
  absl::StatusOr<bool> ByLibrary(const Call& call) const {
    if (planner_ == nullptr || call.sizes.forward.depth == 0) return false;
    auto problem = ProblemOf(call.sizes.forward, call.ctx.input(0).dtype(), attrs_.has_mask);
    if (!problem.has_value() || !AreAligned(call)) return false;
    problem->is_gradient = true;
    return planner_->Run(*problem, call.stream, [&](AttentionPlan& plan) { return Run(call, plan); });
  }
  static bool AreAligned(const Call& call) {
    const auto is_aligned = [](const Tensor& tensor) {
      return reinterpret_cast<uintptr_t>(tensor.raw_data()) % kPlanAlignment == 0;
    };
    for (int i = 0; i < call.ctx.num_inputs(); ++i) {
      if (!is_aligned(call.ctx.input(i))) return false;
    }
    return std::all_of(std::begin(call.out), std::end(call.out), [&](const Tensor* out) { return is_aligned(*out); });
  }
  absl::Status Run(const Call& call, AttentionPlan& plan) const {
    const Tensor &largest = LargestOf(call), &sums = SumsOf(call);
    ASSIGN_OR_RETURN(const Tensor statistics, call.ctx.allocate_temp(DT_FLOAT, largest.shape()));
    const AttentionLogSumsArgs args{.largest = static_cast<const float*>(largest.raw_data()),
                                    .sums = static_cast<const float*>(sums.raw_data()),
                                    .out = static_cast<float*>(statistics.raw_data()),
                                    .count = largest.NumElements()};
    RETURN_IF_ERROR(call.stream.LaunchWith(log_sums_, args, {ReadOf(largest), ReadOf(sums), WriteOf(statistics)}));
    ASSIGN_OR_RETURN(const TensorShape bytes, TensorShape::Build({static_cast<int64_t>(plan.workspace_bytes())}));
    ASSIGN_OR_RETURN(const Tensor workspace, call.ctx.allocate_temp(DT_UINT8, bytes));
    ASSIGN_OR_RETURN(const Tensor dots, call.ctx.allocate_temp(DT_FLOAT, largest.shape()));
    ASSIGN_OR_RETURN(const Tensor queries_sum, call.ctx.allocate_temp(DT_FLOAT, call.out[0]->shape()));
    const AttentionBuffers buffers{.q = call.ctx.input(0).raw_data(),
                                   .k = call.ctx.input(1).raw_data(),
                                   .v = call.ctx.input(2).raw_data(),
                                   .mask = attrs_.has_mask ? call.ctx.input(3).raw_data() : nullptr,
                                   .out = OutputOf(call).raw_data(),
                                   .row_statistics = statistics.raw_data(),
                                   .scale = attrs_.scale,
                                   .gradient = GradientOf(call).raw_data(),
                                   .dq = call.out[0]->raw_data(),
                                   .dk = call.out[1]->raw_data(),
                                   .dv = call.out[2]->raw_data(),
                                   .dots = dots.raw_data(),
                                   .queries_sum = queries_sum.raw_data()};
    return plan.Enqueue(call.stream, buffers, workspace.raw_data());
  }

  absl::Status ByTiles(const Call& call) const {
    ASSIGN_OR_RETURN(const Tensor dots, call.ctx.allocate_temp(DT_FLOAT, call.sizes.forward.statistics));
    const Tensor &output = OutputOf(call), &gradient = GradientOf(call);
    const AttentionDotsArgs args{.a = output.raw_data(),
                                 .b = gradient.raw_data(),
                                 .dots = static_cast<float*>(dots.raw_data()),
                                 .columns = call.sizes.forward.columns,
                                 .count = dots.NumElements()};
    RETURN_IF_ERROR(call.stream.LaunchWith(dots_, args, {ReadOf(output), ReadOf(gradient), WriteOf(dots)}));
    ASSIGN_OR_RETURN(const AttentionGradientArgs common, CommonArgs(call, dots));
    ASSIGN_OR_RETURN(const Operands operands, OperandsOf(call));
    RETURN_IF_ERROR(Queries(call, dots, common, operands));
    RETURN_IF_ERROR(Keys(call, dots, common, operands));
    return Values(call, dots, common, operands);
  }

  struct Operands {
    AttentionOperand q, k, v, gradient;
    StridedLayout q_batch, k_batch;
  };
  absl::StatusOr<Operands> OperandsOf(const Call& call) const {
    const AttentionSizes& s = call.sizes.forward;
    Operands o{.q = {call.ctx.input(0).raw_data(), s.q_row, 1},
               .k = {call.ctx.input(1).raw_data(), s.k_key, s.k_depth},
               .v = {call.ctx.input(2).raw_data(), s.columns, 1},
               .gradient = {GradientOf(call).raw_data(), s.columns, 1}};
    ASSIGN_OR_RETURN(o.q_batch, LayoutOf(s.batch, s.q_batch));
    ASSIGN_OR_RETURN(o.k_batch, LayoutOf(s.batch, s.k_batch));
    return o;
  }
  static absl::StatusOr<ItemLayout> ItemLayoutOf(absl::Span<const int64_t> sizes, absl::Span<const int64_t> steps) {
    ASSIGN_OR_RETURN(const StridedLayout layout, LayoutOf(sizes, steps));
    if (layout.rank > kMaxItemRank) {
      return errors::Unimplemented("There is no GPU kernel for the gradient of an attention that is broadcast along ",
                                   layout.rank, " dimensions that cannot be joined: at most ", kMaxItemRank);
    }
    ItemLayout items{.rank = layout.rank};
    std::copy_n(layout.sizes, kMaxItemRank, items.sizes);
    std::copy_n(layout.steps, kMaxItemRank, items.steps);
    return items;
  }
  static int64_t MultiplyAll(const DimVector& sizes) {
    int64_t product = 1;
    for (const int64_t size : sizes) product *= size;
    return product;
  }

  absl::StatusOr<AttentionGradientArgs> CommonArgs(const Call& call, const Tensor& dots) const {
    const AttentionSizes& s = call.sizes.forward;
    AttentionGradientArgs args{.mask = attrs_.has_mask ? call.ctx.input(3).raw_data() : nullptr,
                               .largest = static_cast<const float*>(LargestOf(call).raw_data()),
                               .sums = static_cast<const float*>(SumsOf(call).raw_data()),
                               .dots = static_cast<const float*>(dots.raw_data()),
                               .num_summed = 1,
                               .repeats = 1,
                               .depth = s.depth,
                               .columns = s.columns,
                               .queries = s.queries,
                               .scale = attrs_.scale};
    ASSIGN_OR_RETURN(args.value_batch, LayoutOf(s.batch, s.v_batch));
    ASSIGN_OR_RETURN(args.mask_batch, LayoutOf(s.batch, s.mask_batch));
    return args;
  }
  // The items that add to each of dq and dk.
  static absl::Status SetItems(const Call& call, AttentionGradientArgs* args) {
    const DimVector &batch = call.sizes.forward.batch, &own = call.sizes.batch;
    DimVector summed_sizes, summed_steps, steps(batch.size(), 0);
    int64_t step = 1;
    for (int d = static_cast<int>(batch.size()) - 1; d >= 0; --d) {
      steps[d] = step;
      if (own[d] != batch[d]) {
        summed_sizes.insert(summed_sizes.begin(), batch[d]);
        summed_steps.insert(summed_steps.begin(), step);
      }
      step *= batch[d];
    }
    ASSIGN_OR_RETURN(args->kept, ItemLayoutOf(own, steps));
    ASSIGN_OR_RETURN(args->summed, ItemLayoutOf(summed_sizes, summed_steps));
    args->num_summed = MultiplyAll(summed_sizes);
    return absl::OkStatus();
  }

  absl::Status Queries(const Call& call, const Tensor& dots, AttentionGradientArgs args, const Operands& o) const {
    const AttentionSizes& s = call.sizes.forward;
    args.own = o.q;
    args.other = o.k;
    args.own_batch = o.q_batch;
    args.other_batch = o.k_batch;
    args.own_value = o.gradient;
    args.other_value = o.v;
    args.mask_own = s.mask_row;
    args.mask_other = s.mask_key;
    args.own_rows = call.sizes.queries;
    args.repeats = s.queries / call.sizes.queries;
    args.other_rows = s.keys;
    args.width = s.depth;
    args.out_item = call.sizes.queries * s.depth;
    args.out_row = s.depth;
    args.out_column = 1;
    RETURN_IF_ERROR(SetItems(call, &args));
    return Launch(call, 0, dots, call.sizes.num_items(), args);
  }
  absl::Status Keys(const Call& call, const Tensor& dots, AttentionGradientArgs args, const Operands& o) const {
    const AttentionSizes& s = call.sizes.forward;
    args.own = o.k;
    args.other = o.q;
    args.own_batch = o.k_batch;
    args.other_batch = o.q_batch;
    args.own_value = o.v;
    args.other_value = o.gradient;
    args.mask_own = s.mask_key;
    args.mask_other = s.mask_row;
    args.own_rows = call.sizes.keys;
    args.repeats = s.keys / call.sizes.keys;
    args.other_rows = s.queries;
    args.width = s.depth;
    args.out_item = call.sizes.keys * s.depth;
    args.out_row = attrs_.transpose_k ? s.depth : 1;
    args.out_column = attrs_.transpose_k ? 1 : call.sizes.keys;
    RETURN_IF_ERROR(SetItems(call, &args));
    return Launch(call, 1, dots, call.sizes.num_items(), args);
  }
  absl::Status Values(const Call& call, const Tensor& dots, AttentionGradientArgs args, const Operands& o) const {
    const AttentionSizes& s = call.sizes.forward;
    args.own = o.k;
    args.other = o.q;
    args.own_batch = o.k_batch;
    args.other_batch = o.q_batch;
    args.other_value = o.gradient;
    args.mask_own = s.mask_key;
    args.mask_other = s.mask_row;
    args.own_rows = s.keys;
    args.other_rows = s.queries;
    args.width = s.columns;
    args.out_item = s.keys * s.columns;
    args.out_row = s.columns;
    args.out_column = 1;
    const int64_t items = MultiplyAll(s.batch), all[] = {items}, one[] = {1};
    ASSIGN_OR_RETURN(args.kept, ItemLayoutOf(all, one));
    return Launch(call, 2, dots, items, args);
  }

  absl::Status Launch(const Call& call, int result, const Tensor& dots, int64_t items,
                      AttentionGradientArgs args) const {
    const Tensor& out = *call.out[result];
    if (out.NumElements() == 0) return absl::OkStatus();
    args.out = out.raw_data();
    args.row_blocks = GradientBlocks(args.own_rows, kAttentionGradientRows);
    args.column_blocks = GradientBlocks(args.width, kAttentionGradientColumns);
    args.count = items * args.row_blocks * args.column_blocks;
    std::vector<GpuAccess> accesses = {WriteOf(out), ReadOf(dots)};
    for (int i = 0; i < call.ctx.num_inputs(); ++i) {
      const bool is_output = &call.ctx.input(i) == &OutputOf(call);
      if (!is_output && call.ctx.input(i).NumElements() > 0) accesses.push_back(ReadOf(call.ctx.input(i)));
    }
    return call.stream.LaunchWith(kernels_[result], args, accesses);
  }

  AttentionAttrs attrs_;
  bool sums_weights_ = false, sums_scores_ = false;
  GpuKernel dots_, log_sums_, kernels_[3];
  std::shared_ptr<AttentionPlanner> planner_;  // null where no library is asked
};

}  // namespace

absl::Status RegisterGpuAttentionGradientKernels(KernelRegistry& kernels) {
  return kernels.Register<FusedAttentionGradKernel>(
      Kernel("_FusedAttentionGrad").Device(kDeviceGpu).Types("T", {DT_FLOAT, DT_HALF, DT_BFLOAT16}));
}

}  // namespace weir
