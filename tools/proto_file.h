// Messages in files, binary or text.
#pragma once

#include <string>

#include "core/status.h"

namespace google::protobuf {
class Message;
}

namespace weir {

// Of the text form; InvalidArgument, with line and column, when it is not the message's.
absl::Status ParseProtoText(const std::string& text, google::protobuf::Message* message);

// InvalidArgument, naming the file and the message's type, when it is neither.
absl::Status ReadProtoFile(const std::string& path, google::protobuf::Message* message);

}  // namespace weir
