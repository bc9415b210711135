// From how an op's inputs lie to how it is best computed.
#pragma once

#include <optional>
#include <vector>

#include "graph/spmd/op_rule.h"
#include "graph/spmd/sharding.h"

namespace weir::spmd {

struct Operand {
  Sharding sharding;
  bool is_fixed = false;  // the handle of a variable, which nothing can move
};

struct Choice {
  std::vector<Sharding> inputs, outputs;
  std::vector<int> axis_of;  // by factor
  double scale = 1;          // what the outputs are to be multiplied by
};

// Each mesh axis splits one factor at most: first those of fixed inputs, then those of the other inputs, the largest
// first, then those of the wanted outputs. An input that is a partial sum stays one where the op is linear in it.
// InvalidArgument where fixed inputs contradict each other, Unimplemented where the op cannot work on such parts.
absl::StatusOr<Choice> ChooseSharding(const Mesh& mesh, const OpRule& rule, const RuleContext& context,
                                      const std::vector<Operand>& operands,
                                      const std::vector<std::optional<Sharding>>& wanted);

}  // namespace weir::spmd
