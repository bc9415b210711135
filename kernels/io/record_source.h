// The records of a reader, from one file after the other.
#pragma once

#include <memory>
#include <string>

#include "core/files/file_system.h"
#include "core/status.h"

namespace weir {

// Not thread-safe. Blocks for I/O.
class RecordSource {
 public:
  virtual ~RecordSource() = default;
  // Begins with `work`, usually a file's name.
  virtual absl::Status Open(const FileSystemRegistry& file_systems, const std::string& work) = 0;
  // False at the end of the work.
  virtual absl::StatusOr<bool> Next(std::string* key, std::string* value) = 0;
  // Whether Open alone brings one to any state: a work item is one record.
  virtual bool IsSingleRecord() const { return false; }
};

struct FixedLengthFormat {
  int64_t header_bytes = 0, record_bytes = 0, footer_bytes = 0;
  int64_t hop_bytes = 0;  // from record to record; 0: record_bytes
  bool zlib = false;
};

// Compression of record files; NONE or as their names say.
enum class RecordCompression { kNone, kZlib, kGzip };

std::unique_ptr<RecordSource> NewTextLineSource(int64_t skip_header_lines);
std::unique_ptr<RecordSource> NewFixedLengthSource(FixedLengthFormat format);
std::unique_ptr<RecordSource> NewRecordFileSource(RecordCompression compression);
std::unique_ptr<RecordSource> NewWholeFileSource();
std::unique_ptr<RecordSource> NewIdentitySource();

}  // namespace weir
