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

MovedState::MovedState(const ClusterView& view)
    : copied_(view.move().standby()),
      epoch_(view.standby_epoch()),
      move_epoch_(view.move().epoch()),
      standby_epoch_(view.standby_epoch()),
      loss_epoch_(view.loss_epoch()) {
  for (const StateHome& home : view.home()) {
    homes_[ToStateKey(home.state())] = {home.task(), home.epoch()};
    epoch_ = std::max(epoch_, home.epoch());
  }
  for (const Successor& entry : view.successor()) {
    successors_[entry.task()] = entry.successor();
    if (entry.epoch() == view.loss_epoch()) lost_.insert(entry.task());
    epoch_ = std::max(epoch_, entry.epoch());
  }
  for (const Standby& standby : view.standby()) {
    standbys_[standby.task()].push_back(standby);
    related_.insert({standby.task(), standby.standby()});
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

const std::vector<Standby>& MovedState::StandbysOf(const std::string& task) const {
  static const auto* const kNone = new std::vector<Standby>();
  const auto found = standbys_.find(task);
  return found == standbys_.end() ? *kNone : found->second;
}

bool MovedState::StandsBy(const std::string& standby, const std::string& task) const {
  if (copied_.task() == task && copied_.standby() == standby) return true;
  const std::vector<Standby>& known = StandbysOf(task);
  return std::any_of(known.begin(), known.end(), [&](const Standby& entry) { return entry.standby() == standby; });
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
