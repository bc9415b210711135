// Which dimensions of an op's inputs and outputs belong together: what tells how it can work on parts of its tensors.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/attr_value.h"
#include "core/status.h"
#include "core/tensor.h"
#include "graph/graph.h"

namespace weir::spmd {

// What a rule may look at. All shapes are known; that of a variable's handle is the variable's.
struct RuleContext {
  const Node& node;
  std::vector<TensorShape> inputs, outputs;
  std::vector<const Tensor*> constants;  // by input; nullptr where the value is not known

  template <typename V>
  V Attr(const char* name, V otherwise = {}) const {
    V value{};
    return GetNodeAttr(node.def(), name, &value).ok() ? value : otherwise;
  }
  // The integers of a constant input; nullopt where it is none.
  std::optional<std::vector<int64_t>> Integers(int input) const;
};

// A factor is an index that the op's loop nest runs over: MatMul has m, k and n, its inputs the dimensions [m, k] and
// [k, n], its output [m, n]. A mesh axis may split any factor, and with it all dimensions that have it.
struct OpRule {
  struct Factor {
    int64_t size = 0;
    bool is_reduced = false;  // summed over: split, it leaves partial sums in all outputs
    bool is_whole = false;    // every device needs all of it
  };
  // The factors of one dimension, the slowest first; none: the dimension is never split.
  using Dim = std::vector<int>;
  using Dims = std::vector<Dim>;

  std::vector<Factor> factors;
  std::vector<Dims> inputs, outputs;
  // The op is linear in these inputs taken together: where all are partial sums over the same axes, so is the output.
  std::vector<int> linear;
  // Inputs that hold the shape of an output: (input, output).
  std::vector<std::pair<int, int>> shape_inputs;
  // Averages over the reduced factors.
  bool is_mean = false;
  // Row numbers of a tensor: where factor 0, its rows, is split, a device uses those that it has. The inputs that hold
  // the row numbers and, for a scatter, the rows.
  struct Rows {
    int indices = 0;
    int updates = -1;
  };
  std::optional<Rows> rows;

  int AddFactor(int64_t size, bool is_reduced = false, bool is_whole = false);
};

// nullopt: nothing is known, every device needs all of the inputs.
using RuleFn = std::optional<OpRule> (*)(const RuleContext& c);

class OpRules {
 public:
  // Every rule of this build.
  static const OpRules& All();
  void Add(std::initializer_list<const char*> ops, RuleFn rule);
  RuleFn Find(const std::string& op) const;  // nullptr: none

 private:
  absl::flat_hash_map<std::string, RuleFn> rules_;
};

void AddElementwiseRules(OpRules& rules);
void AddMatrixRules(OpRules& rules);
void AddShapeRules(OpRules& rules);
void AddVariableRules(OpRules& rules);
void AddImageRules(OpRules& rules);

// A rule written as einsum does, a letter for each factor and '.' for a dimension that is never split:
// "mk,kn->mn". Letters that no output has are reduced, those in `whole` stay whole. nullopt where ranks differ.
std::optional<OpRule> RuleFromLabels(const RuleContext& c, const std::string& labels, const std::string& whole = "");

}  // namespace weir::spmd
