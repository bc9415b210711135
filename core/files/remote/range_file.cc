#include "core/files/remote/range_file.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"

namespace weir {
namespace {

constexpr uint64_t kFirstRange = 256 << 10, kMaxAhead = 8 << 20;
constexpr size_t kLargeRead = 1 << 20;
constexpr uint64_t kMaxRange = 16 << 20;

struct ContentRange {
  std::optional<uint64_t> first;  // absent in a reply to a range that the object does not have
  uint64_t total = 0;
};

// "bytes 0-99/1234" or "bytes */1234".
std::optional<ContentRange> ParseContentRange(absl::string_view text) {
  ContentRange range;
  if (!absl::ConsumePrefix(&text, "bytes ")) return std::nullopt;
  const size_t slash = text.find('/');
  if (slash == absl::string_view::npos || !absl::SimpleAtoi(text.substr(slash + 1), &range.total)) return std::nullopt;
  uint64_t first = 0;
  if (absl::SimpleAtoi(text.substr(0, text.find('-')), &first)) range.first = first;
  return range;
}

std::string RangeHeader(uint64_t offset, uint64_t size) {
  return absl::StrCat("Range: bytes=", offset, "-", offset + size - 1);
}

// Weak tags, "W/...", may stay the same when the bytes change.
bool IsStrong(absl::string_view etag) { return !etag.empty() && !absl::StartsWith(etag, "W/"); }

bool Differs(absl::string_view known, absl::string_view header) {
  return !known.empty() && !header.empty() && known != header;
}

absl::Status Replaced(const std::string& path) {
  return errors::FailedPrecondition(path, "; the object has been replaced since it was opened: open it again");
}

}  // namespace

absl::StatusOr<std::unique_ptr<ReadableFile>> RangeFile::Open(RangeSource source) {
  ASSIGN_OR_RETURN(WebReply reply, source.get({RangeHeader(0, kFirstRange)}, kMaxWhole));
  const std::optional<ContentRange> range = ParseContentRange(reply.Header("content-range"));
  if (reply.status == 416 && (!range.has_value() || range->total == 0)) {
    reply.body.clear();  // an empty object has no range
    source.size = 0;
  } else if (reply.status == 206 && range.has_value() && range->first == uint64_t{0} &&
             reply.body.size() == std::min(range->total, kFirstRange)) {
    source.size = range->total;
  } else if (reply.status == 200) {
    source.size = reply.body.size();
  } else if (reply.status == 206) {
    return errors::DataLoss(source.path, "; the server sends another range of bytes than it was asked for: ",
                            reply.Header("content-range"));
  } else {
    return source.error(reply);
  }
  source.etag = reply.Header("etag");
  source.last_modified = reply.Header("last-modified");
  return std::unique_ptr<ReadableFile>(new RangeFile(std::move(source), std::move(reply.body)));
}

absl::StatusOr<std::string> RangeFile::Fetch(uint64_t offset, uint64_t size) const {
  std::vector<std::string> headers = {RangeHeader(offset, size)};
  const bool has_strong_tag = IsStrong(source_.etag);
  if (has_strong_tag) {
    headers.push_back("If-Match: " + source_.etag);
  } else if (!source_.last_modified.empty()) {
    headers.push_back("If-Unmodified-Since: " + source_.last_modified);
  }
  ASSIGN_OR_RETURN(WebReply reply, source_.get(headers, size));
  if (reply.status == 412 || reply.status == 416) return Replaced(path());
  if (reply.status == 200) {
    return errors::FailedPrecondition(path(), "; the server no longer sends ranges of bytes");
  }
  if (reply.status != 206) return source_.error(reply);
  const std::optional<ContentRange> range = ParseContentRange(reply.Header("content-range"));
  if (range.has_value() && range->total != source_.size) return Replaced(path());
  if (Differs(source_.etag, reply.Header("etag"))) return Replaced(path());
  if (!has_strong_tag && Differs(source_.last_modified, reply.Header("last-modified"))) return Replaced(path());
  if (!range.has_value() || range->first != offset || reply.body.size() != size) {
    return errors::DataLoss(path(), "; the server sends ", reply.body.size(), " bytes, ", reply.Header("content-range"),
                            ", instead of ", size, " bytes at offset ", offset);
  }
  return std::move(reply.body);
}

absl::Status RangeFile::FillAhead(uint64_t offset) const {
  const bool is_sequential = offset == ahead_start_ + ahead_.size();
  const uint64_t wanted = is_sequential ? std::min<uint64_t>(2 * ahead_.size(), kMaxAhead) : 0;
  const uint64_t size = std::min(std::max(wanted, kFirstRange), source_.size - offset);
  ASSIGN_OR_RETURN(ahead_, Fetch(offset, size));
  ahead_start_ = offset;
  return absl::OkStatus();
}

absl::StatusOr<size_t> RangeFile::Read(uint64_t offset, size_t size, char* buffer) const {
  if (offset >= source_.size) return 0;
  size = std::min<uint64_t>(size, source_.size - offset);
  for (size_t done = 0; done < size;) {
    const uint64_t at = offset + done;
    {
      MutexLock lock(mu_);
      bool is_ahead = at >= ahead_start_ && at < ahead_start_ + ahead_.size();
      if (!is_ahead && size - done < kLargeRead) {
        RETURN_IF_ERROR(FillAhead(at));
        is_ahead = true;
      }
      if (is_ahead) {
        const size_t from = at - ahead_start_, part = std::min(size - done, ahead_.size() - from);
        std::memcpy(buffer + done, ahead_.data() + from, part);
        done += part;
        continue;
      }
    }
    ASSIGN_OR_RETURN(const std::string bytes, Fetch(at, std::min<uint64_t>(size - done, kMaxRange)));
    std::memcpy(buffer + done, bytes.data(), bytes.size());
    done += bytes.size();
  }
  return size;
}

}  // namespace weir
