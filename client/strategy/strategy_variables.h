// The variables of a strategy: where they are made, and which copy of them a replica uses.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "client/graph_region.h"
#include "client/variables.h"

namespace weir {

// Where a variable goes: gives the scope to make it in, and says in `options` which devices get copies. The scope is as
// the model has it: on a replica's device, or colocated (a slot beside its variable).
using VariablePlacement =
    std::function<Scope(const Scope& scope, const TensorShape& shape, DataType dtype, VariableOptions* options)>;

// Makes an initializer out of the model's: one that gives all workers the value of one, say.
using InitialValue = std::function<Initializer(const Initializer& initializer)>;

// The variables that were made under one strategy. A model function makes them for the first replica; the others find
// them again in the order of making. While the ops of a replica are built they use the first copy; Retarget then moves
// them to the replica's own. Not thread-safe.
class StrategyVariables {
 public:
  // `initial_value` may be empty.
  StrategyVariables(VariablePlacement placement, InitialValue initial_value)
      : placement_(std::move(placement)), initial_value_(std::move(initial_value)) {}

  // What is made with a scope of these policies is listed here. The strategy outlives neither graph nor scopes: both
  // keep this alive.
  static std::shared_ptr<VariablePolicy> BetweenReplicas(std::shared_ptr<StrategyVariables> variables);
  static std::shared_ptr<VariablePolicy> InReplica(std::shared_ptr<StrategyVariables> variables);

  // Around the functions of all replicas, and of each.
  void BeginReplicas();
  void BeginReplica(int replica);
  // InvalidArgument where the replica has made fewer variables than the first.
  absl::Status EndReplica(absl::string_view strategy);

  // Makes the ops of `region` that use a variable use the copy of replica `i` of this graph instead, on its device.
  absl::Status Retarget(const GraphRegion& region, int i) const;

  // Makes the ops of `region` read after `gate` what they use of variables: values through reads of their own.
  absl::Status ReadAfter(const Scope& scope, const GraphRegion& region, const Operation& gate) const;

  // nullptr where `handle` is none of theirs.
  const ResourceVariable* Find(const Output& handle) const;
  // Whether `node` was made with the variable: its initial assignment.
  bool IsPartOf(const ResourceVariable& variable, const Node& node) const;

 private:
  class Policy;
  ResourceVariable Make(const Scope& scope, const TensorShape& shape, DataType dtype, const Initializer& initializer,
                        const VariableOptions& options);
  ResourceVariable MakeInReplica(const Scope& scope, const TensorShape& shape, DataType dtype,
                                 const Initializer& initializer, const VariableOptions& options);
  void List(const ResourceVariable& variable, const Graph& graph);

  const VariablePlacement placement_;
  const InitialValue initial_value_;
  struct Listed {
    ResourceVariable variable;
    int nodes_end;  // the ids of its nodes are below
  };
  std::vector<Listed> all_;
  absl::flat_hash_map<Output, int> by_handle_, by_value_;
  // From the handle and the value of a variable to those of its copies; from "loc:@" its handle likewise.
  absl::flat_hash_map<Output, OutputList> outputs_of_copies_;
  absl::flat_hash_map<std::string, std::vector<std::string>> locations_of_copies_;

  // The variables of the model function, as the first replica made them, and how many this replica has made.
  struct Made {
    ResourceVariable variable;
    std::string wanted_name;
  };
  std::vector<Made> made_;
  int replica_ = 0;
  size_t num_made_ = 0;
};

}  // namespace weir
