// The tasks of a cluster and their addresses.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/api.h"
#include "core/device/device_name.h"
#include "core/status.h"

namespace tensorflow {
class ClusterDef;
}

namespace WEIR_API weir {

// "/job:ps/replica:0/task:1".
std::string TaskName(absl::string_view job, int index);

// Jobs and their tasks; indices need not be consecutive. A value. Every task is checked when it is added: job names
// match [a-zA-Z][a-zA-Z0-9_]*, indices are not negative, addresses are well-formed and unique (except for port 0).
class ClusterSpec {
 public:
  using Tasks = std::map<int, std::string>;

  static absl::StatusOr<ClusterSpec> FromProto(const tensorflow::ClusterDef& def);
  // {"worker": ["host:port", …]} or {"worker": {"0": "host:port", "3": …}}. Errors quote the wrong key and value.
  static absl::StatusOr<ClusterSpec> FromJson(absl::string_view json);
  void ToProto(tensorflow::ClusterDef* def) const;

  absl::Status AddTask(absl::string_view job, int index, absl::string_view address);

  const std::map<std::string, Tasks>& jobs() const { return jobs_; }
  bool empty() const { return jobs_.empty(); }
  // In order of job name and index.
  std::vector<std::string> TaskNames() const;
  // NotFound, which lists the tasks, if there is no such task.
  absl::StatusOr<std::string> AddressOf(absl::string_view job, int index) const;
  absl::StatusOr<std::string> AddressOfTask(absl::string_view task) const;  // the same, by the task's name

  friend bool operator==(const ClusterSpec& a, const ClusterSpec& b) = default;

 private:
  std::map<std::string, Tasks> jobs_;
  std::map<std::string, std::string> task_by_address_;
};

}  // namespace weir
