// A received message in the memory where it arrived.
#pragma once

#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/types/span.h"

namespace weir {

// Bytes from a peer, not copied. When this is destroyed, the sender may overwrite them.
class ReceivedBytes {
 public:
  ReceivedBytes(absl::Span<const char> bytes, absl::AnyInvocable<void()> release)
      : bytes_(bytes), release_(std::move(release)) {}
  ReceivedBytes(ReceivedBytes&& other) noexcept
      : bytes_(other.bytes_), release_(std::exchange(other.release_, nullptr)) {}
  ReceivedBytes& operator=(ReceivedBytes&& other) noexcept {
    if (this == &other) return *this;
    Release();
    bytes_ = other.bytes_;
    release_ = std::exchange(other.release_, nullptr);
    return *this;
  }
  ~ReceivedBytes() { Release(); }

  absl::Span<const char> bytes() const { return bytes_; }

 private:
  void Release() {
    if (release_ != nullptr) std::exchange(release_, nullptr)();
  }
  absl::Span<const char> bytes_;
  absl::AnyInvocable<void()> release_;
};

}  // namespace weir
