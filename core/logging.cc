#include "core/logging.h"

#include <algorithm>
#include <utility>

#include "core/json_text.h"

namespace weir {
namespace {

constexpr absl::string_view kTask = "task";

class FileLogSink : public LogSink {
 public:
  FileLogSink(std::FILE* file, LogFormat format, std::string task)
      : file_(file), format_(format), task_(std::move(task)) {}

  void Write(const LogRecord& record) override {
    std::string line = format_ == LogFormat::kJson ? FormatLogJson(record, task_) : FormatLogText(record);
    line += '\n';
    std::fwrite(line.data(), 1, line.size(), file_);
    std::fflush(file_);
  }

 private:
  std::FILE* const file_;
  const LogFormat format_;
  const std::string task_;
};

// The process-wide sink: main decides where logs go.
struct Output {
  std::atomic<int> min_level{static_cast<int>(LogLevel::INFO)};
  Mutex mu;
  std::shared_ptr<LogSink> sink GUARDED_BY(mu) = NewFileLogSink(stderr, LogFormat::kText);
};

Output& TheOutput() {
  static Output& output = *new Output;  // outlives threads that log during exit
  return output;
}

const char* LevelName(LogLevel level) {
  switch (level) {
    case LogLevel::DEBUG:
      return "DEBUG";
    case LogLevel::INFO:
      return "INFO";
    case LogLevel::WARNING:
      return "WARNING";
    case LogLevel::ERROR:
      return "ERROR";
    case LogLevel::NONE:
      break;
  }
  return "UNKNOWN";
}

const char* BaseFile(const char* path) {
  const char* base = path;
  for (const char* p = path; *p != '\0'; ++p) {
    if (*p == '/') base = p + 1;
  }
  return base;
}

std::string TimeText(absl::Time time) { return absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", time, absl::UTCTimeZone()); }

bool NeedsQuotes(absl::string_view text) {
  return text.empty() ||
         std::any_of(text.begin(), text.end(), [](unsigned char c) { return c <= ' ' || c == '"' || c == '='; });
}

}  // namespace

std::string FormatLogText(const LogRecord& record) {
  std::string message = record.message;
  std::replace(message.begin(), message.end(), '\n', ' ');
  std::string text = absl::StrCat(TimeText(record.time), " ", LevelName(record.level), " ", BaseFile(record.file), ":",
                                  record.line, " ", message);
  for (const LogField& field : record.fields) {
    absl::StrAppend(&text, " ", field.name, "=", NeedsQuotes(field.value) ? JsonString(field.value) : field.value);
  }
  return text;
}

std::string FormatLogJson(const LogRecord& record, absl::string_view task) {
  std::string fields;
  for (const LogField& field : record.fields) {
    if (field.name == kTask) {
      task = field.value;
      continue;
    }
    // inf and nan are not JSON numbers.
    const bool bare = field.is_number && field.value.find_first_not_of("0123456789+-.eE") == std::string::npos;
    absl::StrAppend(&fields, fields.empty() ? "" : ",", JsonString(field.name), ":",
                    bare ? field.value : JsonString(field.value));
  }
  std::string json =
      absl::StrCat("{\"time\":\"", TimeText(record.time), "\",\"level\":\"", LevelName(record.level), "\"");
  if (!task.empty()) absl::StrAppend(&json, ",\"", kTask, "\":", JsonString(task));
  absl::StrAppend(&json, ",\"where\":", JsonString(absl::StrCat(BaseFile(record.file), ":", record.line)),
                  ",\"message\":", JsonString(record.message));
  if (!fields.empty()) absl::StrAppend(&json, ",\"fields\":{", fields, "}");
  return json + "}";
}

std::shared_ptr<LogSink> NewFileLogSink(std::FILE* file, LogFormat format, std::string task) {
  return std::make_shared<FileLogSink>(file, format, std::move(task));
}

absl::StatusOr<LogLevel> ParseLogLevel(absl::string_view text) {
  if (text == "debug") return LogLevel::DEBUG;
  if (text == "info") return LogLevel::INFO;
  if (text == "warning") return LogLevel::WARNING;
  if (text == "error") return LogLevel::ERROR;
  return errors::InvalidArgument("'", text, "' is not a log level: use debug, info, warning or error");
}

absl::StatusOr<LogLevel> ParseTensorFlowLogLevel(absl::string_view text) {
  if (text == "0") return LogLevel::INFO;
  if (text == "1") return LogLevel::WARNING;
  if (text == "2") return LogLevel::ERROR;
  if (text == "3") return LogLevel::NONE;
  return errors::InvalidArgument("TF_CPP_MIN_LOG_LEVEL='", text,
                                 "' is not a log level: use 0 (info), 1 (warning), 2 (error) or 3 (none)");
}

absl::StatusOr<LogFormat> ParseLogFormat(absl::string_view text) {
  if (text == "text") return LogFormat::kText;
  if (text == "json") return LogFormat::kJson;
  return errors::InvalidArgument("'", text, "' is not a log format: use text or json");
}

void SetLogSink(std::shared_ptr<LogSink> sink) {
  Output& output = TheOutput();
  MutexLock lock(output.mu);
  output.sink.swap(sink);
}

void SetMinLogLevel(LogLevel level) { TheOutput().min_level.store(static_cast<int>(level), std::memory_order_relaxed); }

bool LogEnabled(LogLevel level) {
  return static_cast<int>(level) >= TheOutput().min_level.load(std::memory_order_relaxed);
}

LogMessage::LogMessage(LogLevel level, const char* file, int line) : record_{level, absl::Now(), file, line, {}, {}} {}

LogMessage::~LogMessage() {
  record_.message = message_.str();
  std::shared_ptr<LogSink> sink;
  {
    Output& output = TheOutput();
    MutexLock lock(output.mu);
    sink = output.sink;
  }
  if (sink != nullptr) sink->Write(record_);
}

int64_t LogLimiter::Admit(absl::Duration interval, absl::Time now) {
  const int64_t now_nanos = absl::ToUnixNanos(now);
  int64_t next = next_nanos_.load(std::memory_order_relaxed);
  if (now_nanos < next || !next_nanos_.compare_exchange_strong(next, now_nanos + absl::ToInt64Nanoseconds(interval))) {
    held_back_.fetch_add(1, std::memory_order_relaxed);
    return -1;
  }
  return held_back_.exchange(0, std::memory_order_relaxed);
}

}  // namespace weir
