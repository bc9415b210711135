// Chooses how an op is computed, given the shardings of its inputs.
#pragma once

#include <optional>
#include <vector>

#include "graph/spmd/op_rule.h"
#include "graph/spmd/sharding.h"

namespace weir::spmd {

struct Operand {
  Sharding sharding;
  bool is_fixed = false;  // a variable's handle, which cannot be moved
};

struct Choice {
  std::vector<Sharding> inputs, outputs;
  std::vector<int> axis_of;  // by factor
  double scale = 1;          // factor for the outputs
};

// Each mesh axis splits at most one factor: first those of fixed inputs, then those of other inputs, the largest first,
// then those of the requested outputs. A partial-sum input stays one if the op is linear in it. InvalidArgument if
// fixed inputs conflict, Unimplemented if the op cannot work on such parts.
absl::StatusOr<Choice> ChooseSharding(const Mesh& mesh, const OpRule& rule, const RuleContext& context,
                                      const std::vector<Operand>& operands,
                                      const std::vector<std::optional<Sharding>>& wanted);

}  // namespace weir::spmd
