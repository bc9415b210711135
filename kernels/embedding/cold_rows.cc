#include "kernels/embedding/cold_rows.h"

#include <algorithm>
#include <cstring>

#include "core/checkpoint/crc32c.h"

namespace weir {
namespace {

constexpr int64_t kBlock = 64 << 10;
constexpr int64_t kMostIds = int64_t{1} << 31;
// Blocks that Compact joins.
constexpr size_t kJoined = 8;

}  // namespace

int64_t ColdRows::RowsPerBlock(int64_t row_bytes) { return std::max<int64_t>(1, kBlock / Stride(row_bytes)); }

ColdRows::ColdRows(ColdFile* file, int64_t row_bytes)
    : file_(file), row_bytes_(row_bytes), rows_per_block_(RowsPerBlock(row_bytes)) {}

int64_t ColdRows::MemoryOf(const Block& block) {
  constexpr int64_t kCounts = 32;  // of the shared pointer, and its place in blocks_
  return static_cast<int64_t>(sizeof(Block) + block.keys_.size() * sizeof(block.keys_[0]) +
                              block.bits_.size() * sizeof(block.bits_[0])) +
         kCounts;
}

absl::StatusOr<ColdRows::Id> ColdRows::Add(absl::Span<const char* const> rows) {
  const auto n = static_cast<int64_t>(rows.size());
  if (unused_.empty() && static_cast<int64_t>(blocks_.size() + 1) * rows_per_block_ > kMostIds) {
    return errors::ResourceExhausted("A shard of an embedding table has at most ", kMostIds, " rows on disk");
  }
  std::vector<char> bytes(n * Stride(row_bytes_));
  for (int64_t i = 0; i < n; ++i) {
    char* const to = bytes.data() + i * Stride(row_bytes_);
    std::memcpy(to, rows[i], row_bytes_);
    const uint64_t sum = crc32c::Extend(0, to, row_bytes_);
    std::memcpy(to + row_bytes_, &sum, sizeof(sum));
  }
  // Memory first: after the write nothing may fail.
  if (unused_.empty()) {
    blocks_.push_back(nullptr);
    unused_.push_back(static_cast<Id>(blocks_.size() - 1));
  }
  std::vector<int64_t> keys(n);
  std::vector<uint64_t> bits((n + 63) / 64);
  ASSIGN_OR_RETURN(const int64_t number, file_->Write(bytes));
  std::shared_ptr<Block> block(new Block(file_, number));
  for (int64_t i = 0; i < n; ++i) {
    const auto& info = *reinterpret_cast<const EmbeddingRowInfo*>(rows[i]);
    keys[i] = info.key;
    bits[i / 64] |= uint64_t{1} << (i % 64);
    block->latest_version_ = std::max(block->latest_version_, info.version);
    block->earliest_used_ = std::min(block->earliest_used_, info.last_used);
  }
  block->keys_ = std::move(keys);
  block->bits_ = std::move(bits);
  block->live_ = n;
  size_ += n;
  places_ += rows_per_block_;
  bytes_ += MemoryOf(*block);
  const Id index = unused_.back();
  unused_.pop_back();
  blocks_[index] = std::move(block);
  return static_cast<Id>(index * rows_per_block_);
}

void ColdRows::Remove(Id id) {
  std::shared_ptr<Block>& block = blocks_[id / rows_per_block_];
  const int64_t i = id % rows_per_block_;
  block->bits_[i / 64] &= ~(uint64_t{1} << (i % 64));
  --size_;
  if (--block->live_ > 0) return;
  places_ -= rows_per_block_;
  bytes_ -= MemoryOf(*block);
  block.reset();
  unused_.push_back(static_cast<Id>(id / rows_per_block_));
}

void ColdRows::Clear() {
  blocks_ = {};
  unused_ = {};
  size_ = places_ = bytes_ = 0;
}

bool ColdRows::IsIntact(const char* row, int64_t key) const {
  uint64_t sum;
  std::memcpy(&sum, row + row_bytes_, sizeof(sum));
  return sum == crc32c::Extend(0, row, row_bytes_) && KeyOf(row) == key;
}

absl::Status ColdRows::ReadRows(absl::Span<Read> reads) const {
  std::vector<ColdFile::Range> ranges;
  ranges.reserve(reads.size());
  const int64_t stride = Stride(row_bytes_);
  for (const Read& read : reads) {
    ranges.push_back({read.block->number_, read.id % rows_per_block_ * stride, stride, read.to});
  }
  RETURN_IF_ERROR(file_->Read(absl::MakeSpan(ranges)));
  for (const Read& read : reads) {
    const int64_t i = read.id % rows_per_block_;
    if (!IsIntact(read.to, read.block->key(i))) return file_->Damaged(read.block->number_, i * stride);
  }
  return absl::OkStatus();
}

absl::Status ColdRows::ReadBlock(const Block& block, std::vector<char>* rows) const {
  const int64_t stride = Stride(row_bytes_);
  rows->resize(block.size() * stride);
  ColdFile::Range range{block.number_, 0, block.size() * stride, rows->data()};
  RETURN_IF_ERROR(file_->Read(absl::MakeSpan(&range, 1)));
  for (int64_t i = 0; i < block.size(); ++i) {
    if (!IsIntact(rows->data() + i * stride, block.key(i))) return file_->Damaged(block.number_, i * stride);
  }
  return absl::OkStatus();
}

std::vector<ColdRows::Id> ColdRows::EmptiestBlocks() const {
  std::vector<Id> ids;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    if (blocks_[i] != nullptr && blocks_[i]->live_ < rows_per_block_) ids.push_back(static_cast<Id>(i));
  }
  const size_t most = std::min(ids.size(), kJoined);
  std::partial_sort(ids.begin(), ids.begin() + most, ids.end(),
                    [this](Id a, Id b) { return blocks_[a]->live_ < blocks_[b]->live_; });
  ids.resize(most);
  return ids;
}

}  // namespace weir
