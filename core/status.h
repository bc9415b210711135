// Errors as values: macros that propagate an absl::Status, constructors that concatenate their arguments, and the
// origin (task, device, node, op) of an error, which traces a step's failure to its first cause.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/api.h"

#define WEIR_CONCAT_INNER(a, b) a##b
#define WEIR_CONCAT(a, b) WEIR_CONCAT_INNER(a, b)

#define RETURN_IF_ERROR(expr)                                                        \
  do {                                                                               \
    if (absl::Status weir_status = (expr); __builtin_expect(!weir_status.ok(), 0)) { \
      return weir_status;                                                            \
    }                                                                                \
  } while (0)

#define ASSIGN_OR_RETURN(lhs, expr) ASSIGN_OR_RETURN_IMPL(WEIR_CONCAT(weir_statusor_, __LINE__), lhs, expr)
#define ASSIGN_OR_RETURN_IMPL(var, lhs, expr)                         \
  auto var = (expr);                                                  \
  if (__builtin_expect(!var.ok(), 0)) return std::move(var).status(); \
  lhs = std::move(var).value()

namespace WEIR_API weir {

namespace errors {

#define WEIR_ERROR_MAKER(Name)                       \
  template <typename... Args>                        \
  absl::Status Name(const Args&... args) {           \
    return absl::Name##Error(absl::StrCat(args...)); \
  }
WEIR_ERROR_MAKER(Cancelled)
WEIR_ERROR_MAKER(InvalidArgument)
WEIR_ERROR_MAKER(DeadlineExceeded)
WEIR_ERROR_MAKER(NotFound)
WEIR_ERROR_MAKER(AlreadyExists)
WEIR_ERROR_MAKER(PermissionDenied)
WEIR_ERROR_MAKER(ResourceExhausted)
WEIR_ERROR_MAKER(FailedPrecondition)
WEIR_ERROR_MAKER(Aborted)
WEIR_ERROR_MAKER(OutOfRange)
WEIR_ERROR_MAKER(Unimplemented)
WEIR_ERROR_MAKER(Internal)
WEIR_ERROR_MAKER(Unavailable)
WEIR_ERROR_MAKER(DataLoss)
WEIR_ERROR_MAKER(Unauthenticated)
WEIR_ERROR_MAKER(Unknown)
#undef WEIR_ERROR_MAKER

}  // namespace errors

// The same error with `context` in front of its message, payloads kept. OK stays OK.
absl::Status Annotate(absl::Status status, absl::string_view context);

// Where an error first arose. Empty fields are unknown.
struct ErrorOrigin {
  std::string task;    // "/job:ps/replica:0/task:1"
  std::string device;  // full device name
  std::string node;
  std::string op;

  std::string ToString() const;
};

// Attaches `origin` unless the error already has one: the first cause wins. OK stays OK.
absl::Status WithOrigin(absl::Status status, const ErrorOrigin& origin);
std::optional<ErrorOrigin> OriginOf(const absl::Status& status);

// A derived error is a consequence of another task's failure (such as an aborted receive); a step reports an error that
// is not derived if it has one.
absl::Status MarkDerived(absl::Status status);
bool IsDerived(const absl::Status& status);

}  // namespace weir
