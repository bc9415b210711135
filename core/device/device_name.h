// Device names, full and partial: "/job:ps/replica:0/task:1/device:CPU:0".
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "core/api.h"
#include "core/status.h"

namespace WEIR_API weir {

// Each part may be unset. Parse accepts TensorFlow's full and legacy forms ("/job:a/task:1/cpu:0", "/device:GPU:*",
// "/gpu:0"), in any order. Device types print in upper case.
struct DeviceName {
  std::optional<std::string> job;
  std::optional<int> replica;
  std::optional<int> task;
  std::optional<std::string> type;
  std::optional<int> id;

  // InvalidArgument, quoting the name, if it is malformed. The empty string is no constraint.
  static absl::StatusOr<DeviceName> Parse(absl::string_view name);
  // Like Parse, but every part must be set.
  static absl::StatusOr<DeviceName> ParseFull(absl::string_view name);

  std::string ToString() const;
  bool IsFull() const { return job && replica && task && type && id; }
  // Whether a device with this full name satisfies `spec`.
  bool Matches(const DeviceName& spec) const;
  bool IsCompatibleWith(const DeviceName& other) const;
  // Parts of `other` take precedence (as with nested tf.device scopes).
  DeviceName OverriddenBy(const DeviceName& other) const;
  // InvalidArgument if both set a part differently. With `allow_soft`, a differing type or id is dropped instead.
  absl::StatusOr<DeviceName> MergedWith(const DeviceName& other, bool allow_soft = false) const;
  // Job, replica and task only: "/job:ps/replica:0/task:1".
  std::string TaskName() const;
  bool SameTask(const DeviceName& other) const {
    return job == other.job && replica == other.replica && task == other.task;
  }
  friend bool operator==(const DeviceName& a, const DeviceName& b) = default;
};

}  // namespace weir
