// Builds a graph: names, devices, control dependencies, and the first error.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/ops/source_line.h"
#include "core/api.h"
#include "core/status.h"
#include "graph/output.h"

namespace tensorflow {
class GraphDef;
class NodeDef;
}  // namespace tensorflow

namespace WEIR_API weir {

class Graph;
class ResourceVariable;
class VariablePolicy;

// A view of a graph under construction; copies share the graph. Building never throws and does not return errors: the
// first error is recorded, later ops return invalid outputs, and status() (or a Session's Run) reports it. Not
// thread-safe.
//
//   Scope root = Scope::NewRoot();
//   Output x = ops::Placeholder(root.WithName("x"), DT_FLOAT);
//   Output y = ops::Mul(root, x, 2.0f);
class Scope {
 public:
  // A new graph with every op of this build.
  static Scope NewRoot();
  // The same graph and variable policy, but no name prefix, device, control dependencies or colocation.
  Scope Root() const { return Scope(shared_).WithVariablePolicy(variable_policy_); }

  // Names of ops built below begin with "name/"; the name is made unique.
  Scope SubScope(absl::string_view name) const;
  // Sets the next op's name (made unique); the default is its type's.
  Scope WithName(absl::string_view name) const;
  // Merged with this scope's device: "/job:ps/task:1" then "/device:CPU:0".
  Scope WithDevice(absl::string_view device) const;
  // Ops built below run after these.
  Scope WithControlDependencies(const std::vector<Operation>& operations) const;
  Scope WithControlDependencies(const std::vector<Output>& outputs) const;
  Scope WithNoControlDependencies() const;
  // Ops built below live on the same device as `op`.
  Scope ColocateWith(const Operation& op) const;
  // Ops built below are reported as built at `line`, unless an outer line is set or it is in Weir's own sources.
  Scope WithLine(const SourceLine& line) const;
  // Variables are created by `policy` (see client/variables.h); nullptr: plain ones.
  Scope WithVariablePolicy(std::shared_ptr<VariablePolicy> policy) const;

  bool ok() const { return status().ok(); }
  const absl::Status& status() const;
  // Records the first error.
  void UpdateStatus(absl::Status status) const;

  Graph* graph() const;
  tensorflow::GraphDef ToGraphDef() const;
  std::string UniqueName(absl::string_view suggestion) const;
  const std::string& device() const { return device_; }
  bool is_colocated() const { return !colocate_with_.empty(); }
  const std::shared_ptr<VariablePolicy>& variable_policy() const { return variable_policy_; }
  // The name prefix without the last '/', and the next op's name (empty: its type's).
  std::string name() const { return prefix_.empty() ? "" : prefix_.substr(0, prefix_.size() - 1); }
  const std::string& op_name() const { return op_name_; }
  // The known part of an output's shape. Loop variables are assumed to keep the shape of their first value.
  PartialTensorShape ShapeOf(const Output& output) const;
  // The line that built the node, or an unknown one. Thread-safe.
  SourceLine LineOf(absl::string_view node) const;
  // The scope of an operator on `operand` (client/ops/operators.h); nullopt if it was never built by a scope.
  static std::optional<Scope> Of(const Output& operand);

  // A Const node; a literal takes the type `dtype`.
  Output Constant(const Input& value, DataType dtype = DT_INVALID, const SourceLine& at = SourceLine::Here()) const;
  // The graph's variables, in order of creation.
  const std::vector<ResourceVariable>& variables() const;
  void AddVariable(const ResourceVariable& variable) const;

  // --- For op wrappers ---
  // Adds a node of type def.op() with these inputs. Its name, device, control inputs and colocation come from the
  // scope; type and number attributes missing in `def` are inferred from the inputs. Returns an invalid Operation on
  // error.
  Operation AddOp(tensorflow::NodeDef def, const std::vector<InputList>& inputs, const SourceLine& at = {}) const;

 private:
  struct Shared;
  explicit Scope(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  std::string NextName(absl::string_view op) const;
  // The error with the line in front of it, if one is known.
  absl::Status AtLine(const absl::Status& status, const SourceLine& at) const;

  std::shared_ptr<Shared> shared_;
  std::string prefix_;  // "" or "a/b/"
  std::string op_name_;
  std::string device_;
  std::vector<Node*> control_dependencies_;
  std::vector<std::string> colocate_with_;
  SourceLine line_;
  std::shared_ptr<VariablePolicy> variable_policy_;
};

}  // namespace weir
