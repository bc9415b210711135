#include "core/kernel/variable_snapshot.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

namespace weir {
namespace {

constexpr int64_t kPiece = PreservedPieces::kPiece;

absl::Status OutOfMemory(int64_t bytes) {
  return errors::ResourceExhausted("There was no memory to keep ", bytes,
                                   " bytes of a variable for a checkpoint while an update changed them. Save between "
                                   "steps instead, or give the task more memory");
}

// Updates may be changing the bytes: the caller discards those.
#ifdef _GLIBCXX_TSAN  // ThreadSanitizer
// Unseen by it: it would report each byte, and intercepts memcpy.
__attribute__((no_sanitize_thread)) void CopyBytesThatMayChange(char* to, const volatile char* from, int64_t size) {
  for (int64_t i = 0; i < size; ++i) to[i] = from[i];
}
#else
void CopyBytesThatMayChange(char* to, const char* from, int64_t size) { std::memcpy(to, from, size); }
#endif

}  // namespace

SharedVariableSnapshot::SharedVariableSnapshot(Tensor value, Allocator* allocator, Reuse reuse,
                                               std::unique_ptr<PreservedPieces> pieces)
    : dtype_(value.dtype()),
      shape_(value.shape()),
      size_(value.TotalBytes()),
      data_(size_ == 0 ? nullptr : value.data<char>()),
      buffer_(value.buffer()),
      allocator_(allocator),
      reuse_(std::move(reuse)),
      value_(std::move(value)),
      pieces_(pieces.release()) {}

SharedVariableSnapshot::~SharedVariableSnapshot() {
  std::unique_ptr<PreservedPieces> pieces(pieces_.load(std::memory_order_acquire));
  if (pieces != nullptr && reuse_.pieces != nullptr) reuse_.pieces(std::move(pieces));
}

absl::Status SharedVariableSnapshot::GivenUp() const {
  return is_given_up_.load(std::memory_order_acquire) ? why_ : absl::OkStatus();
}

absl::Status SharedVariableSnapshot::Read(int64_t offset, int64_t size, char* to, CancellationManager*) {
  if (offset < 0 || size < 0 || offset > size_ - size) {
    return errors::OutOfRange("Bytes ", offset, " to ", offset + size, " of a variable of ", size_, " bytes");
  }
  absl::Status status = GivenUp();
  if (status.ok() && offset < read_.load(std::memory_order_relaxed)) {
    return errors::Internal("A snapshot was read twice, at byte ", offset);
  }
  if (status.ok() && size > 0) {
    CopyBytesThatMayChange(to, data_ + offset, size);
    turn_.fetch_add(1, std::memory_order_acq_rel);
    status = GivenUp();
  }
  if (!status.ok()) {
    Release();
    return status;
  }
  ReplacePreserved(offset, size, to);
  read_.store(offset + size, std::memory_order_release);
  if (offset + size < size_) return absl::OkStatus();
  if (Tensor unused = Release(); unused.buffer() != nullptr) reuse_.buffer(std::move(unused));
  return absl::OkStatus();
}

void SharedVariableSnapshot::ReplacePreserved(int64_t offset, int64_t size, char* copy) const {
  const PreservedPieces* const pieces = pieces_.load(std::memory_order_acquire);
  if (pieces == nullptr) return;
  for (int64_t at = offset; at < offset + size;) {
    const int64_t n = std::min(offset + size - at, kPiece - at % kPiece);
    const char* const piece = pieces->Find(at / kPiece);
    if (piece != nullptr) std::memcpy(copy + (at - offset), piece + at % kPiece, n);
    at += n;
  }
}

Tensor SharedVariableSnapshot::Release() {
  for (Holder holder = Holder::kReader;
       !holder_.compare_exchange_strong(holder, Holder::kNobody, std::memory_order_acq_rel); holder = Holder::kReader) {
    if (holder == Holder::kNobody) return Tensor();
    std::this_thread::yield();
  }
  return std::exchange(value_, Tensor());
}

bool SharedVariableSnapshot::Shares(const Tensor& value) const {
  return buffer_ != nullptr && value.buffer() == buffer_ && holder_.load(std::memory_order_acquire) != Holder::kNobody;
}

bool SharedVariableSnapshot::IsOnlyOtherHolderOf(const Tensor& value) {
  if (!Shares(value)) return false;
  Holder holder = Holder::kReader;
  if (!holder_.compare_exchange_strong(holder, Holder::kUpdate, std::memory_order_acq_rel)) return false;
  value_ = Tensor();  // `value` keeps the bytes for the reader
  const bool is_only = value.RefCountIsOne();
  value_ = value;
  holder_.store(Holder::kReader, std::memory_order_release);
  return is_only;
}

void SharedVariableSnapshot::Preserve(int64_t offset, int64_t size) {
  if (size <= 0 || !GivenUp().ok()) return;
  const int64_t last = (offset + size - 1) / kPiece;
  PreservedPieces* pieces = pieces_.load(std::memory_order_relaxed);
  bool is_new = false;
  for (int64_t i = std::max(offset, read_.load(std::memory_order_acquire)) / kPiece; i <= last; ++i) {
    if (pieces != nullptr && pieces->Has(i)) continue;
    if (pieces == nullptr) pieces = MakePieces();
    if (pieces == nullptr || !pieces->Add(i, data_ + i * kPiece)) return GiveUp(OutOfMemory(size));
    is_new = true;
  }
  if (is_new) turn_.fetch_add(1, std::memory_order_acq_rel);
}

PreservedPieces* SharedVariableSnapshot::MakePieces() {
  std::unique_ptr<PreservedPieces> pieces = PreservedPieces::Make(size_, allocator_);
  pieces_.store(pieces.get(), std::memory_order_release);
  return pieces.release();
}

void SharedVariableSnapshot::GiveUp(const absl::Status& why) {
  if (is_given_up_.load(std::memory_order_relaxed)) return;
  why_ = why;
  is_given_up_.store(true, std::memory_order_release);
  turn_.fetch_add(1, std::memory_order_acq_rel);
}

}  // namespace weir
