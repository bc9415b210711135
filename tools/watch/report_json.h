// Messages as JSON for programs and people.
#pragma once

#include <string>

namespace google::protobuf {
class Message;
}

namespace weir {

// Every field is there, in the order of its number and by its name, also if it has its default value. Unlike in
// protobuf's own JSON, numbers of 64 bits are numbers. `indent`: spaces for a level; -1: all on one line.
std::string MessageToJson(const google::protobuf::Message& message, int indent = -1);

}  // namespace weir
