#include "tools/proto_file.h"

#include <google/protobuf/message.h>

#include <limits>

#include "core/files/file_system.h"
#include "core/proto_text.h"

namespace weir {
absl::Status ReadProtoFile(const std::string& path, google::protobuf::Message* message) {
  const std::shared_ptr<FileSystemRegistry> registry = FileSystemRegistry::Default();
  ASSIGN_OR_RETURN(FileSystem* const files, registry->Find(path));
  ASSIGN_OR_RETURN(const std::string bytes, ReadFileToString(files, path, std::numeric_limits<int>::max()));
  if (message->ParseFromString(bytes)) return absl::OkStatus();
  const absl::Status as_text = ParseProtoText(bytes, message);
  if (as_text.ok()) return as_text;
  return errors::InvalidArgument(path, " is neither binary nor text: ", as_text.message());
}

}  // namespace weir
