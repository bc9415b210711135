#include "core/kernel/variable_snapshot.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <thread>
#include <utility>

namespace weir {
namespace {

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

void SharedVariableSnapshot::Pieces::Free::operator()(uint32_t* array) const { std::free(array); }

char* SharedVariableSnapshot::Pieces::Piece(uint32_t number) const {
  return slabs[(number - 1) / kPiecesInSlab] + (number - 1) % kPiecesInSlab * kPiece;
}

SharedVariableSnapshot::SharedVariableSnapshot(Tensor value, Allocator* allocator, std::function<void(Tensor)> reuse)
    : dtype_(value.dtype()),
      shape_(value.shape()),
      size_(value.TotalBytes()),
      data_(size_ == 0 ? nullptr : value.data<char>()),
      buffer_(value.buffer()),
      allocator_(allocator),
      reuse_(std::move(reuse)),
      value_(std::move(value)) {}

SharedVariableSnapshot::~SharedVariableSnapshot() {
  const std::unique_ptr<Pieces> pieces(pieces_.load(std::memory_order_acquire));
  for (uint32_t i = 0; i < num_preserved_; i += kPiecesInSlab) {
    allocator_->DeallocateRaw(pieces->slabs[i / kPiecesInSlab], kSlab);
  }
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
  if (Tensor unused = Release(); unused.buffer() != nullptr) reuse_(std::move(unused));
  return absl::OkStatus();
}

void SharedVariableSnapshot::ReplacePreserved(int64_t offset, int64_t size, char* copy) const {
  const Pieces* const pieces = pieces_.load(std::memory_order_acquire);
  if (pieces == nullptr) return;
  for (int64_t at = offset; at < offset + size;) {
    const int64_t n = std::min(offset + size - at, kPiece - at % kPiece);
    const uint32_t number = std::atomic_ref(pieces->numbers[at / kPiece]).load(std::memory_order_acquire);
    if (number != 0) std::memcpy(copy + (at - offset), pieces->Piece(number) + at % kPiece, n);
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
  const Pieces* pieces = pieces_.load(std::memory_order_relaxed);
  bool is_new = false;
  for (int64_t i = std::max(offset, read_.load(std::memory_order_acquire)) / kPiece; i <= last; ++i) {
    if (pieces != nullptr && std::atomic_ref(pieces->numbers[i]).load(std::memory_order_relaxed) != 0) continue;
    if (pieces == nullptr) pieces = MakePieces();
    char* const piece = pieces == nullptr ? nullptr : NewPiece();
    if (piece == nullptr) return GiveUp(OutOfMemory(size));
    std::memcpy(piece, data_ + i * kPiece, std::min(kPiece, size_ - i * kPiece));
    std::atomic_ref(pieces->numbers[i]).store(num_preserved_, std::memory_order_release);
    is_new = true;
  }
  if (is_new) turn_.fetch_add(1, std::memory_order_acq_rel);
}

SharedVariableSnapshot::Pieces* SharedVariableSnapshot::MakePieces() {
  const size_t count = static_cast<size_t>((size_ + kPiece - 1) / kPiece);
  auto pieces = std::make_unique<Pieces>();
  pieces->numbers.reset(static_cast<uint32_t*>(std::calloc(count, sizeof(uint32_t))));  // zeroed when first used
  if (pieces->numbers == nullptr) return nullptr;
  pieces->slabs = std::make_unique<char*[]>((count + kPiecesInSlab - 1) / kPiecesInSlab);
  pieces_.store(pieces.get(), std::memory_order_release);
  return pieces.release();
}

char* SharedVariableSnapshot::NewPiece() {
  if (num_preserved_ == std::numeric_limits<uint32_t>::max()) return nullptr;
  Pieces& pieces = *pieces_.load(std::memory_order_relaxed);
  if (num_preserved_ % kPiecesInSlab == 0) {
    char* const slab = static_cast<char*>(allocator_->AllocateRaw(kSlab));
    if (slab == nullptr) return nullptr;
    pieces.slabs[num_preserved_ / kPiecesInSlab] = slab;
  }
  return pieces.Piece(++num_preserved_);
}

void SharedVariableSnapshot::GiveUp(const absl::Status& why) {
  if (is_given_up_.load(std::memory_order_relaxed)) return;
  why_ = why;
  is_given_up_.store(true, std::memory_order_release);
  turn_.fetch_add(1, std::memory_order_acq_rel);
}

}  // namespace weir
