#include "distribute/cluster/tf_config.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "distribute/cluster/cluster_json.h"

namespace weir {
namespace {

absl::Status Bad(absl::string_view key, const nlohmann::json& value, absl::string_view wanted) {
  return errors::InvalidArgument("TF_CONFIG: ", key, " is not ", wanted, " but ", Quote(value));
}

absl::Status ReadString(const nlohmann::json& object, const char* key, absl::string_view name, std::string* out) {
  auto found = object.find(key);
  if (found == object.end()) return absl::OkStatus();
  if (!found->is_string()) return Bad(name, *found, "a string");
  *out = found->get<std::string>();
  return absl::OkStatus();
}

// Reads a number, or a string of digits.
absl::Status ReadIndex(const nlohmann::json& value, int* index) {
  if (value.is_number_integer()) {
    const bool fits = value.is_number_unsigned() ? value.get<uint64_t>() <= 0x7fffffff : false;
    if (!fits) return Bad("task.index", value, "an index from 0");
    *index = static_cast<int>(value.get<uint64_t>());
    return absl::OkStatus();
  }
  if (value.is_string()) {
    const std::string text = value.get<std::string>();
    bool digits = !text.empty();
    for (char c : text) digits = digits && absl::ascii_isdigit(c);
    if (digits && absl::SimpleAtoi(text, index)) return absl::OkStatus();
  }
  return Bad("task.index", value, "an index from 0");
}

absl::Status ReadTask(const nlohmann::json& root, TfConfig* config) {
  auto task = root.find("task");
  if (task == root.end()) return absl::OkStatus();
  if (!task->is_object()) return Bad("task", *task, "a map with type and index");
  RETURN_IF_ERROR(ReadString(*task, "type", "task.type", &config->task_type));
  if (auto index = task->find("index"); index != task->end()) RETURN_IF_ERROR(ReadIndex(*index, &config->task_index));
  if (config->task_type.empty()) return errors::InvalidArgument("TF_CONFIG: task has no type: ", Quote(*task));
  return absl::OkStatus();
}

absl::Status CheckMembership(const TfConfig& config) {
  const auto& jobs = config.cluster.jobs();
  for (const char* leader : {"chief", "master"}) {
    auto found = jobs.find(leader);
    if (found != jobs.end() && found->second.size() > 1) {
      return errors::InvalidArgument("TF_CONFIG: cluster.", leader, " has ", found->second.size(),
                                     " tasks, and may have one");
    }
  }
  if (jobs.count("chief") > 0 && jobs.count("master") > 0) {
    return errors::InvalidArgument("TF_CONFIG: cluster has both a chief and a master");
  }
  if (config.task_type.empty() || jobs.empty()) return absl::OkStatus();
  auto found = jobs.find(config.task_type);
  if (found == jobs.end() && config.task_type == "evaluator") return absl::OkStatus();
  if (found == jobs.end() || found->second.count(config.task_index) == 0) {
    return errors::InvalidArgument("TF_CONFIG: task is ", config.task_type, " ", config.task_index,
                                   ", which cluster does not have; it has ",
                                   absl::StrJoin(config.cluster.TaskNames(), ", "));
  }
  return absl::OkStatus();
}

}  // namespace

bool TfConfig::IsChief() const {
  if (task_type == "chief" || task_type == "master") return true;
  const auto& jobs = cluster.jobs();
  return task_type == "worker" && task_index == 0 && jobs.count("chief") == 0 && jobs.count("master") == 0;
}

std::string TfConfigJson(const TfConfig& config) {
  nlohmann::json json;
  json["cluster"] = ClusterToJson(config.cluster);
  json["task"] = {{"type", config.task_type}, {"index", config.task_index}};
  return json.dump();
}

absl::StatusOr<TfConfig> ParseTfConfig(absl::string_view json) {
  ASSIGN_OR_RETURN(const nlohmann::json root, ParseJson(json, "TF_CONFIG"));
  if (!root.is_object()) return errors::InvalidArgument("TF_CONFIG is not a map but ", Quote(root));
  TfConfig config;
  if (auto cluster = root.find("cluster"); cluster != root.end()) {
    ASSIGN_OR_RETURN(config.cluster, ClusterFromJson(*cluster, "TF_CONFIG: cluster"));
  }
  RETURN_IF_ERROR(ReadTask(root, &config));
  RETURN_IF_ERROR(ReadString(root, "environment", "environment", &config.environment));
  RETURN_IF_ERROR(ReadString(root, "rpc_layer", "rpc_layer", &config.rpc_layer));
  if (config.rpc_layer != "grpc") {
    return errors::InvalidArgument("TF_CONFIG: rpc_layer is '", config.rpc_layer, "', and only 'grpc' is spoken");
  }
  RETURN_IF_ERROR(CheckMembership(config));
  return config;
}

}  // namespace weir
