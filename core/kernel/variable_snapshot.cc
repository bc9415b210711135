#include "core/kernel/variable_snapshot.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace weir {
namespace {

absl::Status OutOfMemory(int64_t bytes) {
  return errors::ResourceExhausted("There was no memory to keep ", bytes,
                                   " bytes of a variable for a checkpoint while an update changed them. Save between "
                                   "steps instead, or give the task more memory");
}

}  // namespace

void SharedVariableSnapshot::FreeArray::operator()(char** array) const { std::free(array); }

SharedVariableSnapshot::SharedVariableSnapshot(Tensor value, Allocator* allocator, std::function<void(Tensor)> reuse)
    : dtype_(value.dtype()),
      shape_(value.shape()),
      size_(value.TotalBytes()),
      allocator_(allocator),
      reuse_(std::move(reuse)),
      value_(std::move(value)) {}

SharedVariableSnapshot::~SharedVariableSnapshot() {
  for (char* slab : slabs_) allocator_->DeallocateRaw(slab, kSlab);
}

absl::Status SharedVariableSnapshot::Read(int64_t offset, int64_t size, char* to) {
  if (offset < 0 || size < 0 || offset > size_ - size) {
    return errors::OutOfRange("Bytes ", offset, " to ", offset + size, " of a variable of ", size_, " bytes");
  }
  Tensor unused;
  while (size > 0) {
    // Locked for a piece at a time: an update may wait.
    const int64_t n = std::min(size, kPiece - offset % kPiece);
    const MutexLock lock(mu_);
    RETURN_IF_ERROR(status_);
    if (offset < read_) return errors::Internal("A snapshot was read twice, at byte ", offset);
    const char* const piece = preserved_ == nullptr ? nullptr : preserved_[offset / kPiece];
    std::memcpy(to, piece == nullptr ? value_.data<char>() + offset : piece + offset % kPiece, n);
    offset += n, to += n, size -= n;
    read_ = offset;
    if (read_ == size_) unused = std::exchange(value_, Tensor());
  }
  if (unused.buffer() != nullptr) reuse_(std::move(unused));
  return absl::OkStatus();
}

bool SharedVariableSnapshot::Shares(const Tensor& value) const {
  const MutexLock lock(mu_);
  return value_.SharesBufferWith(value);
}

bool SharedVariableSnapshot::IsOnlyOtherHolderOf(const Tensor& value) {
  const MutexLock lock(mu_);
  if (!value_.SharesBufferWith(value)) return false;
  value_ = Tensor();
  const bool is_only = value.RefCountIsOne();
  value_ = value;
  return is_only;
}

void SharedVariableSnapshot::Preserve(int64_t offset, int64_t size) {
  if (size <= 0) return;
  const MutexLock lock(mu_);
  if (value_.buffer() == nullptr) return;
  if (preserved_ == nullptr) {
    const size_t pieces = static_cast<size_t>((size_ + kPiece - 1) / kPiece);
    preserved_.reset(static_cast<char**>(std::calloc(pieces, sizeof(char*))));  // pages are zeroed when first used
  }
  const int64_t last = (offset + size - 1) / kPiece;
  for (int64_t i = std::max(offset, read_) / kPiece; i <= last; ++i) {
    if (preserved_ != nullptr && preserved_[i] != nullptr) continue;
    char* const piece = preserved_ == nullptr ? nullptr : NewPiece();
    if (piece == nullptr) {
      status_ = OutOfMemory(size);
      value_ = Tensor();
      return;
    }
    std::memcpy(piece, value_.data<char>() + i * kPiece, std::min(kPiece, size_ - i * kPiece));
    preserved_[i] = piece;
  }
}

char* SharedVariableSnapshot::NewPiece() {
  if (slab_used_ == kSlab) {
    char* const slab = static_cast<char*>(allocator_->AllocateRaw(kSlab));
    if (slab == nullptr) return nullptr;
    slabs_.push_back(slab);
    slab_used_ = 0;
  }
  return slabs_.back() + std::exchange(slab_used_, slab_used_ + kPiece);
}

void SharedVariableSnapshot::GiveUp(const absl::Status& why) {
  const MutexLock lock(mu_);
  status_ = why;
  value_ = Tensor();
}

}  // namespace weir
