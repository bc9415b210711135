#include "kernels/fusion/stepwise.h"

#include <algorithm>
#include <utility>

#include "kernels/device/gpu/body_kernel.h"
#include "kernels/device/gpu/channels.h"
#include "kernels/elementwise/gpu_elementwise.h"
#include "kernels/elementwise/gpu_select.h"

namespace weir {
namespace {

using Kind = FusedStep::Kind;

absl::StatusOr<GpuKernel> KernelOf(const FusedStep& step, DataType operand) {
  switch (step.kind) {
    case Kind::kCast:
      return FindBody("Cast", operand, step.type);
    case Kind::kSelect:
      return FindMove("Select", step.type);
    case Kind::kBias:
      return FindBody("BiasAdd", operand);
    case Kind::kAddN:
      return FindElementwise("Add", operand);
    default:
      return FindElementwise(step.op, operand);
  }
}

absl::Status LaunchElementwise(GpuStream& stream, const GpuKernel& kernel, absl::Span<const Tensor* const> operands,
                               const Tensor& out) {
  const Tensor& x = *operands[0];
  ElementwiseArgs args{.x = x.raw_data(), .out = out.raw_data(), .count = out.NumElements()};
  if (operands.size() == 1) return stream.LaunchWith(kernel, args, {ReadOf(x), WriteOf(out)});
  const Tensor& y = *operands[1];
  args.y = y.raw_data();
  const bool is_pairwise = x.NumElements() == out.NumElements() && y.NumElements() == out.NumElements();
  if (!is_pairwise) RETURN_IF_ERROR(BroadcastElementwise(x.shape(), y.shape(), &args).status());
  return stream.LaunchWith(kernel, args, {ReadOf(x), ReadOf(y), WriteOf(out)});
}

absl::Status LaunchStep(GpuStream& stream, const FusedStep& step, const GpuKernel& kernel,
                        absl::Span<const Tensor* const> operands, const Tensor& out) {
  if (out.NumElements() == 0) return absl::OkStatus();
  const Tensor& first = *operands[0];
  switch (step.kind) {
    case Kind::kCast:
      return stream.LaunchWith(kernel,
                               CastArgs{.in = first.raw_data(), .out = out.raw_data(), .count = out.NumElements()},
                               {ReadOf(first), WriteOf(out)});
    case Kind::kSelect: {
      ASSIGN_OR_RETURN(const SelectShapes shapes,
                       SelectShapes::Of(step.op, first.shape(), operands[1]->shape(), operands[2]->shape()));
      return shapes.Enqueue(stream, kernel, first, *operands[1], *operands[2], out);
    }
    case Kind::kBias: {
      const Tensor& bias = *operands[1];
      ASSIGN_OR_RETURN(const Channels view, Channels::OfBias(first.shape(), bias.shape(), step.channels_first));
      return stream.LaunchWith(kernel,
                               BiasArgs{.in = first.raw_data(),
                                        .bias = bias.raw_data(),
                                        .out = out.raw_data(),
                                        .channels = view.channels,
                                        .inner = view.inner,
                                        .count = out.NumElements()},
                               {ReadOf(first), ReadOf(bias), WriteOf(out)});
    }
    case Kind::kAddN:
      for (size_t i = 1; i < operands.size(); ++i) {
        RETURN_IF_ERROR(LaunchElementwise(stream, kernel, {i == 1 ? &first : &out, operands[i]}, out));
      }
      return absl::OkStatus();
    default:
      return LaunchElementwise(stream, kernel, operands, out);
  }
}

}  // namespace

absl::StatusOr<StepwiseRun> StepwiseRun::Of(const FusedExpression& expression) {
  StepwiseRun run(expression);
  run.last_use_.assign(expression.num_values(), -1);
  for (size_t s = 0; s < expression.steps.size(); ++s) {
    const FusedStep& step = expression.steps[s];
    ASSIGN_OR_RETURN(run.kernels_.emplace_back(), KernelOf(step, expression.type_of(step.operands[0])));
    for (const int operand : step.operands) run.last_use_[operand] = static_cast<int>(s);
  }
  return run;
}

absl::Status StepwiseRun::Enqueue(OpKernelContext& ctx, GpuStream& stream, const std::vector<TensorShape>& shapes,
                                  absl::FunctionRef<absl::StatusOr<Tensor>(int index)> allocate) const {
  const int num_inputs = static_cast<int>(expression_.inputs.size());
  std::vector<Tensor> values(expression_.num_values());
  for (int i = 0; i < num_inputs; ++i) values[i] = ctx.input(i);
  for (size_t s = 0; s < expression_.steps.size(); ++s) {
    const FusedStep& step = expression_.steps[s];
    const int value = num_inputs + static_cast<int>(s);
    const auto output = std::find(expression_.outputs.begin(), expression_.outputs.end(), value);
    if (output != expression_.outputs.end()) {
      ASSIGN_OR_RETURN(values[value], allocate(static_cast<int>(output - expression_.outputs.begin())));
    } else {
      ASSIGN_OR_RETURN(values[value], ctx.allocate_temp(step.type, shapes[value]));
    }
    std::vector<const Tensor*> operands;
    for (const int operand : step.operands) operands.push_back(&values[operand]);
    RETURN_IF_ERROR(LaunchStep(stream, step, kernels_[s], operands, values[value]));
    for (const int operand : step.operands) {
      if (last_use_[operand] == static_cast<int>(s)) values[operand] = Tensor();
    }
  }
  return absl::OkStatus();
}

}  // namespace weir
