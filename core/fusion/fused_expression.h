// What a fused node computes: element-wise ops, one after the other, and perhaps a reduction of what comes out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/fusion/scalar_ops.h"
#include "core/status.h"

namespace weir {

// One op of an expression. Values are numbered: the expression's inputs come first, then what each step makes.
struct FusedStep {
  enum class Kind {
    kScalar,  // of ScalarOps
    kCast,    // to `type`
    kSelect,  // condition, then, else: Select or SelectV2
    kBias,    // BiasAdd: the second operand, an input that nothing else reads, along channels
    kAddN,    // operands of one shape
  };
  Kind kind = Kind::kScalar;
  std::string op;
  std::vector<int> operands;
  DataType type = DT_INVALID;   // of what it makes
  bool channels_first = false;  // kBias: channels are dimension 1, not the last

  // "AddV2(0, 3)", "Cast:half(2)", "BiasAdd:NCHW(0, 1)".
  std::string ToString() const;
  friend bool operator==(const FusedStep&, const FusedStep&) = default;
};

struct FusedExpression {
  static constexpr int kMostInputs = 16, kMostSteps = 64, kMostOutputs = 4;

  DataTypeVector inputs;
  std::vector<FusedStep> steps;
  std::vector<int> outputs;  // values that steps make, each once
  // Sum, Mean, Max or Min of the only output along `axes`, which count from the end where they are negative; or empty.
  std::string fold;
  std::vector<int64_t> axes;
  bool keep_dims = false;

  int num_values() const { return static_cast<int>(inputs.size() + steps.size()); }
  DataType type_of(int value) const;
  // The step that makes a value; nullptr for inputs.
  const FusedStep* step_of(int value) const;
  friend bool operator==(const FusedExpression&, const FusedExpression&) = default;
};

// The names of the reductions.
bool IsFusedFold(absl::string_view op);
// Whether a GPU reduces elements of that type so.
bool FoldTakes(absl::string_view op, DataType type);

// The step that `text` (FusedStep::ToString) describes, of operands among values of these types. INVALID_ARGUMENT,
// quoting it, for an op that there is not, or operands that are none, too many, or of types that it does not take.
absl::StatusOr<FusedStep> ParseFusedStep(absl::string_view text, const DataTypeVector& values);

// INVALID_ARGUMENT unless it is within the limits, its steps are what ParseFusedStep gives, every input and every step
// is used, and its outputs and reduction are as described above. What passes can be compiled and run.
absl::Status CheckFusedExpression(const FusedExpression& expression);

}  // namespace weir
