#include "graph/state_key.h"

#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/device/device_name.h"
#include "core/op/attr_value.h"

namespace weir {
namespace {

// TensorFlow allows no such character in a container's name.
constexpr char kAt = '@';

constexpr absl::string_view kDefaultContainer = "localhost";
// The shared_name of a variable that belongs to one execution of its node.
constexpr absl::string_view kAnonymousName = "cd2c89b7-88b7-44c8-ad83-06c2a9158347";

std::string StringAttr(const Node& node, const char* name) {
  const tensorflow::AttrValue* const attr = FindAttr(node.def(), name);
  return attr == nullptr ? "" : attr->s();
}

bool IsVariable(absl::string_view op) { return op == "VarHandleOp" || op == "VariableV2" || op == "Variable"; }

bool IsTable(absl::string_view op) {
  static const auto* const kOps = new absl::flat_hash_set<std::string>(
      {"EmbeddingTable", "EmbeddingMap", "HashTable", "HashTableV2", "MutableHashTable", "MutableHashTableV2",
       "MutableHashTableOfTensors", "MutableHashTableOfTensorsV2", "MutableDenseHashTable", "MutableDenseHashTableV2"});
  return kOps->contains(op);
}

// The state to which a node with the attributes container and shared_name gives access.
std::optional<StateKey> KeyOfHandle(const Node& node) {
  StateKey key{node.assigned_device(), StringAttr(node, "container"), StringAttr(node, "shared_name")};
  if (key.name == kAnonymousName || key.device.empty()) return std::nullopt;
  if (key.name.empty()) key.name = node.name();
  if (std::optional<StateKey> moved = KeyOfContainerAway(key.container, key.name)) return moved;
  if (key.container.empty()) key.container = std::string(kDefaultContainer);
  return key;
}

}  // namespace

std::string StateKey::task() const {
  const absl::StatusOr<DeviceName> name = DeviceName::ParseFull(device);
  return name.ok() ? name->TaskName() : "";
}

std::string ContainerAway(const StateKey& key) {
  const absl::StatusOr<DeviceName> device = DeviceName::ParseFull(key.device);
  if (!device.ok()) return key.container;
  return absl::StrCat(key.container, std::string(1, kAt), *device->job, "/", *device->task, "/", *device->type, "/",
                      *device->id);
}

std::optional<StateKey> KeyOfContainerAway(absl::string_view container, absl::string_view name) {
  const size_t at = container.rfind(kAt);
  if (at == absl::string_view::npos || at == 0) return std::nullopt;
  const std::vector<absl::string_view> parts = absl::StrSplit(container.substr(at + 1), '/');
  int task, id;
  if (parts.size() != 4 || !absl::SimpleAtoi(parts[1], &task) || !absl::SimpleAtoi(parts[3], &id)) return std::nullopt;
  const absl::StatusOr<DeviceName> device =
      DeviceName::ParseFull(absl::StrCat("/job:", parts[0], "/replica:0/task:", task, "/device:", parts[2], ":", id));
  if (!device.ok()) return std::nullopt;
  return StateKey{device->ToString(), std::string(container.substr(0, at)), std::string(name)};
}

std::string ContainerOn(const StateKey& key, absl::string_view task) {
  return key.task() == task ? key.container : ContainerAway(key);
}

std::optional<StateKey> StateKeyOf(const Node& node) {
  return IsVariable(node.op()) ? KeyOfHandle(node) : std::nullopt;
}

std::optional<StateKey> ReplicatedKeyOf(const Node& node) {
  return IsVariable(node.op()) || IsTable(node.op()) ? KeyOfHandle(node) : std::nullopt;
}

}  // namespace weir
