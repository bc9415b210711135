#include "kernels/fusion/fused_program.h"

#include <cmath>
#include <limits>
#include <utility>

#include "core/tensor/numeric_types.h"
#include "kernels/fusion/scalar_code.h"

namespace weir {
namespace {

using Access = FusedPattern::Access;
constexpr int kMostValues = FusedExpression::kMostInputs + FusedExpression::kMostSteps;

FusedValue Load(DataType type, const void* data, int64_t i) {
  FusedValue value = {};
  switch (type) {
    case DT_FLOAT:
      value.f = static_cast<const float*>(data)[i];
      break;
    case DT_DOUBLE:
      value.d = static_cast<const double*>(data)[i];
      break;
    case DT_HALF:
      value.f = static_cast<float>(static_cast<const half*>(data)[i]);
      break;
    case DT_BFLOAT16:
      value.f = static_cast<float>(static_cast<const bfloat16*>(data)[i]);
      break;
    case DT_INT32:
      value.i32 = static_cast<const int32_t*>(data)[i];
      break;
    case DT_INT64:
      value.i64 = static_cast<const int64_t*>(data)[i];
      break;
    default:
      value.b = static_cast<const bool*>(data)[i];
  }
  return value;
}

void StoreAt(DataType type, void* data, int64_t i, FusedValue value) {
  switch (type) {
    case DT_FLOAT:
      static_cast<float*>(data)[i] = value.f;
      break;
    case DT_DOUBLE:
      static_cast<double*>(data)[i] = value.d;
      break;
    case DT_HALF:
      static_cast<half*>(data)[i] = static_cast<half>(value.f);
      break;
    case DT_BFLOAT16:
      static_cast<bfloat16*>(data)[i] = static_cast<bfloat16>(value.f);
      break;
    case DT_INT32:
      static_cast<int32_t*>(data)[i] = value.i32;
      break;
    case DT_INT64:
      static_cast<int64_t*>(data)[i] = value.i64;
      break;
    default:
      static_cast<bool*>(data)[i] = value.b;
  }
}

// As the folds of kernels/reduction/device.inc.
template <typename A>
A Folded(const std::string& fold, A a, A b) {
  if (fold == "Max") return a > b || a != a ? a : b;
  if (fold == "Min") return a < b || a != a ? a : b;
  return static_cast<A>(a + b);
}
template <typename A>
A FirstOf(const std::string& fold) {
  using Limits = std::numeric_limits<A>;
  if (fold == "Max") return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  if (fold == "Min") return Limits::has_infinity ? Limits::infinity() : Limits::max();
  return A(0);
}

}  // namespace

FusedProgram::FusedProgram(FusedExpression expression, FusedPattern pattern)
    : expression_(std::move(expression)), pattern_(std::move(pattern)) {
  for (const FusedStep& step : expression_.steps) {
    steps_.push_back({.run = CodeOfStep(step, expression_.type_of(step.operands[0])),
                      .operands = step.operands,
                      .type = step.type,
                      .adds_up = step.kind == FusedStep::Kind::kAddN});
  }
}

void FusedProgram::Simulate(const void* raw) {
  const FusedArgs& args = *static_cast<const FusedArgs*>(raw);
  const auto* const program = static_cast<const FusedProgram*>(args.program);
  program->pattern_.folds ? program->RunFold(args) : program->RunElements(args);
}

int64_t FusedProgram::Locate(const FusedArgs& args, Access access, const long long* steps, int64_t i) const {
  if (access == Access::kDense) return i;
  if (access == Access::kScalar) return 0;
  int64_t at = 0;
  for (int d = pattern_.rank - 1; d >= 0; --d) {
    at += i % args.sizes[d] * steps[d];
    i /= args.sizes[d];
  }
  return at;
}

void FusedProgram::Compute(const FusedArgs& args, int64_t i, FusedValue* values) const {
  const size_t num_inputs = expression_.inputs.size();
  for (size_t k = 0; k < num_inputs; ++k) {
    values[k] = Load(expression_.inputs[k], args.inputs[k], Locate(args, pattern_.accesses[k], args.steps[k], i));
  }
  FusedValue operands[FusedExpression::kMostInputs];
  for (size_t s = 0; s < steps_.size(); ++s) {
    const Step& step = steps_[s];
    for (size_t k = 0; k < step.operands.size(); ++k) operands[k] = values[step.operands[k]];
    FusedValue& value = values[num_inputs + s];
    value = {};
    step.run(operands, &value);
    for (size_t k = 2; step.adds_up && k < step.operands.size(); ++k) {
      operands[0] = value;
      operands[1] = operands[k];
      step.run(operands, &value);
    }
  }
}

void FusedProgram::Store(const FusedArgs& args, int64_t i, size_t output, FusedValue value) const {
  int64_t rest = i;
  for (int d = pattern_.rank - 1; d >= 0; --d) {
    if ((pattern_.missing[output] >> d & 1) != 0 && rest % args.sizes[d] != 0) return;
    rest /= args.sizes[d];
  }
  const Access access = pattern_.accesses[expression_.inputs.size() + output];
  const long long* const steps = args.steps[FusedExpression::kMostInputs + output];
  StoreAt(expression_.type_of(expression_.outputs[output]), args.outputs[output], Locate(args, access, steps, i),
          value);
}

void FusedProgram::RunElements(const FusedArgs& args) const {
  FusedValue values[kMostValues];
  for (int64_t i = 0; i < args.count; ++i) {
    Compute(args, i, values);
    for (size_t k = 0; k < expression_.outputs.size(); ++k) Store(args, i, k, values[expression_.outputs[k]]);
  }
}

void FusedProgram::RunFold(const FusedArgs& args) const {
  const int from = expression_.outputs[0];
  const DataType type = expression_.type_of(from);
  FusedValue values[kMostValues];
  const auto run = [&](auto first, auto FusedValue::*member) {
    for (int64_t place = 0; place < args.count; ++place) {
      auto folded = first;
      for (int64_t j = 0; j < args.length; ++j) {
        Compute(args, place * args.length + j, values);
        folded = Folded(expression_.fold, folded, values[from].*member);
      }
      if (expression_.fold == "Mean") folded = folded / static_cast<decltype(folded)>(args.length);
      FusedValue result = {};
      result.*member = folded;
      StoreAt(type, args.outputs[0], place, result);
    }
  };
  if (type == DT_INT64) return run(FirstOf<long long>(expression_.fold), &FusedValue::i64);
  if (type == DT_DOUBLE) return run(FirstOf<double>(expression_.fold), &FusedValue::d);
  run(FirstOf<float>(expression_.fold), &FusedValue::f);
}

}  // namespace weir
