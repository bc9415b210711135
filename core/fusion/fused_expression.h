// The computation of a fused node: a sequence of element-wise ops, optionally followed by a reduction.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/fusion/scalar_ops.h"
#include "core/status.h"

namespace weir {

// One op of an expression. Values are numbered: first the expression's inputs, then the result of each step.
struct FusedStep {
  enum class Kind {
    kScalar,  // of ScalarOps
    kCast,    // to `type`
    kSelect,  // condition, then, else: Select or SelectV2
    kBias,    // BiasAdd: the second operand, an input with no other use, along channels
    kAddN,    // operands of one shape
  };
  Kind kind = Kind::kScalar;
  std::string op;
  std::vector<int> operands;
  DataType type = DT_INVALID;   // of the result
  bool channels_first = false;  // kBias: channels are dimension 1, not the last

  // "AddV2(0, 3)", "Cast:half(2)", "BiasAdd:NCHW(0, 1)".
  std::string ToString() const;
  friend bool operator==(const FusedStep&, const FusedStep&) = default;
};

struct FusedExpression {
  static constexpr int kMostInputs = 16, kMostSteps = 64, kMostOutputs = 4;

  DataTypeVector inputs;
  std::vector<FusedStep> steps;
  std::vector<int> outputs;  // step results, each listed once
  // Reduction of the only output along `axes`: Sum, Mean, Max or Min; empty for none. Negative axes count from the end.
  std::string fold;
  std::vector<int64_t> axes;
  bool keep_dims = false;

  int num_values() const { return static_cast<int>(inputs.size() + steps.size()); }
  DataType type_of(int value) const;
  // The step that computes a value; nullptr for inputs.
  const FusedStep* step_of(int value) const;
  friend bool operator==(const FusedExpression&, const FusedExpression&) = default;
};

// Whether `op` is one of the supported reductions.
bool IsFusedFold(absl::string_view op);
// Whether GPUs support this reduction for elements of `type`.
bool FoldTakes(absl::string_view op, DataType type);

// Parses the form that FusedStep::ToString prints; operands are among values of the given types. INVALID_ARGUMENT,
// quoting the text, for an unknown op, or operands that do not exist, are too many, or have unsupported types.
absl::StatusOr<FusedStep> ParseFusedStep(absl::string_view text, const DataTypeVector& values);

// INVALID_ARGUMENT unless the expression is within the limits, its steps equal what ParseFusedStep returns, every input
// and step is used, and outputs and reduction are as described above. An expression that passes can be compiled and
// run.
absl::Status CheckFusedExpression(const FusedExpression& expression);

}  // namespace weir
