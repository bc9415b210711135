#include "kernels/fusion/fused_layout.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "kernels/device/broadcast_steps.h"
#include "kernels/device/dense_steps.h"
#include "kernels/device/gpu/channels.h"
#include "kernels/elementwise/args_broadcast.h"
#include "kernels/elementwise/args_pairwise.h"
#include "kernels/elementwise/gpu_elementwise.h"
#include "kernels/elementwise/gpu_select.h"

namespace weir {
namespace {

using Kind = FusedStep::Kind;

// A block reduces for one result. Fewer results of more elements than this are left to two kernels.
constexpr int64_t kFewResults = 64, kManyElements = int64_t{1} << 16;

absl::StatusOr<TensorShape> ShapeOfStep(const FusedStep& step, absl::string_view name,
                                        absl::Span<const TensorShape> operands) {
  switch (step.kind) {
    case Kind::kCast:
      return operands[0];
    case Kind::kBias:
      RETURN_IF_ERROR(Channels::OfBias(operands[0], operands[1], step.channels_first).status());
      return operands[0];
    case Kind::kAddN:
      RETURN_IF_ERROR(CheckAddends(name, operands));
      return operands[0];
    case Kind::kSelect: {
      ASSIGN_OR_RETURN(const SelectShapes shapes, SelectShapes::Of(step.op, operands[0], operands[1], operands[2]));
      return shapes.output;
    }
    case Kind::kScalar:
      break;
  }
  if (operands.size() == 1) return operands[0];
  switch (FindScalarOp(step.op)->rule) {
    case ScalarRule::kPairwise:
      RETURN_IF_ERROR(CheckPairwise(operands[0], operands[1]));
      return operands[0];
    case ScalarRule::kSameShape:
      RETURN_IF_ERROR(CheckSameShape(name, step.op, operands[0], operands[1]));
      return operands[0];
    default:
      break;
  }
  ASSIGN_OR_RETURN(const Broadcasting broadcasting, Broadcasting::Of(operands[0], operands[1]));
  return broadcasting.shape;
}

// Whether each element of the step is made of the operands' elements at its place, which broadcasting finds.
bool IsByPlace(const FusedStep& step, absl::Span<const TensorShape> operands) {
  if (step.kind == Kind::kSelect && step.op == "Select") return operands[0].IsScalar() || operands[0] == operands[1];
  if (step.kind == Kind::kScalar && FindScalarOp(step.op)->rule == ScalarRule::kPairwise) {
    return operands[0] == operands[1];
  }
  return true;
}

std::vector<TensorShape> ShapesOf(const FusedStep& step, const std::vector<TensorShape>& values) {
  std::vector<TensorShape> shapes;
  for (const int operand : step.operands) shapes.push_back(values[operand]);
  return shapes;
}

// The shape that the outputs have, or can be broadcast to; nullopt where there is none among them.
std::optional<TensorShape> LargestOutput(const FusedExpression& expression, const std::vector<TensorShape>& values) {
  TensorShape all = values[expression.outputs[0]];
  for (const int output : expression.outputs) {
    const absl::StatusOr<Broadcasting> both = Broadcasting::Of(all, values[output]);
    if (!both.ok()) return std::nullopt;
    all = both->shape;
  }
  const bool is_one = std::any_of(expression.outputs.begin(), expression.outputs.end(),
                                  [&](int output) { return values[output] == all; });
  if (!is_one) return std::nullopt;
  return all;
}

// Biases lie along channels, everything else as broadcasting has it.
std::vector<TensorShape> ViewsOfInputs(const FusedExpression& expression, const std::vector<TensorShape>& values) {
  std::vector<TensorShape> views(values.begin(), values.begin() + static_cast<ptrdiff_t>(expression.inputs.size()));
  for (const FusedStep& step : expression.steps) {
    if (step.kind != Kind::kBias || !step.channels_first) continue;
    DimVector dims(values[step.operands[0]].dims() - 1, 1);
    dims[0] = values[step.operands[1]].dim_size(0);
    views[step.operands[1]] = TensorShape(absl::MakeConstSpan(dims));
  }
  return views;
}

// Leaves out dimensions of one element, and joins those that are contiguous in every tensor.
void Collapse(const TensorShape& shape, const std::vector<DimVector>& steps, DimVector* sizes,
              std::vector<DimVector>* collapsed) {
  collapsed->resize(steps.size());
  for (int d = 0; d < shape.dims(); ++d) {
    const int64_t size = shape.dim_size(d);
    if (size == 1) continue;
    bool joins = !sizes->empty();
    for (size_t i = 0; i < steps.size(); ++i) joins = joins && (*collapsed)[i].back() == steps[i][d] * size;
    if (joins) {
      sizes->back() *= size;
    } else {
      sizes->push_back(size);
    }
    for (size_t i = 0; i < steps.size(); ++i) {
      if (!joins) (*collapsed)[i].push_back(0);
      (*collapsed)[i].back() = steps[i][d];
    }
  }
}

FusedPattern::Access AccessOf(const DimVector& steps, const DimVector& dense) {
  if (steps == dense) return FusedPattern::Access::kDense;
  const bool is_scalar = std::all_of(steps.begin(), steps.end(), [](int64_t step) { return step == 0; });
  return is_scalar ? FusedPattern::Access::kScalar : FusedPattern::Access::kBroadcast;
}

// Pattern and arguments, for tensors with these steps along `sizes`.
void Fill(const FusedExpression& expression, const DimVector& sizes, const std::vector<DimVector>& steps,
          FusedLayout* layout) {
  FusedPattern& pattern = layout->pattern;
  const DimVector dense = DenseSteps(sizes);
  for (size_t i = 0; i < steps.size(); ++i) {
    FusedPattern::Access access = AccessOf(steps[i], dense);
    const size_t output = i - expression.inputs.size();
    if (output < expression.outputs.size()) {
      unsigned missing = 0;
      for (size_t d = 0; d < sizes.size(); ++d) missing |= steps[i][d] == 0 ? 1U << d : 0;
      pattern.missing.push_back(missing);
      if (missing != 0) access = FusedPattern::Access::kBroadcast;
    }
    pattern.accesses.push_back(access);
    if (access == FusedPattern::Access::kBroadcast) pattern.rank = static_cast<int>(sizes.size());
    const size_t row = output < expression.outputs.size() ? FusedExpression::kMostInputs + output : i;
    std::copy(steps[i].begin(), steps[i].end(), layout->args.steps[row]);
  }
  std::copy(sizes.begin(), sizes.end(), layout->args.sizes);
}

}  // namespace

absl::Status ErrorOfNode(const FusedNode& node, size_t which, const ErrorOrigin& where, const absl::Status& error) {
  const std::vector<FusedStep>& steps = node.expression.steps;
  ErrorOrigin origin = where;
  origin.node = node.names[which];
  origin.op = which < steps.size() ? steps[which].op : node.expression.fold;
  return WithOrigin(absl::Status(error.code(), absl::StrCat(error.message(), "\n\t [[{{node ", origin.node, "}}]]")),
                    origin);
}

absl::StatusOr<std::vector<TensorShape>> ShapesOfValues(const FusedNode& node, const ErrorOrigin& where,
                                                        absl::Span<const TensorShape> inputs) {
  std::vector<TensorShape> values(inputs.begin(), inputs.end());
  for (size_t i = 0; i < node.expression.steps.size(); ++i) {
    const FusedStep& step = node.expression.steps[i];
    absl::StatusOr<TensorShape> shape = ShapeOfStep(step, node.names[i], ShapesOf(step, values));
    if (!shape.ok()) return ErrorOfNode(node, i, where, shape.status());
    values.push_back(*std::move(shape));
  }
  return values;
}

std::string FusedPattern::Key() const {
  std::string key = absl::StrCat("r", rank, wide ? "w" : "n", folds ? "f" : "e", "_");
  for (const Access access : accesses) key.push_back(static_cast<char>(access));
  return absl::StrCat(key, "_", absl::StrJoin(missing, "."));
}

std::optional<FusedLayout> LayoutOfFused(const FusedExpression& expression, const std::vector<TensorShape>& values,
                                         const FoldPlan* fold) {
  for (const FusedStep& step : expression.steps) {
    if (!IsByPlace(step, ShapesOf(step, values))) return std::nullopt;
  }
  const std::optional<TensorShape> shape = LargestOutput(expression, values);
  if (!shape.has_value() || shape->num_elements() == 0) return std::nullopt;

  std::vector<TensorShape> tensors = ViewsOfInputs(expression, values);
  FusedLayout layout;
  for (const int output : expression.outputs) {
    layout.outputs.push_back(values[output]);
    tensors.push_back(values[output]);
  }
  std::vector<DimVector> steps, collapsed;
  for (const TensorShape& tensor : tensors) {
    absl::StatusOr<DimVector> of = BroadcastSteps(tensor, *shape);
    if (!of.ok()) return std::nullopt;
    steps.push_back(*std::move(of));
  }
  DimVector sizes;
  Collapse(*shape, steps, &sizes, &collapsed);
  if (sizes.size() > kMaxFusedRank) return std::nullopt;
  Fill(expression, sizes, collapsed, &layout);

  layout.pattern.wide = shape->num_elements() > INT32_MAX;
  layout.args.count = shape->num_elements();
  layout.args.length = 1;
  if (fold == nullptr || !fold->is_trailing || fold->args.length == 1) return layout;
  if (fold->args.count < kFewResults && shape->num_elements() > kManyElements) return layout;
  layout.pattern.folds = true;
  layout.args.count = fold->args.count;
  layout.args.length = fold->args.length;
  layout.outputs = {fold->shape};
  return layout;
}

}  // namespace weir
