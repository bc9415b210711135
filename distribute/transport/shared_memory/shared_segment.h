// Memory that two processes of one user map.
#pragma once

#include <cstddef>
#include <memory>

#include "absl/strings/string_view.h"
#include "core/status.h"
#include "weir/transport.pb.h"

namespace weir {

// Has no name in any file system: it is gone with the last process that maps it, whatever way that ends. All of its
// pages are there from the start, so that writing to it never fails.
class SharedSegment {
 public:
  static constexpr size_t kTokenBytes = 16;
  static constexpr size_t kDataOffset = 64;

  // Zeroes. `kind` tells segments of different uses apart.
  static absl::StatusOr<std::unique_ptr<SharedSegment>> Create(absl::string_view kind, size_t bytes);
  // What another process, or this one, has created. PermissionDenied where it cannot be reached, InvalidArgument where
  // it is no such segment: nothing else is opened.
  static absl::StatusOr<std::unique_ptr<SharedSegment>> Open(absl::string_view kind, size_t bytes,
                                                             const SharedSegmentName& name);
  ~SharedSegment();
  SharedSegment(const SharedSegment&) = delete;

  // From kDataOffset on; aligned as that is.
  char* data() const { return base_ + kDataOffset; }
  // For the other process.
  const SharedSegmentName& name() const { return name_; }
  // Of a segment that was opened: whether the process that created it has ended.
  bool MakerIsGone() const;

 private:
  SharedSegment(int fd, int process, char* base, SharedSegmentName name)
      : fd_(fd), process_(process), base_(base), name_(std::move(name)) {}
  static absl::StatusOr<char*> Map(int fd, size_t bytes);

  const int fd_;
  const int process_;  // the maker's, as pidfd_open gives it; -1: this one
  char* const base_;
  const SharedSegmentName name_;
};

}  // namespace weir
