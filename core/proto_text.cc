#include "core/proto_text.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <string>

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

absl::Status ParseProtoText(absl::string_view text, google::protobuf::Message* message) {
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.SetRecursionLimit(kMaxDepth);
  if (parser.ParseFromString(std::string(text), message)) return absl::OkStatus();
  return errors::InvalidArgument("not the text of a ", message->GetTypeName(), ": ", error.text);
}

}  // namespace weir
