#include "core/kernel/preserved_pieces.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "core/memory/touch_pages.h"

namespace weir {

void PreservedPieces::Free::operator()(uint32_t* array) const { std::free(array); }

PreservedPieces::PreservedPieces(int64_t bytes, Allocator* allocator)
    : bytes_(bytes),
      num_pieces_((bytes + kPiece - 1) / kPiece),
      pieces_in_slab_(std::clamp<int64_t>(num_pieces_, 1, kMaxSlab / kPiece)),
      allocator_(allocator),
      numbers_(static_cast<uint32_t*>(std::calloc(num_pieces_, sizeof(uint32_t)))),  // zeroed when first used
      slabs_(std::make_unique<char*[]>((num_pieces_ + pieces_in_slab_ - 1) / pieces_in_slab_)) {}

std::unique_ptr<PreservedPieces> PreservedPieces::Make(int64_t bytes, Allocator* allocator) {
  std::unique_ptr<PreservedPieces> pieces(new PreservedPieces(bytes, allocator));
  return pieces->numbers_ == nullptr ? nullptr : std::move(pieces);
}

PreservedPieces::~PreservedPieces() { ReleaseSlabs(0); }

void PreservedPieces::ReleaseSlabs(int64_t left) {
  while (num_slabs_ > left) allocator_->DeallocateRaw(slabs_[--num_slabs_], slab_bytes());
}

bool PreservedPieces::AddSlab() {
  char* const slab = static_cast<char*>(allocator_->AllocateRaw(slab_bytes()));
  if (slab == nullptr) return false;
  slabs_[num_slabs_++] = slab;
  return true;
}

void PreservedPieces::Prepare() {
  const int64_t most = std::max<int64_t>(1, bytes_ / 8 / slab_bytes());
  ReleaseSlabs(std::min(most, (num_added_ + pieces_in_slab_ - 1) / pieces_in_slab_));
  num_added_ = 0;
  std::memset(numbers_.get(), 0, num_pieces_ * sizeof(uint32_t));
  if (num_slabs_ == 0 && AddSlab()) TouchPages(slabs_[0], slab_bytes());
  is_prepared_ = true;
}

bool PreservedPieces::Add(int64_t piece, const char* data) {
  is_prepared_ = false;
  if (num_added_ == std::numeric_limits<uint32_t>::max()) return false;
  if (num_added_ == num_slabs_ * pieces_in_slab_ && !AddSlab()) return false;
  const uint32_t added = ++num_added_;
  std::memcpy(At(added), data, std::min(kPiece, bytes_ - piece * kPiece));
  number(piece).store(added, std::memory_order_release);
  return true;
}

const char* PreservedPieces::Find(int64_t piece) const {
  const uint32_t added = number(piece).load(std::memory_order_acquire);
  return added == 0 ? nullptr : At(added);
}

int64_t PreservedPieces::FirstBytes(int64_t bytes) {
  const int64_t pieces = (bytes + kPiece - 1) / kPiece;
  return pieces * static_cast<int64_t>(sizeof(uint32_t)) + std::min(pieces * kPiece, kMaxSlab);
}

int64_t PreservedPieces::TotalBytes() const {
  return num_pieces_ * static_cast<int64_t>(sizeof(uint32_t)) + num_slabs_ * slab_bytes();
}

}  // namespace weir
