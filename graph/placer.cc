#include "graph/placer.h"

#include <optional>

#include "absl/strings/str_join.h"
#include "core/device/device.h"
#include "graph/placement/groups.h"

namespace weir {
namespace {

// Whether a group has its device, or never gets one.
struct GroupState {
  bool placed = false;
  bool waits = false;  // for its variants' producers to be placed
};

class Placer {
 public:
  Placer(const PlacerOptions& options, Graph* graph)
      : options_(options),
        colocated_(ColocateNodes(*graph, options.allow_soft_placement)),
        states_(colocated_.groups.size()) {}

  absl::flat_hash_map<std::string, absl::Status> Run() {
    const int groups = static_cast<int>(states_.size());
    for (int i = 0; i < groups; ++i) Place(i, /*follow_consumer=*/true);
    for (int i = 0; i < groups; ++i) PlaceBehindVariants(i);
    for (int i = 0; i < groups; ++i) Place(i, /*follow_consumer=*/false);
    return std::move(errors_);
  }

 private:
  // Places groups that wait for the producers of their variants, producers first, in chains of any length.
  void PlaceBehindVariants(int index) {
    std::vector<int> row;
    for (int next = index; next >= 0 && !states_[next].placed && !states_[next].waits;
         next = MakerOfVariants(colocated_, next)) {
      states_[next].waits = true;
      row.push_back(next);
    }
    for (auto next = row.rbegin(); next != row.rend(); ++next) {
      Place(*next, /*follow_consumer=*/true);
      states_[*next].waits = false;
    }
  }

  void Place(int index, bool follow_consumer) {
    GroupState& state = states_[index];
    PlacementGroup& group = colocated_.groups[index];
    if (state.placed) return;
    if (group.error.ok() && group.fixed) return Assign(index, *group.fixed);
    if (group.error.ok()) {
      const int consumer = SoleConsumer(colocated_, index);
      if (follow_consumer && consumer >= 0) return;
      std::optional<DeviceName> preferred = consumer >= 0 ? DeviceOf(consumer) : std::nullopt;
      if (const int maker = MakerOfVariants(colocated_, index); maker >= 0) {
        if (!states_[maker].placed && !state.waits) return;
        preferred = DeviceOf(maker);
      }
      auto device = Choose(group, preferred);
      if (device.ok()) return Assign(index, *device);
      group.error = device.status();
    }
    state.placed = true;
    for (Node* node : group.members) errors_[node->name()] = group.error;
  }

  std::optional<DeviceName> DeviceOf(int index) const {
    const std::string& device = colocated_.groups[index].members[0]->assigned_device();
    if (device.empty()) return std::nullopt;
    auto parsed = DeviceName::ParseFull(device);
    return parsed.ok() ? std::optional<DeviceName>(*parsed) : std::nullopt;
  }

  absl::StatusOr<DeviceName> Choose(const PlacementGroup& group, const std::optional<DeviceName>& preferred) const {
    if (preferred && preferred->Matches(group.request) && HasKernelsOn(*options_.kernels, group, *preferred))
      return *preferred;
    bool any_match = false;
    for (const DeviceName& device : options_.devices) {
      if (!Admits(group, device)) continue;
      any_match = true;
      if (HasKernelsOn(*options_.kernels, group, device)) return device;
    }
    if (options_.allow_soft_placement) {
      // Another device of the same task, never of another one: state lives in the task.
      DeviceName task = group.request;
      task.type.reset();
      task.id.reset();
      for (const DeviceName& device : options_.devices) {
        if (device.Matches(task) && HasKernelsOn(*options_.kernels, group, device)) return device;
      }
    }
    return any_match ? NoKernel(group) : NoDevice(group);
  }

  absl::Status NoDevice(const PlacementGroup& group) const {
    const Node& node = *group.members[0];
    return errors::InvalidArgument(
        "Cannot assign a device for operation ", node.name(), ": {{node ", node.name(),
        "}} was explicitly assigned to ", group.request.ToString(), " but available devices are [ ",
        absl::StrJoin(options_.devices, ", ",
                      [](std::string* out, const DeviceName& d) { absl::StrAppend(out, d.ToString()); }),
        " ]. Make sure the device specification refers to a valid device.");
  }

  absl::Status NoKernel(const PlacementGroup& group) const {
    for (const DeviceName& device : options_.devices) {
      if (!device.Matches(group.request)) continue;
      for (const Node* node : group.members) {
        if (HasKernelOn(*options_.kernels, *node, device)) continue;
        if (group.request.type && *group.request.type != kDeviceCpu) return NotOnType(*node, *group.request.type);
        absl::Status status = options_.kernels->Find(node->def(), *device.type).status();
        return absl::Status(
            status.code(), absl::StrCat("Cannot assign a device for operation ", node->name(), ": ", status.message()));
      }
    }
    return errors::Internal("Cannot assign a device for operation ", group.members[0]->name());
  }

  // In TensorFlow's words.
  absl::Status NotOnType(const Node& node, absl::string_view type) const {
    const absl::Status none = options_.kernels->Find(node.def(), type).status();
    return errors::InvalidArgument("Cannot assign a device for operation ", node.name(),
                                   ": Could not satisfy explicit device specification '", node.requested_device(),
                                   "' because no supported kernel for ", type,
                                   " devices is available.\nOp: ", node.op(), "\n", none.message());
  }

  void Assign(int index, const DeviceName& device) {
    states_[index].placed = true;
    const std::string name = device.ToString();
    for (Node* node : colocated_.groups[index].members) {
      node->set_assigned_device(name);
      if (options_.moved != nullptr) ReportIfMoved(*node, device);
    }
  }

  // Nodes that follow others of their group are reported only if they have no kernel on the requested device.
  void ReportIfMoved(const Node& node, const DeviceName& device) const {
    const absl::StatusOr<DeviceName> asked = DeviceName::Parse(node.requested_device());
    if (!asked.ok() || !asked->type || asked->type == device.type) return;
    if (!options_.kernels->Find(node.def(), *asked->type).ok()) options_.moved(node, *asked->type, device);
  }

  const PlacerOptions& options_;
  PlacementGroups colocated_;
  std::vector<GroupState> states_;  // by group
  absl::flat_hash_map<std::string, absl::Status> errors_;
};

}  // namespace

absl::flat_hash_map<std::string, absl::Status> PlaceGraph(const PlacerOptions& options, Graph* graph) {
  return Placer(options, graph).Run();
}

}  // namespace weir
