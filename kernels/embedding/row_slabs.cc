#include "kernels/embedding/row_slabs.h"

#include <algorithm>
#include <new>

#include "core/memory/memory_info.h"

namespace weir {
namespace {

constexpr int64_t kFirstSlab = 8 << 10, kLargestSlab = 512 << 10;
constexpr size_t kMaxSlabs = 1 << 16;
// What a table leaves to the rest of the process.
constexpr int64_t kReserve = 256 << 20;

}  // namespace

RowSlabs::RowSlabs(Allocator* allocator, int64_t floats)
    : allocator_(allocator),
      row_bytes_(static_cast<int64_t>(sizeof(EmbeddingRowInfo)) + (floats + 1) / 2 * 2 * int64_t{sizeof(float)}) {}

RowSlabs::~RowSlabs() { Clear(); }

int64_t RowSlabs::SlabBytes(size_t slab) const {
  return std::max(row_bytes_, std::min(kFirstSlab << std::min<size_t>(slab, 10), kLargestSlab));
}

int64_t RowSlabs::RowsOf(size_t slab) const { return SlabBytes(slab) / row_bytes_; }

absl::Status RowSlabs::AddSlab() {
  const int64_t bytes = SlabBytes(slabs_.size());
  static_assert(kLargestSlab / sizeof(EmbeddingRowInfo) < 1 << kOffsetBits);
  const bool is_large = bytes >= kLargestSlab;
  if (slabs_.size() == kMaxSlabs || (is_large && AvailableMemory() < kReserve + bytes)) {
    return errors::ResourceExhausted("OOM: the embedding table cannot grow beyond ", bytes_, " bytes a shard");
  }
  slabs_.push_back(nullptr);  // may throw, so before there is a slab
  void* const slab = allocator_->AllocateRaw(bytes);
  if (slab == nullptr) {
    slabs_.pop_back();
    return errors::ResourceExhausted("OOM when allocating ", bytes, " bytes for rows of an embedding table");
  }
  slabs_.back() = static_cast<char*>(slab);
  used_in_last_ = 0;
  bytes_ += bytes;
  return absl::OkStatus();
}

absl::StatusOr<RowSlabs::Id> RowSlabs::Add() {
  Id id;
  if (first_free_ >= 0) {
    id = static_cast<Id>(first_free_);
    first_free_ = info(id).key;
  } else {
    if (slabs_.empty() || used_in_last_ == RowsOf(slabs_.size() - 1)) RETURN_IF_ERROR(AddSlab());
    id = MakeId(slabs_.size() - 1, used_in_last_++);
  }
  new (&info(id)) EmbeddingRowInfo{.version = 0};
  return id;
}

void RowSlabs::Free(Id id) {
  info(id) = {.key = first_free_};
  first_free_ = id;
}

void RowSlabs::Clear() {
  for (size_t i = 0; i < slabs_.size(); ++i) allocator_->DeallocateRaw(slabs_[i], SlabBytes(i));
  slabs_ = {};
  used_in_last_ = bytes_ = 0;
  first_free_ = -1;
}

RowSlabs::Id RowSlabs::Next(Id id) const {
  size_t slab = id >> kOffsetBits;
  int64_t offset = (id & ((1 << kOffsetBits) - 1)) + 1;
  if (slab >= slabs_.size()) return 0;
  if (offset < (slab + 1 == slabs_.size() ? used_in_last_ : RowsOf(slab))) return MakeId(slab, offset);
  return ++slab < slabs_.size() ? MakeId(slab, 0) : 0;
}

}  // namespace weir
