// Memory mapped by two processes of one user.
#pragma once

#include <cstddef>
#include <memory>

#include "absl/strings/string_view.h"
#include "core/status.h"
#include "weir/transport.pb.h"

namespace weir {

// Anonymous memory (memfd): it disappears with the last process that maps it, however that ends. All pages are
// allocated at creation, so writing never fails.
class SharedSegment {
 public:
  static constexpr size_t kTokenBytes = 16;
  static constexpr size_t kDataOffset = 64;

  // Zeroed. `kind` distinguishes segments of different uses.
  static absl::StatusOr<std::unique_ptr<SharedSegment>> Create(absl::string_view kind, size_t bytes);
  // Opens a segment that another process, or this one, has created. PermissionDenied if it cannot be reached,
  // InvalidArgument if it is not such a segment; no other file is opened.
  static absl::StatusOr<std::unique_ptr<SharedSegment>> Open(absl::string_view kind, size_t bytes,
                                                             const SharedSegmentName& name);
  ~SharedSegment();
  SharedSegment(const SharedSegment&) = delete;

  // Starts at kDataOffset, and has that alignment.
  char* data() const { return base_ + kDataOffset; }
  // For the other process.
  const SharedSegmentName& name() const { return name_; }
  // For an opened segment: true if the process that created it has ended.
  bool MakerIsGone() const;

 private:
  SharedSegment(int fd, int process, char* base, SharedSegmentName name)
      : fd_(fd), process_(process), base_(base), name_(std::move(name)) {}
  static absl::StatusOr<char*> Map(int fd, size_t bytes);

  const int fd_;
  const int process_;  // the maker's, from pidfd_open; -1: this process
  char* const base_;
  const SharedSegmentName name_;
};

}  // namespace weir
