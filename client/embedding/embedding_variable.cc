#include "client/embedding/embedding_variable.h"

#include <algorithm>

#include "client/ops.h"
#include "client/wire.h"
#include "core/device/device_name.h"
#include "core/op/attr_value.h"
#include "graph/graph.h"

namespace weir {
namespace {

const char* OptimizerName(EmbeddingOptimizer::Kind kind) {
  switch (kind) {
    case EmbeddingOptimizer::Kind::kGradientDescent:
      return "sgd";
    case EmbeddingOptimizer::Kind::kAdagrad:
      return "adagrad";
    case EmbeddingOptimizer::Kind::kAdam:
      return "adam";
    case EmbeddingOptimizer::Kind::kFtrl:
      return "ftrl";
  }
  return "";
}

ops::EmbeddingTableAttrs TableAttrs(const EmbeddingVariableOptions& options, const std::string& shared_name,
                                    int64_t parts) {
  ops::EmbeddingTableAttrs attrs;
  attrs.optimizer = OptimizerName(options.optimizer.kind);
  attrs.initial_accumulator_value = static_cast<float>(options.optimizer.initial_accumulator_value);
  attrs.initializer = options.initializer;
  attrs.initializer_params = options.initializer_params;
  attrs.seed = options.seed;
  attrs.filter_freq = options.filter_freq;
  attrs.filter_counters = (options.filter_counters + parts - 1) / parts;
  attrs.filter_probability = static_cast<float>(options.filter_probability);
  attrs.default_value_no_permission = static_cast<float>(options.default_value_no_permission);
  attrs.steps_to_live = options.steps_to_live;
  attrs.seconds_to_live = options.seconds_to_live;
  attrs.max_element_size = (options.max_element_size + parts - 1) / parts;
  attrs.parts = options.parts;
  attrs.value_dtype = options.value_dtype;
  attrs.memory_limit_bytes = options.memory_limit_bytes;
  attrs.storage_path = options.storage_path;
  attrs.shared_name = shared_name;
  return attrs;
}

// Runs the op on a thread that may wait for the disk.
void LetWait(const EmbeddingVariableOptions& options, const Operation& op) {
  if (options.memory_limit_bytes > 0) SetNodeAttr("_kernel", "waiting", op.node()->mutable_def());
}

// A device's name in a map: graphs that spell it differently mean the same task.
std::string TaskOf(const Scope& scope, const std::string& device) {
  const absl::StatusOr<DeviceName> name = DeviceName::Parse(device);
  scope.UpdateStatus(name.status());
  return name.ok() ? name->ToString() : device;
}

// `base` to the power of the current step, counted from 1.
Output Power(const Scope& scope, double base, const Output& global_step) {
  const Output step = ops::AddV2(scope, ops::Cast(scope, global_step, DT_FLOAT), 1.0f);
  return ops::Pow(scope, static_cast<float>(base), step);
}

}  // namespace

std::vector<int32_t> EvenOwners(int64_t parts, int count) {
  std::vector<int32_t> owners(parts);
  for (int64_t i = 0; i < parts; ++i) owners[i] = static_cast<int32_t>(i * count / parts);
  return owners;
}

EmbeddingVariable EmbeddingVariable::Make(const Scope& scope, EmbeddingVariableOptions options) {
  EmbeddingVariable variable;
  const Scope inner =
      scope.SubScope(scope.op_name().empty() ? "embedding" : scope.op_name()).WithNoControlDependencies();
  variable.name_ = inner.name();
  if (options.devices.empty()) options.devices.push_back(scope.device());
  const auto parts = static_cast<int64_t>(options.devices.size());
  std::vector<Operation> initializers;
  InputList flags, sizes;
  for (int64_t i = 0; i < parts; ++i) {
    const Scope on_device = inner.WithDevice(options.devices[i]).SubScope(absl::StrCat("part_", i));
    // Tables with movable parts are distinguished by device.
    const std::string shared_name =
        absl::StrCat(variable.name_, options.parts > 0 ? "/table" : absl::StrCat("/part_", i));
    const Output table = ops::EmbeddingTable(on_device.WithName("table"), options.width,
                                             TableAttrs(options, shared_name, options.parts > 0 ? 1 : parts));
    variable.tables_.push_back(table);
    initializers.push_back(ops::EmbeddingTableInitialize(on_device, table));
    flags.emplace_back(ops::EmbeddingTableIsInitialized(on_device, table));
    sizes.emplace_back(ops::EmbeddingTableSize(on_device, table));
  }
  variable.options_ = std::move(options);
  if (variable.moves()) {
    variable.MakeMap(inner, initializers, &flags);
    if (!scope.ok()) return variable;
  } else {
    variable.initializer_ = ops::NoOp(inner.WithControlDependencies(initializers).WithName("init"));
  }
  const Tensor axis = Tensor::Vector<int32_t>({0});
  variable.is_initialized_ = ops::All(inner.WithName("is_initialized"), ops::Pack(inner, flags), axis);
  variable.size_ = ops::Sum(inner.WithName("size"), ops::Pack(inner, sizes), axis);
  return variable;
}

void EmbeddingVariable::MakeMap(const Scope& scope, const std::vector<Operation>& table_initializers,
                                InputList* flags) {
  const int count = static_cast<int>(options_.devices.size());
  for (const std::string& device : options_.devices) {
    tasks_.push_back(TaskOf(scope, device));
    if (std::count(tasks_.begin(), tasks_.end(), tasks_.back()) == 1) continue;
    return scope.UpdateStatus(errors::InvalidArgument("Embedding '", name_, "' has device '", device,
                                                      "' twice, but its parts are distinguished by device"));
  }
  const int initial = options_.initial_devices == 0 ? count : options_.initial_devices;
  if (initial < 0 || initial > count) {
    return scope.UpdateStatus(
        errors::InvalidArgument("Embedding '", name_, "' cannot start on ", initial, " of ", count, " devices"));
  }
  const std::string& device = options_.map_device.empty() ? options_.devices[0] : options_.map_device;
  const Scope home = scope.WithDevice(device);
  map_ = ops::EmbeddingMap(home.WithName("map"), options_.parts, {.shared_name = absl::StrCat(name_, "/map")});
  const Tensor owners = Tensor::Vector<int32_t>(EvenOwners(options_.parts, initial));
  std::vector<Operation> owned;
  for (int i = 0; i < count; ++i) {
    const Scope beside = Beside(scope, i).WithControlDependencies({table_initializers[i]});
    owned.push_back(ops::EmbeddingTableOwn(beside, tables_[i], owners, Tensor::Scalar<int32_t>(i), {.create = true}));
  }
  const std::vector<tstring> names(tasks_.begin(), tasks_.end());
  initializer_ = ops::EmbeddingMapSet(home.WithControlDependencies(owned).WithName("init"), map_, owners,
                                      Tensor::Vector<tstring>(names));
  const Output known = ops::EmbeddingMapRead(home, map_).owners;
  flags->emplace_back(ops::Greater(home, ops::Size(home, known), Tensor::Scalar<int32_t>(0)));
}

Scope EmbeddingVariable::Beside(const Scope& scope, int part) const {
  return scope.WithDevice("").ColocateWith(tables_[part].op());
}

EmbeddingPull EmbeddingVariable::Pull(const Scope& scope, const Output& keys) const {
  const Scope inner = scope.SubScope("pull");
  const Output flat = ops::Reshape(inner, keys, Tensor::Vector<int32_t>({-1}));
  EmbeddingPull pull;
  const Divided divided = Divide(inner, flat, &pull);
  if (!scope.ok()) return {};
  SetWire(scope, divided.idx.op(), options_.wire);
  pull.keys = divided.parts;
  InputList rows;
  std::vector<Output> arrived;
  for (int i = 0; i < num_parts(); ++i) {
    const auto gathered = ops::EmbeddingTableGather(Beside(inner, i), tables_[i], pull.keys[i]);
    if (!scope.ok()) return {};
    SetWire(scope, gathered.output.op(), options_.wire);
    LetWait(options_, gathered.output.op());
    rows.emplace_back(gathered.output);
    arrived.push_back(gathered.version);
    pull.versions.push_back(gathered.version);
  }
  pull.unique =
      num_parts() == 1 ? ops::Identity(inner, rows[0]) : ops::ConcatV2(inner, rows, Tensor::Scalar<int32_t>(0));
  const Output shape = ops::Shape(inner, keys);
  pull.idx = ops::Reshape(inner, divided.idx, shape);
  if (moves()) {
    const Scope home = inner.WithDevice("").ColocateWith(map_.op());
    pull.arrived = ops::NoOp(home.WithControlDependencies(arrived).WithName("arrived"));
  }
  return pull;
}

EmbeddingVariable::Divided EmbeddingVariable::Divide(const Scope& scope, const Output& keys,
                                                     EmbeddingPull* pull) const {
  if (!moves()) {
    auto divided = ops::EmbeddingPartition(scope, keys, num_parts());
    return {std::move(divided.parts), divided.idx};
  }
  const auto route = ops::EmbeddingRoute(scope.WithDevice("").ColocateWith(map_.op()), map_, tasks_);
  pull->map = map_;
  pull->epoch = route.epoch;
  pull->tasks = tasks_;
  auto divided = ops::EmbeddingPartitionBy(scope, keys, route.owners, num_parts());
  return {std::move(divided.parts), divided.idx};
}

Output EmbeddingVariable::Embed(const Scope& scope, const EmbeddingPull& pull) const {
  return ops::GatherV2(scope, pull.unique, pull.idx, Tensor::Scalar<int32_t>(0));
}

Operation EmbeddingVariable::Push(const Scope& scope, const EmbeddingPull& pull, const Gradient& gradient,
                                  const Output& global_step, int worker) const {
  if (!gradient.valid()) {
    scope.UpdateStatus(errors::InvalidArgument("No gradient of embedding '", name_,
                                               "' was given. Does the loss depend on the pulled rows?"));
    return Operation();
  }
  if (worker < 0 || worker >= std::max(1, options_.synchronous_workers)) {
    scope.UpdateStatus(errors::InvalidArgument("Embedding '", name_, "' expects pushes of ",
                                               options_.synchronous_workers,
                                               " synchronous workers; there is no worker ", worker));
    return Operation();
  }
  const Scope inner = scope.SubScope("push");
  Output sum = gradient.values;
  if (gradient.is_sparse()) {
    const Output rows =
        ops::StridedSlice(inner, ops::Shape(inner, pull.unique), Tensor::Vector<int32_t>({0}),
                          Tensor::Vector<int32_t>({1}), Tensor::Vector<int32_t>({1}), {.shrink_axis_mask = 1});
    sum = ops::UnsortedSegmentSum(inner, gradient.values, gradient.indices, rows);
  }
  OutputList parts = {sum};
  if (num_parts() > 1) {
    InputList sizes;
    for (const Output& keys : pull.keys) sizes.emplace_back(ops::Size(inner, keys));
    parts = ops::SplitV(inner, sum, ops::Pack(inner, sizes), Tensor::Scalar<int32_t>(0), num_parts());
  }
  if (moves() && options_.synchronous_workers > 1) {
    SetNodeAttr("_weir_workers", options_.synchronous_workers, pull.epoch.op().node()->mutable_def());
  }
  std::vector<Operation> pushes;
  for (size_t i = 0; scope.ok() && i < parts.size(); ++i) {
    pushes.push_back(Apply(inner, static_cast<int>(i), pull, parts[i], global_step));
    if (!scope.ok()) break;
    SetWire(scope, pushes.back(), options_.wire);
    if (options_.synchronous_workers == 0) {
      LetWait(options_, pushes.back());
      continue;
    }
    tensorflow::NodeDef* const push = pushes.back().node()->mutable_def();
    SetNodeAttr("_kernel", "together", push);
    SetNodeAttr("_weir_worker", worker, push);
    SetNodeAttr("_weir_workers", options_.synchronous_workers, push);
  }
  // Colocated with the map, which releases the step when nothing of it is left there.
  const Scope end = moves() ? inner.WithDevice("").ColocateWith(map_.op()) : inner;
  return ops::NoOp(end.WithControlDependencies(pushes).WithName("done"));
}

Operation EmbeddingVariable::Apply(const Scope& scope, int part, const EmbeddingPull& pull, const Output& gradient,
                                   const Output& global_step) const {
  const Scope beside = Beside(scope, part);
  const EmbeddingOptimizer& o = options_.optimizer;
  const auto rate = static_cast<float>(o.learning_rate);
  const Output &table = tables_[part], &keys = pull.keys[part], &version = pull.versions[part];
  const auto apply = [&](auto op, auto attrs, auto... scalars) {
    attrs.conflict_policy = options_.conflict_policy;
    attrs.staleness_bound = options_.staleness_bound;
    return op(beside, table, scalars..., keys, gradient, version, global_step, attrs).op();
  };
  switch (o.kind) {
    case EmbeddingOptimizer::Kind::kGradientDescent:
      return apply(ops::EmbeddingTableApplyGradientDescent, ops::EmbeddingTableApplyGradientDescentAttrs(), rate);
    case EmbeddingOptimizer::Kind::kAdagrad:
      return apply(ops::EmbeddingTableApplyAdagrad, ops::EmbeddingTableApplyAdagradAttrs(), rate);
    case EmbeddingOptimizer::Kind::kAdam:
      return apply(ops::EmbeddingTableApplyAdam, ops::EmbeddingTableApplyAdamAttrs(),
                   Power(beside, o.beta1, global_step), Power(beside, o.beta2, global_step), rate,
                   static_cast<float>(o.beta1), static_cast<float>(o.beta2), static_cast<float>(o.epsilon));
    case EmbeddingOptimizer::Kind::kFtrl:
      return apply(ops::EmbeddingTableApplyFtrl, ops::EmbeddingTableApplyFtrlAttrs(), rate, static_cast<float>(o.l1),
                   static_cast<float>(o.l2), static_cast<float>(o.learning_rate_power));
  }
  return Operation();
}

Operation EmbeddingVariable::Evict(const Scope& scope, const Output& global_step) const {
  const Scope inner = scope.SubScope("evict");
  std::vector<Output> evicted;
  for (int i = 0; i < num_parts(); ++i) {
    evicted.push_back(ops::EmbeddingTableEvict(Beside(inner, i), tables_[i], global_step));
  }
  return ops::NoOp(inner.WithControlDependencies(evicted).WithName("done"));
}

}  // namespace weir
