#include "graph/state_key.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/device/device_name.h"
#include "core/op/attr_value.h"

namespace weir {
namespace {

// Characters that TensorFlow allows in a container's name.
constexpr absl::string_view kOf = "of";
constexpr size_t kParts = 5;  // of the suffix: "of", job, task, device type, device number

constexpr absl::string_view kDefaultContainer = "localhost";
// The shared_name of a variable that belongs to one execution of its node.
constexpr absl::string_view kAnonymousName = "cd2c89b7-88b7-44c8-ad83-06c2a9158347";

std::string StringAttr(const Node& node, const char* name) {
  const tensorflow::AttrValue* const attr = FindAttr(node.def(), name);
  return attr == nullptr ? "" : attr->s();
}

}  // namespace

std::string ContainerAway(const StateKey& key) {
  const absl::StatusOr<DeviceName> device = DeviceName::ParseFull(key.device);
  if (!device.ok()) return key.container;
  return absl::StrJoin(std::make_tuple(key.container, kOf, *device->job, *device->task, *device->type, *device->id),
                       "/");
}

std::optional<StateKey> KeyOfContainerAway(absl::string_view container, absl::string_view name) {
  const std::vector<absl::string_view> parts = absl::StrSplit(container, '/');
  int task, id;
  if (parts.size() <= kParts) return std::nullopt;
  const auto suffix = parts.end() - kParts;
  if (suffix[0] != kOf || !absl::SimpleAtoi(suffix[2], &task) || !absl::SimpleAtoi(suffix[4], &id)) return std::nullopt;
  const absl::StatusOr<DeviceName> device =
      DeviceName::ParseFull(absl::StrCat("/job:", suffix[1], "/replica:0/task:", task, "/device:", suffix[3], ":", id));
  if (!device.ok()) return std::nullopt;
  return StateKey{device->ToString(), absl::StrJoin(parts.begin(), suffix, "/"), std::string(name)};
}

std::optional<StateKey> StateKeyOf(const Node& node) {
  if (node.op() != "VarHandleOp" && node.op() != "VariableV2" && node.op() != "Variable") return std::nullopt;
  StateKey key{node.assigned_device(), StringAttr(node, "container"), StringAttr(node, "shared_name")};
  if (key.name == kAnonymousName || key.device.empty()) return std::nullopt;
  if (key.name.empty()) key.name = node.name();
  if (std::optional<StateKey> moved = KeyOfContainerAway(key.container, key.name)) return moved;
  if (key.container.empty()) key.container = std::string(kDefaultContainer);
  return key;
}

}  // namespace weir
