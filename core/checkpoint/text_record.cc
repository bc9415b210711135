#include "core/checkpoint/text_record.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include "absl/time/clock.h"

namespace weir {
namespace {

constexpr uint64_t kMaxRecordSize = 16 << 20;

// Keeps the first error, and keeps protobuf from writing to stderr.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override {
    if (text_.empty()) text_ = absl::StrCat("line ", line + 1, ": ", message);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace

absl::Status ReadTextRecord(FileSystem* files, const std::string& path, google::protobuf::Message* record) {
  ASSIGN_OR_RETURN(const std::string text, ReadFileToString(files, path, kMaxRecordSize));
  return ParseTextRecord(text, path, record);
}

absl::Status ParseTextRecord(const std::string& text, const std::string& path, google::protobuf::Message* record) {
  google::protobuf::TextFormat::Parser parser;
  FirstError error;
  parser.RecordErrorsTo(&error);
  if (parser.ParseFromString(text, record)) return absl::OkStatus();
  return errors::DataLoss(path, ": not a readable ", record->GetDescriptor()->name(), ": ", error.text());
}

absl::StatusOr<std::string> PrintTextRecord(const google::protobuf::Message& record) {
  std::string text;
  if (google::protobuf::TextFormat::PrintToString(record, &text)) return text;
  return errors::Internal("A ", record.GetDescriptor()->name(), " cannot be printed");
}

absl::Status WriteTextRecord(FileSystem* files, const std::string& path, const google::protobuf::Message& record) {
  ASSIGN_OR_RETURN(const std::string text, PrintTextRecord(record));
  return WriteStringToFile(files, path, text);
}

double SecondsSinceEpoch() { return absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()); }

}  // namespace weir
