#include "core/device/device_name.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"

namespace weir {
namespace {

// An identifier: a letter, then letters, digits and underscores.
bool ConsumeIdentifier(absl::string_view* text, std::string* identifier) {
  size_t length = 0;
  while (length < text->size() && (absl::ascii_isalnum((*text)[length]) || (*text)[length] == '_')) ++length;
  if (length == 0 || !absl::ascii_isalpha((*text)[0])) return false;
  *identifier = std::string(text->substr(0, length));
  text->remove_prefix(length);
  return true;
}

bool ConsumeNumber(absl::string_view* text, int* number) {
  size_t length = 0;
  while (length < text->size() && absl::ascii_isdigit((*text)[length])) ++length;
  if (length == 0 || !absl::SimpleAtoi(text->substr(0, length), number)) return false;
  text->remove_prefix(length);
  return true;
}

// "*" leaves the part unset.
bool ConsumeNumberOrStar(absl::string_view* text, std::optional<int>* part) {
  if (absl::ConsumePrefix(text, "*")) return true;
  int number = 0;
  if (!ConsumeNumber(text, &number)) return false;
  *part = number;
  return true;
}

bool ConsumeIdentifierOrStar(absl::string_view* text, std::optional<std::string>* part) {
  if (absl::ConsumePrefix(text, "*")) return true;
  std::string identifier;
  if (!ConsumeIdentifier(text, &identifier)) return false;
  *part = std::move(identifier);
  return true;
}

bool ConsumePrefixIgnoringCase(absl::string_view* text, absl::string_view prefix) {
  if (!absl::StartsWithIgnoreCase(*text, prefix)) return false;
  text->remove_prefix(prefix.size());
  return true;
}

// The parts that a name has mentioned, "*" included; none may occur twice.
struct Seen {
  bool job = false, replica = false, task = false, device = false;
};

bool First(bool* seen) { return !std::exchange(*seen, true); }

bool ConsumeDevice(absl::string_view* text, DeviceName* name) {
  if (!ConsumeIdentifierOrStar(text, &name->type)) return false;
  if (name->type) absl::AsciiStrToUpper(&*name->type);
  return !absl::ConsumePrefix(text, ":") || ConsumeNumberOrStar(text, &name->id);
}

// "/cpu:0": the type is the part's own name.
bool ConsumeLegacyDevice(absl::string_view* text, const char* type, DeviceName* name) {
  name->type = type;
  return ConsumeNumberOrStar(text, &name->id);
}

bool ConsumePart(absl::string_view* text, DeviceName* name, Seen* seen) {
  if (absl::ConsumePrefix(text, "/job:")) return First(&seen->job) && ConsumeIdentifierOrStar(text, &name->job);
  if (absl::ConsumePrefix(text, "/replica:")) {
    return First(&seen->replica) && ConsumeNumberOrStar(text, &name->replica);
  }
  if (absl::ConsumePrefix(text, "/task:")) return First(&seen->task) && ConsumeNumberOrStar(text, &name->task);
  if (absl::ConsumePrefix(text, "/device:")) return First(&seen->device) && ConsumeDevice(text, name);
  if (ConsumePrefixIgnoringCase(text, "/cpu:")) return First(&seen->device) && ConsumeLegacyDevice(text, "CPU", name);
  if (ConsumePrefixIgnoringCase(text, "/gpu:")) return First(&seen->device) && ConsumeLegacyDevice(text, "GPU", name);
  return false;
}

template <typename T>
bool Satisfies(const std::optional<T>& actual, const std::optional<T>& wanted) {
  return !wanted || actual == wanted;
}

template <typename T>
bool Compatible(const std::optional<T>& a, const std::optional<T>& b) {
  return !a || !b || *a == *b;
}

template <typename T>
std::optional<T> Either(const std::optional<T>& preferred, const std::optional<T>& other) {
  return preferred ? preferred : other;
}

}  // namespace

absl::StatusOr<DeviceName> DeviceName::Parse(absl::string_view text) {
  DeviceName name;
  if (text == "/") return name;
  Seen seen;
  absl::string_view rest = text;
  while (!rest.empty()) {
    if (ConsumePart(&rest, &name, &seen)) continue;
    return errors::InvalidArgument(
        "Malformed device specification '", text, "' at '", rest,
        "'; expected parts as in '/job:ps/replica:0/task:1/device:CPU:0', each at most once");
  }
  return name;
}

absl::StatusOr<DeviceName> DeviceName::ParseFull(absl::string_view text) {
  ASSIGN_OR_RETURN(DeviceName name, Parse(text));
  if (name.IsFull()) return name;
  return errors::InvalidArgument("Malformed device specification '", text,
                                 "': job, replica, task, device type and id must all be given");
}

std::string DeviceName::ToString() const {
  std::string text = TaskName();
  if (!type && !id) return text;
  return absl::StrCat(text, "/device:", type.value_or("*"), ":", id ? absl::StrCat(*id) : "*");
}

std::string DeviceName::TaskName() const {
  std::string text;
  if (job) absl::StrAppend(&text, "/job:", *job);
  if (replica) absl::StrAppend(&text, "/replica:", *replica);
  if (task) absl::StrAppend(&text, "/task:", *task);
  return text;
}

bool DeviceName::Matches(const DeviceName& spec) const {
  return Satisfies(job, spec.job) && Satisfies(replica, spec.replica) && Satisfies(task, spec.task) &&
         Satisfies(type, spec.type) && Satisfies(id, spec.id);
}

bool DeviceName::IsCompatibleWith(const DeviceName& other) const {
  return Compatible(job, other.job) && Compatible(replica, other.replica) && Compatible(task, other.task) &&
         Compatible(type, other.type) && Compatible(id, other.id);
}

DeviceName DeviceName::OverriddenBy(const DeviceName& other) const {
  return {Either(other.job, job), Either(other.replica, replica), Either(other.task, task), Either(other.type, type),
          Either(other.id, id)};
}

absl::StatusOr<DeviceName> DeviceName::MergedWith(const DeviceName& other, bool allow_soft) const {
  auto clash = [&](const char* part) {
    return errors::InvalidArgument("Cannot merge devices with incompatible ", part, ": '", ToString(), "' and '",
                                   other.ToString(), "'");
  };
  if (!Compatible(job, other.job)) return clash("jobs");
  if (!Compatible(replica, other.replica)) return clash("replicas");
  if (!Compatible(task, other.task)) return clash("tasks");
  DeviceName merged = OverriddenBy(other);
  if (!Compatible(type, other.type)) {
    if (!allow_soft) return clash("types");
    merged.type.reset();
    merged.id.reset();
  } else if (!Compatible(id, other.id)) {
    if (!allow_soft) return clash("ids");
    merged.id.reset();
  }
  return merged;
}

}  // namespace weir
