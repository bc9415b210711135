// Reading a remote object by ranges of bytes.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/files/file_system.h"
#include "core/files/remote/web_client.h"
#include "core/mutex.h"

namespace weir {

// A remote object that is being read: its size, and which version of it.
struct RangeSource {
  std::string path;  // for messages, so without secrets
  uint64_t size = 0;
  // Of the version that was opened, as the server sends them; empty: unknown.
  std::string etag, last_modified;
  // Sends a GET with these headers; a reply, with a status of its own, or an error.
  std::function<absl::StatusOr<WebReply>(const std::vector<std::string>& headers, uint64_t max_reply)> get;
  // The error that a reply stands for.
  std::function<absl::Status(const WebReply&)> error;
};

// Reads ahead, twice as far each time while reads are sequential; large reads go past that buffer.
class RangeFile : public ReadableFile {
 public:
  // Sends the first request, whose reply tells the size. An object on a server without ranges is read whole:
  // ResourceExhausted if it has more than kMaxWhole bytes.
  static absl::StatusOr<std::unique_ptr<ReadableFile>> Open(RangeSource source);

  const std::string& path() const override { return source_.path; }
  absl::StatusOr<uint64_t> Size() const override { return source_.size; }
  // FailedPrecondition if the object has been replaced since it was opened: its ETag or size is another one, or,
  // without a strong ETag, its Last-Modified.
  absl::StatusOr<size_t> Read(uint64_t offset, size_t size, char* buffer) const override;

  static constexpr uint64_t kMaxWhole = 256 << 20;

 private:
  RangeFile(RangeSource source, std::string head) : source_(std::move(source)), ahead_(std::move(head)) {}

  absl::StatusOr<std::string> Fetch(uint64_t offset, uint64_t size) const;
  // Has the byte at `offset` in the buffer.
  absl::Status FillAhead(uint64_t offset) const REQUIRES(mu_);

  const RangeSource source_;
  mutable Mutex mu_;
  mutable uint64_t ahead_start_ GUARDED_BY(mu_) = 0;
  mutable std::string ahead_ GUARDED_BY(mu_);
};

}  // namespace weir
