// Rows on their way out of a shard and back.
#include <algorithm>
#include <cstring>

#include "kernels/embedding/embedding_shard.h"

namespace weir {

absl::StatusOr<EmbeddingRows> EmbeddingShard::Export(int64_t since, uint64_t version, bool keep_removals,
                                                     Allocator* allocator) {
  EmbeddingRows rows;
  ColdCopy cold;
  {
    MutexLock lock(mu_);
    ASSIGN_OR_RETURN(rows, Copy(since, version, keep_removals, allocator, &cold));
  }
  RETURN_IF_ERROR(FinishCopy(since, cold, &rows));
  return rows;
}

absl::Status EmbeddingShard::Allocate(int64_t n, Allocator* allocator, EmbeddingRows* rows) const {
  const int64_t width = options_.width;
  ASSIGN_OR_RETURN(rows->keys, Tensor::Allocate(allocator, DT_INT64, TensorShape({n})));
  ASSIGN_OR_RETURN(rows->values, Tensor::Allocate(allocator, DT_FLOAT, TensorShape({n, width})));
  ASSIGN_OR_RETURN(rows->slots, Tensor::Allocate(allocator, DT_FLOAT, TensorShape({n, format_.slot_floats()})));
  ASSIGN_OR_RETURN(rows->versions, Tensor::Allocate(allocator, DT_INT64, TensorShape({n})));
  ASSIGN_OR_RETURN(rows->freqs, Tensor::Allocate(allocator, DT_INT64, TensorShape({n})));
  ASSIGN_OR_RETURN(rows->used, Tensor::Allocate(allocator, DT_INT64, TensorShape({n})));
  return absl::OkStatus();
}

void EmbeddingShard::CopyRow(const EmbeddingRowInfo& info, const char* data, int64_t i, EmbeddingRows* rows) const {
  rows->keys.data<int64_t>()[i] = info.key;
  format_.Read(data, rows->values.data<float>() + i * format_.width());
  std::copy_n(format_.slots(data), format_.slot_floats(), rows->slots.data<float>() + i * format_.slot_floats());
  rows->versions.data<int64_t>()[i] = static_cast<int64_t>(info.version);
  rows->freqs.data<int64_t>()[i] = info.frequency;
  rows->used.data<int64_t>()[i] = info.last_used;
}

absl::StatusOr<EmbeddingRows> EmbeddingShard::Copy(int64_t since, uint64_t version, bool keep_removals,
                                                   Allocator* allocator, ColdCopy* cold) {
  const bool is_here = CheckHere().ok();
  if (is_here && since >= 0 && !KnowsSince(since)) {
    return errors::FailedPrecondition("Embedding table ", options_.name,
                                      " does not know what was removed since version ", since,
                                      "; all rows have to be taken");
  }
  const auto changed = [&](uint64_t row_version) {
    return is_here && (since < 0 || row_version > static_cast<uint64_t>(since));
  };
  int64_t n = 0;
  slabs_.ForEach([&](RowSlabs::Id id) { n += changed(slabs_.info(id).version) ? 1 : 0; });
  // A block of which one row has changed is read; its other rows leave places empty.
  for (size_t i = 0; i < cold_.num_blocks(); ++i) {
    const std::shared_ptr<ColdRows::Block>& block = cold_.block(i);
    if (block == nullptr || !changed(block->latest_version())) continue;
    cold->parts.push_back({block, block->live_bits()});
    n += block->live();
  }
  EmbeddingRows rows;
  RETURN_IF_ERROR(Allocate(n, allocator, &rows));
  slabs_.ForEach([&](RowSlabs::Id id) {
    if (changed(slabs_.info(id).version)) CopyRow(slabs_.info(id), slabs_.data(id), cold->hot++, &rows);
  });
  if (!is_here) return rows;
  if (!remembers_) {
    remembers_ = true;
    removals_known_since_ = version;
  }
  if (since < 0) return rows;
  const auto is_earlier = [since](const Removal& r) { return r.version <= static_cast<uint64_t>(since); };
  if (!keep_removals) {
    // A caller that asks for changes since a version has all earlier ones.
    std::erase_if(removals_, is_earlier);
    removals_known_since_ = std::max(removals_known_since_, static_cast<uint64_t>(since));
  }
  for (const Removal& removal : removals_) {
    if (!is_earlier(removal)) rows.removed.push_back(removal.key);
  }
  return rows;
}

absl::Status EmbeddingShard::FinishCopy(int64_t since, const ColdCopy& cold, EmbeddingRows* rows) const {
  if (cold.parts.empty()) return absl::OkStatus();
  int64_t n = cold.hot;
  std::vector<char> content;
  for (const ColdCopy::Part& part : cold.parts) {
    RETURN_IF_ERROR(cold_.ReadBlock(*part.block, &content));
    for (int64_t i = 0; i < part.block->size(); ++i) {
      if ((part.live[i / 64] >> (i % 64) & 1) == 0) continue;
      const char* const row = content.data() + i * cold_.ReadBytes();
      const auto& info = *reinterpret_cast<const EmbeddingRowInfo*>(row);
      if (since < 0 || info.version > static_cast<uint64_t>(since)) {
        CopyRow(info, row + sizeof(EmbeddingRowInfo), n++, rows);
      }
    }
  }
  if (n == rows->keys.NumElements()) return absl::OkStatus();
  for (Tensor* tensor : {&rows->keys, &rows->values, &rows->slots, &rows->versions, &rows->freqs, &rows->used}) {
    *tensor = tensor->Slice(0, n);
  }
  return absl::OkStatus();
}

absl::Status EmbeddingShard::Import(const EmbeddingRows& rows, absl::Span<const uint32_t> positions) {
  MutexLock lock(mu_);
  if (positions.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(CheckUnfrozen());
  remembers_ = false;
  removals_ = {};
  return Take(rows, positions);
}

absl::Status EmbeddingShard::Take(const EmbeddingRows& rows, absl::Span<const uint32_t> positions) {
  const int64_t width = options_.width, slots = format_.slot_floats();
  for (const uint32_t i : positions) {
    const int64_t key = rows.keys.data<int64_t>()[i];
    const auto found = index_.find(key);
    RowSlabs::Id id;
    if (found != index_.end() && !IsCold(*found)) {
      id = *found;
    } else if (found != index_.end()) {
      ASSIGN_OR_RETURN(id, Overwrite(key));
    } else {
      ASSIGN_OR_RETURN(id, AddRow(key));
    }
    char* const data = slabs_.data(id);
    format_.WriteNearest(rows.values.data<float>() + i * width, data);
    std::copy_n(rows.slots.data<float>() + i * slots, slots, format_.slots(data));
    EmbeddingRowInfo& info = slabs_.info(id);
    info.version = static_cast<uint64_t>(rows.versions.data<int64_t>()[i]);
    info.frequency = static_cast<uint32_t>(rows.freqs.data<int64_t>()[i]);
    info.last_used = static_cast<uint32_t>(rows.used.data<int64_t>()[i]);
    latest_used_ = std::max(latest_used_, info.last_used);
  }
  return absl::OkStatus();
}

}  // namespace weir
