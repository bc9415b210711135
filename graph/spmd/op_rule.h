// Sharding rules: how the dimensions of an op's inputs and outputs correspond, and so how it can work on parts.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/op/attr_value.h"
#include "core/status.h"
#include "core/tensor/tensor.h"
#include "graph/graph.h"

namespace weir::spmd {

// The input of a rule. All shapes are known; that of a variable's handle is the variable's.
struct RuleContext {
  const Node& node;
  std::vector<TensorShape> inputs, outputs;
  std::vector<const Tensor*> constants;  // by input; nullptr if the value is unknown

  template <typename V>
  V Attr(const char* name, V otherwise = {}) const {
    V value{};
    return GetNodeAttr(node.def(), name, &value).ok() ? value : otherwise;
  }
  // The integers of a constant input; nullopt if it is not constant.
  std::optional<std::vector<int64_t>> Integers(int input) const;
};

// A factor is an index of the op's loop nest: MatMul has m, k and n, its inputs the dimensions [m, k] and [k, n], its
// output [m, n]. A mesh axis may split any factor, and with it all dimensions that contain it.
struct OpRule {
  struct Factor {
    int64_t size = 0;
    bool is_reduced = false;  // summed over: if split, all outputs are partial sums
    bool is_whole = false;    // every device needs all of it
  };
  // The factors of one dimension, slowest first; empty: the dimension is never split.
  using Dim = std::vector<int>;
  using Dims = std::vector<Dim>;

  std::vector<Factor> factors;
  std::vector<Dims> inputs, outputs;
  // The op is jointly linear in these inputs: if all are partial sums over the same axes, so is the output.
  std::vector<int> linear;
  // Inputs that hold the shape of an output: (input, output).
  std::vector<std::pair<int, int>> shape_inputs;
  // Averages over the reduced factors.
  bool is_mean = false;
  // Row lookups and updates: if factor 0, the rows of a table, is split, each device uses its own rows. The inputs with
  // the row numbers and, for a scatter, the rows.
  struct Rows {
    int indices = 0;
    int updates = -1;
  };
  std::optional<Rows> rows;

  int AddFactor(int64_t size, bool is_reduced = false, bool is_whole = false);
};

// nullopt: no rule; every device needs all inputs.
using RuleFn = std::optional<OpRule> (*)(const RuleContext& c);

class OpRules {
 public:
  // All rules of this build.
  static const OpRules& All();
  void Add(std::initializer_list<const char*> ops, RuleFn rule);
  // For element-wise ops without a rule of their own.
  void SetElementwise(RuleFn rule) { elementwise_ = rule; }
  RuleFn Find(const Node& node) const;  // nullptr if there is none

 private:
  absl::flat_hash_map<std::string, RuleFn> rules_;
  RuleFn elementwise_ = nullptr;
};

void AddElementwiseRules(OpRules& rules);
void AddMatrixRules(OpRules& rules);
void AddShapeRules(OpRules& rules);
void AddVariableRules(OpRules& rules);
void AddImageRules(OpRules& rules);

// A rule in einsum notation, with a letter for each factor and '.' for a dimension that is never split: "mk,kn->mn".
// Letters that occur in no output are reduced, those in `whole` stay whole. nullopt if ranks differ.
std::optional<OpRule> RuleFromLabels(const RuleContext& c, const std::string& labels, const std::string& whole = "");

}  // namespace weir::spmd
