// Stores a journal's bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/status.h"

namespace weir {

// A range of bytes.
struct JournalExtent {
  uint64_t offset = 0, size = 0;
  friend bool operator==(const JournalExtent&, const JournalExtent&) = default;
};

// Bytes that survive the process. Not thread-safe; may block.
class JournalStore {
 public:
  virtual ~JournalStore() = default;
  // For messages: the file's path.
  virtual const std::string& name() const = 0;
  // 0 if nothing was ever written.
  virtual absl::StatusOr<uint64_t> Size() const = 0;
  virtual absl::Status Read(JournalExtent extent, char* buffer) const = 0;
  // Durable once it returns. After an error, a part of `bytes` may have been written.
  virtual absl::Status Append(absl::string_view bytes) = 0;
  virtual absl::Status Truncate(uint64_t size) = 0;
  // Replaces the content by `head`, then these extents of the old content. Atomic: after an error, the old content is
  // there. Durable once it returns.
  virtual absl::Status Replace(absl::string_view head, const std::vector<JournalExtent>& kept) = 0;
};

}  // namespace weir
