#include "client/variables.h"

#include "client/initializers.h"
#include "client/ops.h"
#include "graph/graph.h"

namespace weir {

namespace {

bool InReplica(const Scope& scope) {
  return scope.variable_policy() != nullptr && scope.variable_policy()->in_replica();
}

}  // namespace

ResourceVariable ResourceVariable::Make(const OpScope& at, const TensorShape& shape, DataType dtype,
                                        const Initializer& initializer, VariableOptions options) {
  const Scope scope = at.Located();
  if (scope.variable_policy() != nullptr) {
    return scope.variable_policy()->Make(scope, shape, dtype, initializer, options);
  }
  ResourceVariable variable = MakeOne(scope, shape, dtype, initializer, std::move(options));
  variable.AddCopies(scope);
  if (scope.ok()) scope.AddVariable(variable);
  return variable;
}

ResourceVariable ResourceVariable::MakeOne(const Scope& scope, const TensorShape& shape, DataType dtype,
                                           const Initializer& initializer, VariableOptions options) {
  ResourceVariable variable;
  const Scope inner = scope.SubScope(scope.op_name().empty() ? "variable" : scope.op_name());
  // The node and the checkpoint entry are named exactly like the scope: "hidden/kernel".
  variable.name_ = inner.name();
  if (options.save_name.empty()) options.save_name = variable.name_;
  variable.shape_ = shape;
  variable.dtype_ = dtype;
  variable.options_ = std::move(options);
  variable.handle_ = ops::VarHandleOp(inner.WithName("handle").WithNoControlDependencies(), dtype, shape,
                                      {.shared_name = variable.name_});
  const Scope beside = inner.ColocateWith(variable.handle_.op());
  const Output initial = initializer(beside.SubScope("initial"), shape, dtype);
  variable.initializer_ = ops::AssignVariableOp(beside.WithName("assign"), variable.handle_, initial);
  variable.is_initialized_ = ops::VarIsInitializedOp(beside.WithName("is_initialized"), variable.handle_);
  variable.value_ = ops::ReadVariableOp(beside.WithName("read").WithNoControlDependencies(), variable.handle_, dtype);
  return variable;
}

// A copy is initialised from the variable itself, so that a random value is drawn once.
void ResourceVariable::AddCopies(const Scope& scope) {
  if (options_.copy_devices.empty() || !scope.ok()) return;
  const Edge* initial = initializer_.node()->input_edge(1);
  const Output value(initial->src, initial->src_output);
  const auto initializer = [&](const Scope& beside, const TensorShape&, DataType) {
    return IsSumOfCopies() ? ops::ZerosLike(beside, value) : value;
  };
  std::vector<Operation> initializers = {initializer_};
  InputList flags = {is_initialized_};
  for (size_t i = 0; i < options_.copy_devices.size(); ++i) {
    const Scope there = scope.Root().WithDevice(options_.copy_devices[i]);
    copies_.push_back(MakeOne(there.WithName(absl::StrCat(name_, "/replica_", i + 1)), shape_, dtype_, initializer,
                              {.trainable = options_.trainable}));
    initializers.push_back(copies_.back().initializer_);
    flags.push_back(copies_.back().is_initialized_);
  }
  const Scope beside = scope.Root().SubScope(name_).ColocateWith(handle_.op());
  initializer_ = ops::NoOp(beside.WithControlDependencies(initializers).WithName("assign_all"));
  is_initialized_ =
      ops::All(beside.WithName("all_initialized"), ops::Pack(beside, flags), Tensor::Vector<int32_t>({0}));
}

Output ResourceVariable::Aggregate(const Scope& scope) const {
  InputList values = {ops::ReadVariableOp(scope.WithDevice("").ColocateWith(handle_.op()), handle_, dtype_)};
  for (const ResourceVariable& copy : copies_) {
    values.push_back(ops::ReadVariableOp(scope.ColocateWith(copy.handle_.op()), copy.handle_, dtype_));
  }
  const Output sum = ops::AddN(scope, values);
  if (options_.aggregation == VariableAggregation::kSum) return sum;
  return ops::Div(scope, sum, scope.Constant(static_cast<int64_t>(values.size()), dtype_));
}

Output ResourceVariable::Read(const Scope& scope) const {
  const bool aggregated =
      options_.aggregation == VariableAggregation::kSum || options_.aggregation == VariableAggregation::kMean;
  if (!copies_.empty() && !InReplica(scope) && options_.synchronization == VariableSynchronization::kOnRead &&
      aggregated) {
    return Aggregate(scope);
  }
  return ops::ReadVariableOp(scope, handle_, dtype_);
}

Operation ResourceVariable::UpdateAll(const Scope& scope, const Update& update) const {
  if (copies_.empty() || InReplica(scope)) return update(scope, *this);
  const Scope inner = scope.SubScope(scope.op_name().empty() ? "update" : scope.op_name());
  std::vector<Operation> updates = {update(inner.ColocateWith(handle_.op()), *this)};
  for (const ResourceVariable& copy : copies_) updates.push_back(update(inner.ColocateWith(copy.handle_.op()), copy));
  return ops::NoOp(inner.WithControlDependencies(updates).WithName("all"));
}

Operation ResourceVariable::Assign(const Scope& scope, const Input& value) const {
  const Input typed = value.is_literal() ? Input(scope.Constant(value, dtype_)) : value;
  return UpdateAll(scope, [&](const Scope& beside, const ResourceVariable& variable) {
    const bool zero = IsSumOfCopies() && !(variable.handle_ == handle_);
    return ops::AssignVariableOp(beside, variable.handle_, zero ? Input(ops::ZerosLike(beside, typed)) : typed);
  });
}

Operation ResourceVariable::AssignAdd(const Scope& scope, const Input& delta) const {
  const Input typed = delta.is_literal() ? Input(scope.Constant(delta, dtype_)) : delta;
  return UpdateAll(scope, [&](const Scope& beside, const ResourceVariable& variable) {
    const bool zero = IsSumOfCopies() && !(variable.handle_ == handle_);
    return ops::AssignAddVariableOp(beside, variable.handle_, zero ? Input(ops::ZerosLike(beside, typed)) : typed);
  });
}

Operation InitializeAll(const Scope& scope) {
  std::vector<Operation> initializers;
  for (const ResourceVariable& variable : scope.variables()) initializers.push_back(variable.initializer());
  return ops::NoOp(scope.WithControlDependencies(initializers).WithName("init"));
}

ResourceVariable GlobalStep(const Scope& scope) {
  constexpr char kName[] = "global_step";
  for (const ResourceVariable& variable : scope.variables()) {
    if (variable.name() == kName) return variable;
  }
  return ResourceVariable::Make(scope.Root().WithDevice(scope.device()).WithName(kName), TensorShape(), DT_INT64,
                                initializers::Zeros(), {.trainable = false});
}

}  // namespace weir
