// Variables of a model: state that lives on a device between steps.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "client/scope.h"
#include "graph/output.h"

namespace weir {

// Makes the initial value of a variable of this shape and type.
using Initializer = std::function<Output(const Scope& scope, const TensorShape& shape, DataType dtype)>;

// When the copies that a strategy keeps of a variable are made equal: with every write, or only when it is read
// outside of the replicas (each replica writes its own copy; for counts and averages).
enum class VariableSynchronization { kOnWrite, kOnRead };
// How what replicas write to a variable, or their copies of it, become one value.
enum class VariableAggregation { kNone, kSum, kMean, kOnlyFirstReplica };

struct VariableOptions {
  // Optimizers update it by default.
  bool trainable = true;
  VariableSynchronization synchronization = VariableSynchronization::kOnWrite;
  VariableAggregation aggregation = VariableAggregation::kNone;
  // Each of these devices gets a copy, which starts with the same value. For strategies.
  std::vector<std::string> copy_devices;
  // The entry in checkpoints: the variable's name unless set. A part of a whole has the name of that, and says which
  // part it is as SaveV2 reads it, "10 4 0,5:0,4".
  std::string save_name, save_slice;
};

class ResourceVariable;

// Decides about the variables of a scope: where they live, and what of them a replica sees. Strategies are such.
class VariablePolicy {
 public:
  virtual ~VariablePolicy() = default;
  // What ResourceVariable::Make with a scope of this policy gives.
  virtual ResourceVariable Make(const Scope& scope, const TensorShape& shape, DataType dtype,
                                const Initializer& initializer, const VariableOptions& options) = 0;
  // Whether ops are built for one replica. They then name the variable itself, never its copies.
  virtual bool in_replica() const = 0;
};

// A resource variable of a graph under construction. A value: C++ copies of it name the same variable. Its device is
// the scope's where it was made; ops that use its handle run there. Where it has copies on other devices, Assign,
// AssignAdd, initializer and is_initialized are about all of them, and Read aggregates them if they are synchronised
// when read; in a replica's scope they are about one.
class ResourceVariable {
 public:
  ResourceVariable() = default;

  // Adds a variable named by the scope ("variable" by default) and lists it in the scope. An error makes it invalid
  // and is kept by the scope.
  static ResourceVariable Make(const Scope& scope, const TensorShape& shape, DataType dtype,
                               const Initializer& initializer, VariableOptions options = {});

  bool valid() const { return handle_.valid(); }
  const std::string& name() const { return name_; }
  const TensorShape& shape() const { return shape_; }
  DataType dtype() const { return dtype_; }
  bool trainable() const { return options_.trainable; }
  const VariableOptions& options() const { return options_; }
  Output handle() const { return handle_; }
  // Reads it once a step, before ops that depend on what is written there.
  Output value() const { return value_; }
  // Reads it again, after the scope's control dependencies.
  Output Read(const Scope& scope) const;
  Operation Assign(const Scope& scope, const Input& value) const;
  Operation AssignAdd(const Scope& scope, const Input& delta) const;
  Operation initializer() const { return initializer_; }
  Output is_initialized() const { return is_initialized_; }
  // Those on options().copy_devices, in that order. They are not listed in the scope.
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
  // `update` for the variable, and outside of replicas for every copy, where each lives.
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

// The step counter "global_step" (int64, not trainable), made on first use.
ResourceVariable GlobalStep(const Scope& scope);

// Names tasks of `job` in turn: "/job:ps/task:0", "/job:ps/task:1", … A graph's variables are spread so.
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
