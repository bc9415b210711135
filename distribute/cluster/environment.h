// Environment variables as checkable values.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/api.h"
#include "core/status.h"

namespace WEIR_API weir {

// Names and values of environment variables. A value; readers must not trust the contents. A variable with an empty
// value counts as not set.
class Environment {
 public:
  Environment() = default;
  explicit Environment(std::map<std::string, std::string> values) : values_(std::move(values)) {}
  // For main: a copy of this process's environment.
  static Environment OfThisProcess();

  bool Has(const std::string& name) const { return Find(name) != nullptr; }
  // nullptr: not set.
  const std::string* Find(const std::string& name) const;
  // nullopt: not set. InvalidArgument, which quotes the value, for anything but a number from `least` to `most`.
  absl::StatusOr<std::optional<int>> Number(const std::string& name, int least, int most) const;
  // As these, but InvalidArgument if it is not set. `advice` completes the message: "start it by srun".
  absl::StatusOr<std::string> Required(const std::string& name, absl::string_view advice) const;
  absl::StatusOr<int> RequiredNumber(const std::string& name, int least, int most, absl::string_view advice) const;

 private:
  std::map<std::string, std::string> values_;
};

// This process's variables with `name` set to `value` (nullopt: removed), in posix_spawn's form.
std::vector<std::string> EnvironmentWith(absl::string_view name, const std::optional<std::string>& value);

// "NAME='value'", shortened and with unprintable characters escaped, for messages.
std::string QuoteVariable(absl::string_view name, absl::string_view value);

}  // namespace weir
