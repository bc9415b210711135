#include "tools/proto_file.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <limits>

#include "core/files/file_system.h"

namespace weir {
namespace {

// The depth limit of the binary parser.
constexpr int kMaxDepth = 100;

// Keeps the first error for the message.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (text.empty()) text = absl::StrCat("line ", line + 1, ", column ", column + 1, ": ", message);
  }
  std::string text;
};

}  // namespace

absl::Status ParseProtoText(const std::string& text, google::protobuf::Message* message) {
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.SetRecursionLimit(kMaxDepth);
  if (parser.ParseFromString(text, message)) return absl::OkStatus();
  return errors::InvalidArgument("not the text of a ", message->GetTypeName(), ": ", error.text);
}

absl::Status ReadProtoFile(const std::string& path, google::protobuf::Message* message) {
  const std::unique_ptr<FileSystem> files = NewPosixFileSystem();
  ASSIGN_OR_RETURN(const std::string bytes, ReadFileToString(files.get(), path, std::numeric_limits<int>::max()));
  if (message->ParseFromString(bytes)) return absl::OkStatus();
  const absl::Status as_text = ParseProtoText(bytes, message);
  if (as_text.ok()) return as_text;
  return errors::InvalidArgument(path, " is neither binary nor text: ", as_text.message());
}

}  // namespace weir
