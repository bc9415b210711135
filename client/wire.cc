#include "client/wire.h"

#include <string>

#include "core/op/attr_value.h"
#include "core/wire/wire_options.h"
#include "graph/graph.h"

namespace weir {

void SetWire(const Scope& scope, const Operation& operation, absl::string_view wire) {
  scope.UpdateStatus(WireOptions::Parse(wire).status());
  if (!scope.ok() || !operation.valid() || wire.empty()) return;
  SetNodeAttr(kWireAttr, std::string(wire), operation.node()->mutable_def());
}

absl::Status SetWire(const GraphRegion& region, absl::string_view wire) {
  RETURN_IF_ERROR(WireOptions::Parse(wire).status());
  if (wire.empty()) return absl::OkStatus();
  for (Node* node : region.graph->nodes()) {
    if (!region.Contains(*node) || FindAttr(node->def(), kWireAttr) != nullptr) continue;
    SetNodeAttr(kWireAttr, std::string(wire), node->mutable_def());
  }
  return absl::OkStatus();
}

}  // namespace weir
