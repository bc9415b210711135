#include "kernels/embedding/row_slabs.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "core/memory/memory_info.h"

namespace weir {
namespace {

constexpr int64_t kFirstSlab = 8 << 10;
// What a table leaves to the rest of the process.
constexpr int64_t kReserve = 256 << 20;

}  // namespace

RowSlabs::RowSlabs(Allocator* allocator, int64_t bytes, int64_t largest_slab, bool marks)
    : allocator_(allocator),
      row_bytes_(static_cast<int64_t>(sizeof(EmbeddingRowInfo)) + (bytes + 7) / 8 * 8),
      largest_slab_(largest_slab),
      has_marks_(marks) {}

RowSlabs::~RowSlabs() { Clear(); }

int64_t RowSlabs::SlabBytes(size_t slab) const {
  return std::max(row_bytes_, std::min(kFirstSlab << std::min<size_t>(slab, 10), largest_slab_));
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
  if (has_marks_) marks_.resize(slabs_.size(), std::vector<uint64_t>((RowsOf(slabs_.size() - 1) + 63) / 64));
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
    --free_;
  } else {
    if (slabs_.empty() || used_in_last_ == RowsOf(slabs_.size() - 1)) RETURN_IF_ERROR(AddSlab());
    id = MakeId(slabs_.size() - 1, used_in_last_++);
  }
  new (&info(id)) EmbeddingRowInfo{.version = 0};
  ++used_;
  return id;
}

void RowSlabs::Free(Id id) {
  if (has_marks_) TakeMark(id);
  info(id) = {.key = first_free_};
  first_free_ = id;
  ++free_;
  --used_;
}

void RowSlabs::Clear() {
  for (size_t i = 0; i < slabs_.size(); ++i) allocator_->DeallocateRaw(slabs_[i], SlabBytes(i));
  slabs_ = {};
  marks_ = {};
  used_in_last_ = bytes_ = free_ = used_ = 0;
  first_free_ = -1;
}

bool RowSlabs::TakeMark(Id id) {
  uint64_t& word = marks_[id >> kOffsetBits][(id & 0xFFFF) / 64];
  const uint64_t bit = uint64_t{1} << (id % 64);
  const bool marked = (word & bit) != 0;
  word &= ~bit;
  return marked;
}

int64_t RowSlabs::RoomWithin(int64_t bytes, int64_t most) const {
  int64_t rows = free_rows();
  for (size_t slab = slabs_.size(); rows < most && SlabBytes(slab) <= bytes; ++slab) {
    rows += RowsOf(slab);
    bytes -= SlabBytes(slab);
  }
  return rows;
}

int64_t RowSlabs::BytesOfFirst(int64_t slabs) const {
  int64_t bytes = 0;
  for (int64_t i = 0; i < slabs; ++i) bytes += SlabBytes(i);
  return bytes;
}

bool RowSlabs::CanRemoveLastSlab() const {
  // Of its rows, those in use have to find a place among the free rows of the others: all rows in use, then.
  if (slabs_.empty()) return false;
  int64_t others = 0;
  for (size_t i = 0; i + 1 < slabs_.size(); ++i) others += RowsOf(i);
  return used_ <= others;
}

void RowSlabs::LeaveFreeRowsOf(size_t slab) {
  int64_t kept = -1, next;
  free_ = 0;
  for (int64_t id = first_free_; id >= 0; id = next) {
    EmbeddingRowInfo& row = info(static_cast<Id>(id));
    next = row.key;
    if (static_cast<size_t>(id >> kOffsetBits) == slab) continue;
    row.key = kept;
    kept = id;
    ++free_;
  }
  first_free_ = kept;
}

RowSlabs::Id RowSlabs::CopyToFree(Id from) {
  const auto to = static_cast<Id>(first_free_);
  first_free_ = info(to).key;
  --free_;
  std::memcpy(row(to), row(from), row_bytes_);
  if (has_marks_ && TakeMark(from)) Mark(to);
  return to;
}

void RowSlabs::DropLastSlab() {
  const size_t last = slabs_.size() - 1;
  allocator_->DeallocateRaw(slabs_[last], SlabBytes(last));
  bytes_ -= SlabBytes(last);
  slabs_.pop_back();
  if (has_marks_) marks_.pop_back();
  used_in_last_ = slabs_.empty() ? 0 : RowsOf(slabs_.size() - 1);
}

RowSlabs::Id RowSlabs::Next(Id id) const {
  size_t slab = id >> kOffsetBits;
  int64_t offset = (id & ((1 << kOffsetBits) - 1)) + 1;
  if (slab >= slabs_.size()) return 0;
  if (offset < (slab + 1 == slabs_.size() ? used_in_last_ : RowsOf(slab))) return MakeId(slab, offset);
  return ++slab < slabs_.size() ? MakeId(slab, 0) : 0;
}

}  // namespace weir
