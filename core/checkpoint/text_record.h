// Reads and writes messages in files, in protobuf's text format.
#pragma once

#include <string>

#include <google/protobuf/message.h>

#include "core/files/file_system.h"
#include "core/status.h"

namespace weir {

// NotFound if there is no file; DataLoss, naming the file and line, if it cannot be parsed as `record`'s type.
absl::Status ReadTextRecord(FileSystem* files, const std::string& path, google::protobuf::Message* record);
// The same of `text`, the content of `path`.
absl::Status ParseTextRecord(const std::string& text, const std::string& path, google::protobuf::Message* record);
absl::StatusOr<std::string> PrintTextRecord(const google::protobuf::Message& record);
// Replaces the file atomically.
absl::Status WriteTextRecord(FileSystem* files, const std::string& path, const google::protobuf::Message& record);

// Wall time, for the times in records.
double SecondsSinceEpoch();

}  // namespace weir
