#include "distribute/cluster/cluster_spec.h"

#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "distribute/cluster/address.h"
#include "distribute/cluster/cluster_json.h"
#include "tensorflow/core/protobuf/cluster.pb.h"

namespace weir {
namespace {

bool IsJobName(absl::string_view name) {
  if (name.empty() || !absl::ascii_isalpha(name[0])) return false;
  for (char c : name) {
    if (!absl::ascii_isalnum(c) && c != '_') return false;
  }
  return true;
}

// "0" … "2147483647", nothing else.
bool ParseIndex(absl::string_view text, int* index) {
  for (char c : text) {
    if (!absl::ascii_isdigit(c)) return false;
  }
  return absl::SimpleAtoi(text, index);
}

}  // namespace

std::string TaskName(absl::string_view job, int index) { return absl::StrCat("/job:", job, "/replica:0/task:", index); }

absl::Status ClusterSpec::AddTask(absl::string_view job, int index, absl::string_view address) {
  const std::string where = absl::StrCat("Task ", index, " of job '", job, "'");
  if (!IsJobName(job)) {
    return errors::InvalidArgument("'", job, "' is not a job name: it has letters, digits and '_', a letter first");
  }
  if (index < 0) return errors::InvalidArgument(where, ": an index is not negative");
  absl::StatusOr<Address> parsed = Address::Parse(address);
  if (!parsed.ok()) return Annotate(parsed.status(), where);
  const std::string normal = parsed->ToString();
  if (auto it = jobs_.find(std::string(job)); it != jobs_.end() && it->second.count(index) > 0) {
    return errors::InvalidArgument(where, " is given twice: ", it->second.at(index), " and ", normal);
  }
  if (parsed->is_unix() || parsed->port() != 0) {
    auto [other, added] = task_by_address_.emplace(normal, TaskName(job, index));
    if (!added) return errors::InvalidArgument(where, " has the address of ", other->second, ": ", normal);
  }
  jobs_[std::string(job)][index] = normal;
  return absl::OkStatus();
}

absl::StatusOr<ClusterSpec> ClusterSpec::FromProto(const tensorflow::ClusterDef& def) {
  ClusterSpec spec;
  for (const tensorflow::JobDef& job : def.job()) {
    if (spec.jobs_.count(job.name()) > 0) {
      return errors::InvalidArgument("Job '", job.name(), "' is given twice");
    }
    if (job.tasks().empty()) return errors::InvalidArgument("Job '", job.name(), "' has no tasks");
    for (const auto& [index, address] : job.tasks()) RETURN_IF_ERROR(spec.AddTask(job.name(), index, address));
  }
  return spec;
}

void ClusterSpec::ToProto(tensorflow::ClusterDef* def) const {
  def->Clear();
  for (const auto& [name, tasks] : jobs_) {
    tensorflow::JobDef* job = def->add_job();
    job->set_name(name);
    for (const auto& [index, address] : tasks) (*job->mutable_tasks())[index] = address;
  }
}

std::vector<std::string> ClusterSpec::TaskNames() const {
  std::vector<std::string> names;
  for (const auto& [job, tasks] : jobs_) {
    for (const auto& [index, address] : tasks) names.push_back(TaskName(job, index));
  }
  return names;
}

absl::StatusOr<std::string> ClusterSpec::AddressOf(absl::string_view job, int index) const {
  auto tasks = jobs_.find(std::string(job));
  if (tasks != jobs_.end()) {
    auto found = tasks->second.find(index);
    if (found != tasks->second.end()) return found->second;
  }
  const std::string known = jobs_.empty() ? "no task at all" : absl::StrJoin(TaskNames(), ", ");
  return errors::NotFound("The cluster has no task ", index, " of job '", job, "'; it has ", known);
}

absl::StatusOr<std::string> ClusterSpec::AddressOfTask(absl::string_view task) const {
  constexpr absl::string_view kMiddle = "/replica:0/task:";
  absl::string_view job = task;
  const bool has_job = absl::ConsumePrefix(&job, "/job:");
  const size_t end = job.find(kMiddle);
  int index = 0;
  if (has_job && end != absl::string_view::npos && ParseIndex(job.substr(end + kMiddle.size()), &index)) {
    const auto found = jobs_.find(std::string(job.substr(0, end)));
    if (found != jobs_.end()) {
      const auto at = found->second.find(index);
      if (at != found->second.end() && TaskName(found->first, index) == task) return at->second;
    }
  }
  return errors::NotFound("The cluster has no task '", absl::CEscape(task), "'; it has ",
                          absl::StrJoin(TaskNames(), ", "));
}

absl::StatusOr<ClusterSpec> ClusterSpec::FromJson(absl::string_view json) {
  ASSIGN_OR_RETURN(const nlohmann::json parsed, ParseJson(json, "The cluster"));
  return ClusterFromJson(parsed, "cluster");
}

absl::StatusOr<nlohmann::json> ParseJson(absl::string_view text, absl::string_view what) {
  // The parser would silently use the last of duplicate keys.
  std::vector<std::set<std::string>> open;
  std::string repeated;
  const auto note = [&](int, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
    if (event == nlohmann::json::parse_event_t::object_start) open.emplace_back();
    if (event == nlohmann::json::parse_event_t::object_end) open.pop_back();
    if (event == nlohmann::json::parse_event_t::key && !open.back().insert(parsed.get<std::string>()).second) {
      repeated = Quote(parsed);
    }
    return true;
  };
  try {
    nlohmann::json parsed = nlohmann::json::parse(text.begin(), text.end(), note);
    if (!repeated.empty()) return errors::InvalidArgument(what, " has the key ", repeated, " twice");
    return parsed;
  } catch (const nlohmann::json::exception& error) {
    return errors::InvalidArgument(what, " is not JSON: ", error.what());
  }
}

nlohmann::json ClusterToJson(const ClusterSpec& spec) {
  nlohmann::json cluster = nlohmann::json::object();
  for (const auto& [job, tasks] : spec.jobs()) {
    const bool gaps = tasks.rbegin()->first + 1 != static_cast<int>(tasks.size());
    for (const auto& [index, address] : tasks) {
      if (gaps) {
        cluster[job][absl::StrCat(index)] = address;
      } else {
        cluster[job].push_back(address);
      }
    }
  }
  return cluster;
}

std::string Quote(const nlohmann::json& value) {
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true, nlohmann::json::error_handler_t::replace);
  if (text.size() > 80) text = absl::StrCat(text.substr(0, 80), "...");
  return text;
}

absl::StatusOr<ClusterSpec> ClusterFromJson(const nlohmann::json& value, absl::string_view where) {
  if (!value.is_object()) {
    return errors::InvalidArgument(where, " is not a map of jobs to addresses but ", Quote(value));
  }
  ClusterSpec spec;
  for (const auto& [job, tasks] : value.items()) {
    const std::string job_where = absl::StrCat(where, ".", job);
    if ((!tasks.is_array() && !tasks.is_object()) || tasks.empty()) {
      return errors::InvalidArgument(
          job_where, " is neither a list of addresses nor a map of indices to addresses but ", Quote(tasks));
    }
    int position = 0;
    for (const auto& [key, address] : tasks.items()) {
      const std::string task_where =
          absl::StrCat(job_where, "[", tasks.is_object() ? absl::StrCat("\"", key, "\"") : key, "]");
      int index = position++;
      if (tasks.is_object() && !ParseIndex(key, &index)) {
        return errors::InvalidArgument(task_where, ": '", key, "' is not a task index");
      }
      if (!address.is_string()) {
        return errors::InvalidArgument(task_where, " is not an address but ", Quote(address));
      }
      if (absl::Status status = spec.AddTask(job, index, address.get<std::string>()); !status.ok()) {
        return Annotate(status, task_where);
      }
    }
  }
  return spec;
}

}  // namespace weir
