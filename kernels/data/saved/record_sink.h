// Files of records that are written from front to back.
#pragma once

#include <memory>
#include <string>

#include "core/files/file_system.h"
#include "core/status.h"
#include "kernels/data/sources/record_stream.h"

namespace weir {

// Bytes that may be compressed on their way. Not thread-safe; blocks. Close reports errors; the destructor drops them.
class RecordSink {
 public:
  // Empties the file if it is there.
  static absl::StatusOr<std::unique_ptr<RecordSink>> Open(FileSystem* files, const std::string& path,
                                                          Compression compression);
  virtual ~RecordSink() = default;
  virtual absl::Status Append(absl::string_view bytes) = 0;
  virtual absl::Status Close() = 0;
};

}  // namespace weir
