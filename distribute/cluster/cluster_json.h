// Reads and writes JSON, and clusters as JSON. For few sources, because the JSON header is expensive to compile.
#pragma once

#include <nlohmann/json.hpp>

#include "absl/strings/string_view.h"
#include "core/status.h"
#include "distribute/cluster/cluster_spec.h"

namespace weir {

// InvalidArgument with the parser's reason and position. `what` names the text: "TF_CONFIG".
absl::StatusOr<nlohmann::json> ParseJson(absl::string_view text, absl::string_view what);
// `where` names the value in messages: "TF_CONFIG: cluster".
absl::StatusOr<ClusterSpec> ClusterFromJson(const nlohmann::json& value, absl::string_view where);
// {"worker": ["host:port", …]}, or a map by index if a job's indices have gaps.
nlohmann::json ClusterToJson(const ClusterSpec& spec);
// The value as JSON, shortened.
std::string Quote(const nlohmann::json& value);

}  // namespace weir
