// The kernel of fused element-wise ops.
#include <algorithm>
#include <optional>
#include <utility>

#include "core/fusion/fused_node.h"
#include "core/gpu/gpu_capture.h"
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/fusion/family.h"
#include "kernels/fusion/fused_codes.h"
#include "kernels/fusion/fused_program.h"
#include "kernels/fusion/fused_source.h"
#include "kernels/fusion/stepwise.h"

namespace weir {
namespace {

// What runs one pattern: on the simulated device the program, on CUDA the function.
struct FusedCode {
  std::shared_ptr<const FusedProgram> program;
  std::shared_ptr<const void> function;
};

class FusedElementwiseKernel : public GpuOpKernel {
 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(node_, ReadFusedNode(ctx.node_def()));
    ASSIGN_OR_RETURN(StepwiseRun stepwise, StepwiseRun::Of(expression()));
    stepwise_.emplace(std::move(stepwise));
    if (!expression().fold.empty()) {
      ASSIGN_OR_RETURN(fold_, FindBody(expression().fold, expression().type_of(expression().outputs[0])));
    }
    where_ = {.task = gpu().parsed_name().TaskName(), .device = gpu().name()};
    is_simulated_ = gpu().compute().native() == nullptr;
    ASSIGN_OR_RETURN(codes_, FusedCodesOf(gpu()));
    return absl::OkStatus();
  }

  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    std::vector<TensorShape> inputs;
    for (int i = 0; i < ctx.num_inputs(); ++i) inputs.push_back(ctx.input(i).shape());
    ASSIGN_OR_RETURN(const std::vector<TensorShape> values, ShapesOfValues(node_, where_, inputs));
    std::optional<FoldPlan> fold;
    if (!expression().fold.empty()) {
      absl::StatusOr<FoldPlan> plan =
          FoldPlan::Of(values[expression().outputs[0]], expression().axes, expression().keep_dims);
      if (!plan.ok()) return ErrorOfNode(node_, node_.names.size() - 1, where_, plan.status());
      fold = *std::move(plan);
    }
    const std::optional<FusedLayout> layout = LayoutOfFused(expression(), values, fold.has_value() ? &*fold : nullptr);
    const std::optional<FusedCode> code = layout.has_value() ? FindCode(layout->pattern) : std::nullopt;
    const bool folds_behind = fold.has_value() && !(code.has_value() && layout->pattern.folds);
    std::vector<Tensor> outputs(expression().outputs.size());
    const auto allocate = [&](int index, const TensorShape& shape) -> absl::StatusOr<Tensor> {
      if (folds_behind) {
        ASSIGN_OR_RETURN(outputs[index], ctx.allocate_temp(expression().type_of(expression().outputs[index]), shape));
      } else {
        ASSIGN_OR_RETURN(const Tensor* output, ctx.allocate_output(index, shape));
        outputs[index] = *output;
      }
      return outputs[index];
    };
    if (code.has_value()) {
      ++codes_->stats().fused;
      RETURN_IF_ERROR(Launch(ctx, stream, *layout, *code, folds_behind, allocate));
    } else {
      ++codes_->stats().stepwise;
      RETURN_IF_ERROR(stepwise_->Enqueue(
          ctx, stream, values, [&](int index) { return allocate(index, values[expression().outputs[index]]); }));
    }
    if (!folds_behind) return absl::OkStatus();
    ASSIGN_OR_RETURN(const Tensor* folded, ctx.allocate_output(0, fold->shape));
    return fold->Enqueue(stream, fold_, outputs[0], *folded);
  }

 private:
  using Allocate = absl::FunctionRef<absl::StatusOr<Tensor>(int index, const TensorShape& shape)>;
  // Beyond, nodes whose shapes change all the time begin anew.
  static constexpr size_t kMostPatterns = 64;

  const FusedExpression& expression() const { return node_.expression; }

  // nullopt: there is none, or not yet. Nothing is compiled while a capture holds the device.
  std::optional<FusedCode> FindCode(const FusedPattern& pattern) {
    const std::string key = pattern.Key();
    {
      MutexLock lock(mu_);
      if (const auto known = patterns_.find(key); known != patterns_.end()) return known->second;
    }
    FusedCode code;
    if (is_simulated_) {
      code.program = std::make_shared<FusedProgram>(expression(), pattern);
    } else {
      code.function =
          codes_->Find(SourceOfFused(expression(), pattern), /*may_compile=*/GpuCapture::Current() == nullptr);
      if (code.function == nullptr) return std::nullopt;
    }
    MutexLock lock(mu_);
    if (patterns_.size() >= kMostPatterns) patterns_.clear();
    return patterns_.try_emplace(key, std::move(code)).first->second;
  }

  // The first input whose buffer `output` may reuse: it has no other holder, and each element is read where it is
  // overwritten.
  std::optional<Tensor> TakeInput(OpKernelContext& ctx, const FusedPattern& pattern, int output,
                                  const TensorShape& shape) const {
    using Access = FusedPattern::Access;
    const size_t num_inputs = expression().inputs.size();
    if (pattern.folds || pattern.accesses[num_inputs + output] != Access::kDense) return std::nullopt;
    const DataType type = expression().type_of(expression().outputs[output]);
    for (size_t i = 0; i < num_inputs; ++i) {
      if (pattern.accesses[i] != Access::kDense || expression().inputs[i] != type) continue;
      if (std::optional<Tensor> taken = ctx.forward_input(static_cast<int>(i), type, shape)) return taken;
    }
    return std::nullopt;
  }

  absl::Status Launch(OpKernelContext& ctx, GpuStream& stream, const FusedLayout& layout, const FusedCode& code,
                      bool folds_behind, Allocate allocate) const {
    FusedArgs args = layout.args;
    args.program = code.program.get();
    args.function = code.function.get();
    std::vector<GpuAccess> accesses;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      args.inputs[i] = ctx.input(i).raw_data();
      accesses.push_back(ReadOf(ctx.input(i)));
    }
    for (size_t i = 0; i < layout.outputs.size(); ++i) {
      const int index = static_cast<int>(i);
      std::optional<Tensor> output;
      if (!folds_behind) output = TakeInput(ctx, layout.pattern, index, layout.outputs[i]);
      if (output.has_value()) {
        ctx.set_output(index, *output);
      } else {
        ASSIGN_OR_RETURN(output, allocate(index, layout.outputs[i]));
      }
      args.outputs[i] = output->raw_data();
      accesses.push_back(WriteOf(*output));
    }
    if (GpuCapture* const capture = GpuCapture::Current()) {
      capture->Keep(code.program);
      capture->Keep(code.function);
    }
    return stream.LaunchWith(
        {.name = "FusedElementwise", .launch = CudaFusedLaunch(), .simulate = &FusedProgram::Simulate}, args, accesses);
  }

  FusedNode node_;
  ErrorOrigin where_;
  std::optional<StepwiseRun> stepwise_;
  GpuKernel fold_;
  bool is_simulated_ = false;
  std::shared_ptr<FusedCodes> codes_;
  Mutex mu_;
  absl::flat_hash_map<std::string, FusedCode> patterns_ GUARDED_BY(mu_);
};

}  // namespace

absl::Status RegisterGpuFusedKernels(KernelRegistry& kernels) {
  return kernels.Register<FusedElementwiseKernel>(Kernel(kFusedElementwiseOp).Device(kDeviceGpu));
}

}  // namespace weir
