// Protobuf's text format.
#pragma once

#include "absl/strings/string_view.h"
#include "core/status.h"

namespace google::protobuf {
class Message;
}

namespace weir {

// Parses a text into `message`, which it clears; InvalidArgument, with line and column, if it does not match the
// message's type.
absl::Status ParseProtoText(absl::string_view text, google::protobuf::Message* message);

}  // namespace weir
