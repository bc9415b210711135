#include "core/logging.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace weir {
namespace {

class FileLogSink : public LogSink {
 public:
  FileLogSink(std::FILE* file, LogFormat format) : file_(file), format_(format) {}

  void Write(const LogRecord& record) override {
    std::string line = format_ == LogFormat::kJson ? FormatLogJson(record) : FormatLogText(record);
    line += '\n';
    std::fwrite(line.data(), 1, line.size(), file_);
    std::fflush(file_);
  }

 private:
  std::FILE* const file_;
  const LogFormat format_;
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

std::string Quoted(absl::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          absl::StrAppendFormat(&out, "\\u%04x", c);
        } else {
          out += c;
        }
    }
  }
  return out + '"';
}

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
    absl::StrAppend(&text, " ", field.name, "=", NeedsQuotes(field.value) ? Quoted(field.value) : field.value);
  }
  return text;
}

std::string FormatLogJson(const LogRecord& record) {
  std::string json = absl::StrCat("{\"time\":\"", TimeText(record.time), "\",\"level\":\"", LevelName(record.level),
                                  "\",\"where\":", Quoted(absl::StrCat(BaseFile(record.file), ":", record.line)),
                                  ",\"message\":", Quoted(record.message));
  for (const LogField& field : record.fields) {
    // inf and nan are not JSON numbers.
    const bool bare = field.is_number && field.value.find_first_not_of("0123456789+-.eE") == std::string::npos;
    absl::StrAppend(&json, ",", Quoted(field.name), ":", bare ? field.value : Quoted(field.value));
  }
  return json + "}";
}

std::shared_ptr<LogSink> NewFileLogSink(std::FILE* file, LogFormat format) {
  return std::make_shared<FileLogSink>(file, format);
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
