// Structured logs: a level, a message, and named fields, as text or JSON lines.
//   WEIR_LOG(INFO).With("task", name) << "joined the cluster";
//   WEIR_LOG_EVERY(WARNING, absl::Seconds(10)) << "the queue is full";
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/clock.h"
#include "core/mutex.h"
#include "core/status.h"

namespace weir {

// NONE is for SetMinLogLevel alone: no message has it.
enum class LogLevel { DEBUG, INFO, WARNING, ERROR, NONE };

struct LogField {
  std::string name;
  std::string value;
  bool is_number = false;
};

struct LogRecord {
  LogLevel level;
  absl::Time time;
  const char* file;
  int line;
  std::string message;
  std::vector<LogField> fields;
};

// Thread-safe. Write may be called from any thread, and must not log.
class LogSink {
 public:
  virtual ~LogSink() = default;
  virtual void Write(const LogRecord& record) = 0;
};

// "2026-01-31T12:00:00.000001Z INFO server.cc:12 joined the cluster task=/job:ps/task:1"
std::string FormatLogText(const LogRecord& record);
// One JSON object, without a line end. `task` is the process's task, or empty; a field "task" is the same key.
//   {"time":"2026-01-31T12:00:00.000001Z","level":"INFO","task":"/job:ps/task:1","where":"server.cc:12",
//    "message":"joined the cluster","fields":{"step":7}}
std::string FormatLogJson(const LogRecord& record, absl::string_view task = "");

enum class LogFormat { kText, kJson };
// Writes lines to an open file, which the sink does not close. Each line is one write call, so that lines of several
// processes that share a file do not mix. `task`: as in FormatLogJson.
std::shared_ptr<LogSink> NewFileLogSink(std::FILE* file, LogFormat format, std::string task = "");

// "debug", "info", "warning" or "error"; InvalidArgument, which lists them, for anything else.
absl::StatusOr<LogLevel> ParseLogLevel(absl::string_view text);
// The value of TF_CPP_MIN_LOG_LEVEL: 0 info, 1 warning, 2 error, 3 none. InvalidArgument, which quotes the value.
absl::StatusOr<LogLevel> ParseTensorFlowLogLevel(absl::string_view text);
// "text" or "json".
absl::StatusOr<LogFormat> ParseLogFormat(absl::string_view text);

// For main and tests: sets where logs go, and the lowest level that is logged. The default is text to stderr, INFO.
void SetLogSink(std::shared_ptr<LogSink> sink);
void SetMinLogLevel(LogLevel level);
bool LogEnabled(LogLevel level);

// A message under construction; written at the end of the statement.
class LogMessage {
 public:
  LogMessage(LogLevel level, const char* file, int line);
  ~LogMessage();
  LogMessage(const LogMessage&) = delete;

  template <typename T>
  LogMessage& With(absl::string_view name, const T& value) {
    record_.fields.push_back(
        {std::string(name), absl::StrCat(value), std::is_arithmetic_v<T> && !std::is_same_v<T, bool>});
    return *this;
  }
  template <typename T>
  LogMessage& operator<<(const T& value) {
    message_ << value;
    return *this;
  }

 private:
  LogRecord record_;
  std::ostringstream message_;
};

// Admits one message per interval, and counts suppressed ones. Thread-safe.
class LogLimiter {
 public:
  // The number suppressed since the last admitted one; -1: suppress this one too.
  int64_t Admit(absl::Duration interval, absl::Time now = MonotonicNow());

 private:
  std::atomic<int64_t> next_nanos_{0};
  std::atomic<int64_t> held_back_{0};
};

// Gives both branches of the macro type void, so that it is one expression.
struct LogVoidify {
  void operator&(LogMessage&) {}
  void operator&(LogMessage&&) {}
};

}  // namespace weir

#define WEIR_LOG(level)                        \
  !::weir::LogEnabled(::weir::LogLevel::level) \
      ? (void)0                                \
      : ::weir::LogVoidify() & ::weir::LogMessage(::weir::LogLevel::level, __FILE__, __LINE__)

// The number of messages suppressed since the last one at this place; -1: this one is suppressed too.
#define WEIR_LOG_ADMIT(level, interval) \
  (::weir::LogEnabled(::weir::LogLevel::level)                           \
       ? [](absl::Duration weir_interval) {                              \
           static ::weir::LogLimiter weir_limiter;                       \
           return weir_limiter.Admit(weir_interval);                     \
         }(interval)                                                     \
       : -1)

// At most one message per `interval` from this place; the field "held_back" counts the suppressed ones in between.
#define WEIR_LOG_EVERY(level, interval)                                                                    \
  for (int64_t weir_held_back = WEIR_LOG_ADMIT(level, interval); weir_held_back >= 0; weir_held_back = -1) \
  ::weir::LogMessage(::weir::LogLevel::level, __FILE__, __LINE__).With("held_back", weir_held_back)
