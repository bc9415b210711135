#include "core/kernel/determinism.h"

#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {

bool IsDeterministic(const tensorflow::NodeDef& node) {
  const auto attr = node.attr().find(kDeterministicAttr);
  return attr != node.attr().end() && attr->second.b();
}

absl::Status CheckSeeds(const tensorflow::NodeDef& node, int64_t seed, int64_t seed2) {
  if (seed != 0 || seed2 != 0 || !IsDeterministic(node)) return absl::OkStatus();
  return errors::InvalidArgument("When determinism is enabled, random ops must have a seed specified.");
}

}  // namespace weir
