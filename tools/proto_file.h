// Messages in files, binary or text.
#pragma once

#include <string>

#include "core/status.h"

namespace google::protobuf {
class Message;
}

namespace weir {

// Parses the text form; InvalidArgument, with line and column, if it does not match the message type.
absl::Status ParseProtoText(const std::string& text, google::protobuf::Message* message);

// InvalidArgument, naming the file and the message's type, if it is in neither form.
absl::Status ReadProtoFile(const std::string& path, google::protobuf::Message* message);

}  // namespace weir
