#include "distribute/membership/moved_state.h"

#include <algorithm>

#include "core/op/attr_value.h"

namespace weir {

StateKey ToStateKey(const StateName& name) { return {name.device(), name.container(), name.name()}; }

StateName ToStateName(const StateKey& key) {
  StateName name;
  name.set_device(key.device);
  name.set_container(key.container);
  name.set_name(key.name);
  return name;
}

StateUse DescribeState(const StateKey& key, const Node& node) {
  StateUse use;
  *use.mutable_state() = ToStateName(key);
  use.set_op(node.op());
  if (const tensorflow::AttrValue* const dtype = FindAttr(node.def(), "dtype")) use.set_dtype(dtype->type());
  if (const tensorflow::AttrValue* const shape = FindAttr(node.def(), "shape")) *use.mutable_shape() = shape->shape();
  return use;
}

MovedState::MovedState(const ClusterView& view) : move_epoch_(view.move().epoch()) {
  for (const StateHome& home : view.home()) {
    homes_[ToStateKey(home.state())] = {home.task(), home.epoch()};
    epoch_ = std::max(epoch_, home.epoch());
  }
  for (const Successor& entry : view.successor()) {
    successors_[entry.task()] = entry.successor();
    epoch_ = std::max(epoch_, entry.epoch());
  }
  for (const StateHome& home : view.move().home()) moving_[ToStateKey(home.state())] = {home.task(), home.epoch()};
}

std::string MovedState::HomeOf(const StateKey& key) const {
  const auto found = homes_.find(key);
  if (found != homes_.end()) return found->second.task;
  return successors_.empty() ? "" : SuccessorOf(key.task());
}

std::string MovedState::HolderOf(const StateKey& key) const {
  std::string home = HomeOf(key);
  return home.empty() ? key.task() : home;
}

std::string MovedState::SuccessorOf(const std::string& task) const {
  const auto found = successors_.find(task);
  return found == successors_.end() ? "" : found->second;
}

std::string MovedState::NextHomeOf(const StateKey& key) const {
  const auto found = moving_.find(key);
  return found == moving_.end() ? "" : found->second.task;
}

int64_t MovedState::EpochOf(const StateKey& key) const {
  const auto found = homes_.find(key);
  return found == homes_.end() ? 0 : found->second.epoch;
}

}  // namespace weir
