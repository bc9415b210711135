// Clusters out of parsed JSON: shared by what reads JSON, and seen by nobody else (the JSON header is heavy).
#pragma once

#include <nlohmann/json.hpp>

#include "absl/strings/string_view.h"
#include "core/status.h"
#include "distribute/cluster/cluster_spec.h"

namespace weir {

// InvalidArgument with the parser's reason and place. `what` names the text: "TF_CONFIG".
absl::StatusOr<nlohmann::json> ParseJson(absl::string_view text, absl::string_view what);
// `where` names the value in messages: "TF_CONFIG: cluster".
absl::StatusOr<ClusterSpec> ClusterFromJson(const nlohmann::json& value, absl::string_view where);
// {"worker": ["host:port", …]}, or a map by index for a job whose indices have gaps.
nlohmann::json ClusterToJson(const ClusterSpec& spec);
// The value as JSON, cut short.
std::string Quote(const nlohmann::json& value);

}  // namespace weir
