// A model's variables: state on a device that persists between steps.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "client/ops/op_scope.h"
#include "client/scope.h"
#include "core/api.h"
#include "graph/output.h"

namespace WEIR_API weir {

// Builds the initial value of a variable of this shape and type.
using Initializer = std::function<Output(const Scope& scope, const TensorShape& shape, DataType dtype)>;

// When a variable's copies are synchronised: on every write, or only when it is read outside of replicas (each replica
// writes its own copy; for counts and averages).
enum class VariableSynchronization { kOnWrite, kOnRead };
// How replicas' writes to a variable, or their copies of it, are combined.
enum class VariableAggregation { kNone, kSum, kMean, kOnlyFirstReplica };

struct VariableOptions {
  // Optimizers update it by default.
  bool trainable = true;
  VariableSynchronization synchronization = VariableSynchronization::kOnWrite;
  VariableAggregation aggregation = VariableAggregation::kNone;
  // Each of these devices gets a copy with the same initial value. For strategies.
  std::vector<std::string> copy_devices;
  // The entry in checkpoints: the variable's name unless set. A part of a partitioned variable has the name of the
  // whole, and its slice in SaveV2's form, "10 4 0,5:0,4".
  std::string save_name, save_slice;
};

class ResourceVariable;

// Controls a scope's variables: where they are, and which copy a replica uses. Implemented by strategies.
class VariablePolicy {
 public:
  virtual ~VariablePolicy() = default;
  // Implements ResourceVariable::Make for scopes with this policy.
  virtual ResourceVariable Make(const Scope& scope, const TensorShape& shape, DataType dtype,
                                const Initializer& initializer, const VariableOptions& options) = 0;
  // Whether ops are being built for one replica. They then refer to the variable itself, never to its copies.
  virtual bool in_replica() const = 0;
};

// A resource variable of a graph under construction. A value type; C++ copies refer to the same variable. Its device is
// the scope's at creation; ops on its handle run there. If it has copies on other devices, Assign, AssignAdd,
// initializer and is_initialized cover all of them, and Read aggregates copies that are synchronised on read; in a
// replica's scope they cover one copy.
class ResourceVariable {
 public:
  ResourceVariable() = default;

  // Adds a variable named by the scope ("variable" by default) and lists it in the scope. On an error, which is
  // recorded in the scope, it is invalid.
  static ResourceVariable Make(const OpScope& scope, const TensorShape& shape, DataType dtype,
                               const Initializer& initializer, VariableOptions options = {});

  bool valid() const { return handle_.valid(); }
  const std::string& name() const { return name_; }
  const TensorShape& shape() const { return shape_; }
  DataType dtype() const { return dtype_; }
  bool trainable() const { return options_.trainable; }
  const VariableOptions& options() const { return options_; }
  Output handle() const { return handle_; }
  // Reads it once per step, before ops that depend on writes.
  Output value() const { return value_; }
  // Reads it again, after the scope's control dependencies.
  Output Read(const Scope& scope) const;
  Operation Assign(const Scope& scope, const Input& value) const;
  Operation AssignAdd(const Scope& scope, const Input& delta) const;
  Operation initializer() const { return initializer_; }
  Output is_initialized() const { return is_initialized_; }
  // The copies on options().copy_devices, in that order. They are not listed in the scope.
  const std::vector<ResourceVariable>& copies() const { return copies_; }

 private:
  static ResourceVariable MakeOne(const Scope& scope, const TensorShape& shape, DataType dtype,
                                  const Initializer& initializer, VariableOptions options);
  void AddCopies(const Scope& scope);
  Output Aggregate(const Scope& scope) const;
  bool IsSumOfCopies() const {
    return options_.synchronization == VariableSynchronization::kOnRead &&
           options_.aggregation == VariableAggregation::kSum;
  }
  // Applies `update` to the variable and, outside of replicas, to every copy, on its device.
  using Update = std::function<Operation(const Scope& scope, const ResourceVariable& variable)>;
  Operation UpdateAll(const Scope& scope, const Update& update) const;

  std::string name_;
  TensorShape shape_;
  DataType dtype_ = DT_INVALID;
  VariableOptions options_;
  std::vector<ResourceVariable> copies_;
  Output handle_, value_, is_initialized_;
  Operation initializer_;
};

// Runs the initializers of all variables of the scope's graph.
Operation InitializeAll(const Scope& scope);

// The step counter "global_step" (int64, not trainable), created on first use.
ResourceVariable GlobalStep(const Scope& scope);

// Returns tasks of `job` in turn: "/job:ps/task:0", "/job:ps/task:1", … Used to spread a graph's variables.
class RoundRobinDevices {
 public:
  RoundRobinDevices(std::string job, int tasks) : job_(std::move(job)), tasks_(tasks) {}
  std::string Next() { return absl::StrCat("/job:", job_, "/task:", next_++ % tasks_); }

 private:
  const std::string job_;
  const int tasks_;
  int next_ = 0;
};

}  // namespace weir
