// The variables of a strategy: creates them, and selects the copies that a replica uses.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "client/graph_region.h"
#include "client/variables.h"
#include "core/api.h"

namespace WEIR_API weir {

// Places a variable: returns the scope to create it in, and sets in `options` the devices with copies. The scope is the
// model's: on a replica's device, or colocated (a slot with its variable).
using VariablePlacement =
    std::function<Scope(const Scope& scope, const TensorShape& shape, DataType dtype, VariableOptions* options)>;

// Derives an initializer from the model's: for example one that gives all workers the same value.
using InitialValue = std::function<Initializer(const Initializer& initializer)>;

// The variables created under one strategy. A model function creates them for the first replica; other replicas find
// them in the order of creation. While a replica's ops are built they use the first copy; Retarget then redirects them
// to the replica's own. Not thread-safe.
class StrategyVariables {
 public:
  // `initial_value` may be empty.
  StrategyVariables(VariablePlacement placement, InitialValue initial_value)
      : placement_(std::move(placement)), initial_value_(std::move(initial_value)) {}

  // Variables created with a scope of these policies are listed here. Graph and scopes may outlive the strategy: the
  // policies keep this object alive.
  static std::shared_ptr<VariablePolicy> BetweenReplicas(std::shared_ptr<StrategyVariables> variables);
  static std::shared_ptr<VariablePolicy> InReplica(std::shared_ptr<StrategyVariables> variables);

  // Called around the functions of all replicas, and of each.
  void BeginReplicas();
  void BeginReplica(int replica);
  // InvalidArgument if the replica has created fewer variables than the first.
  absl::Status EndReplica(absl::string_view strategy);

  // Redirects the ops of `region` that use a variable to the copy of replica `i` of this graph, and moves them to its
  // device.
  absl::Status Retarget(const GraphRegion& region, int i) const;

  // Makes the ops of `region` read variables after `gate`; values are read again.
  absl::Status ReadAfter(const Scope& scope, const GraphRegion& region, const Operation& gate) const;

  // nullptr if `handle` is not one of theirs.
  const ResourceVariable* Find(const Output& handle) const;
  // Whether `node` was created with the variable: its initial assignment.
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
    int nodes_end;  // an upper bound of its nodes' ids
  };
  std::vector<Listed> all_;
  absl::flat_hash_map<Output, int> by_handle_, by_value_;
  // From the handle and the value of a variable to those of its copies; likewise for colocation with its handle.
  absl::flat_hash_map<Output, OutputList> outputs_of_copies_;
  absl::flat_hash_map<std::string, std::vector<std::string>> locations_of_copies_;

  // The model function's variables as created by the first replica, and the number that this replica has created.
  struct Made {
    ResourceVariable variable;
    std::string wanted_name;
  };
  std::vector<Made> made_;
  int replica_ = 0;
  size_t num_made_ = 0;
};

}  // namespace weir
