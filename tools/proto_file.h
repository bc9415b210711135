// Protobuf messages in files, binary or text.
#pragma once

#include <string>

#include "core/status.h"

namespace google::protobuf {
class Message;
}

namespace weir {

// InvalidArgument, naming the file and the message's type, if it is in neither form.
absl::Status ReadProtoFile(const std::string& path, google::protobuf::Message* message);

}  // namespace weir
