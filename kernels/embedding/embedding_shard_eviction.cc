// Evicts rows from a shard and brings them back.
#include <algorithm>

#include "kernels/embedding/embedding_shard.h"

namespace weir {

bool EmbeddingShard::Expired(const EmbeddingRowInfo& info, uint32_t now) const {
  const int64_t life = options_.steps_to_live + options_.seconds_to_live;
  return life > 0 && int64_t{now} - info.last_used > life;
}

int64_t EmbeddingShard::EvictExpired(uint32_t now) {
  MutexLock lock(mu_);
  // What arrives is evicted where it was until it is here; what leaves, where it goes.
  if (presence_ != EmbeddingPresence::kHere) return 0;
  int64_t evicted = 0;
  slabs_.ForEach([&](RowSlabs::Id id) {
    if (!Expired(slabs_.info(id), now)) return;
    RemoveRow(id);
    ++evicted;
  });
  counts_.evicted += evicted;
  return evicted;
}

void EmbeddingShard::SweepSome(int64_t rows, uint32_t now) {
  if (slabs_.bytes() == 0) return;
  for (; rows > 0; --rows) {
    hand_ = slabs_.Next(hand_);
    const EmbeddingRowInfo& info = slabs_.info(hand_);
    if (info.version == EmbeddingRowInfo::kFree || !Expired(info, now)) continue;
    RemoveRow(hand_);
    ++counts_.evicted;
  }
}

void EmbeddingShard::EvictLeastFrequent(int64_t keep) {
  std::vector<RowSlabs::Id> rows;
  rows.reserve(index_.size());
  slabs_.ForEach([&rows](RowSlabs::Id id) { rows.push_back(id); });
  const int64_t leave = static_cast<int64_t>(rows.size()) - keep;
  if (leave <= 0) return;
  // Of equal frequency, the one that changed longest ago.
  std::nth_element(rows.begin(), rows.begin() + (leave - 1), rows.end(), [this](RowSlabs::Id a, RowSlabs::Id b) {
    const EmbeddingRowInfo &x = slabs_.info(a), &y = slabs_.info(b);
    return x.frequency != y.frequency ? x.frequency < y.frequency : x.version < y.version;
  });
  for (int64_t i = 0; i < leave; ++i) RemoveRow(rows[i]);
  counts_.evicted += leave;
}

void EmbeddingShard::Clear() {
  MutexLock lock(mu_);
  Empty();
}

void EmbeddingShard::Empty() {
  index_ = Index(0, RowHash{&slabs_}, RowEqual{&slabs_});
  slabs_.Clear();
  filter_.Clear();
  hand_ = 0;
  remembers_ = false;
  removals_ = {};
  removals_known_since_ = clock_->load();
}

absl::StatusOr<EmbeddingRows> EmbeddingShard::Export(int64_t since, uint64_t version, Allocator* allocator) {
  MutexLock lock(mu_);
  return Copy(since, version, allocator);
}

absl::StatusOr<EmbeddingRows> EmbeddingShard::Copy(int64_t since, uint64_t version, Allocator* allocator) {
  const bool is_here = CheckHere().ok();
  if (is_here && since >= 0 && !KnowsSince(since)) {
    return errors::FailedPrecondition("Embedding table ", options_.name,
                                      " does not know what was removed since version ", since,
                                      "; all rows have to be taken");
  }
  const auto changed = [&](RowSlabs::Id id) {
    return is_here && (since < 0 || slabs_.info(id).version > static_cast<uint64_t>(since));
  };
  int64_t n = 0;
  slabs_.ForEach([&](RowSlabs::Id id) { n += changed(id) ? 1 : 0; });
  EmbeddingRows rows;
  const int64_t width = options_.width, slots = width * options_.slots();
  ASSIGN_OR_RETURN(rows.keys, Tensor::Allocate(allocator, DT_INT64, TensorShape({n})));
  ASSIGN_OR_RETURN(rows.values, Tensor::Allocate(allocator, DT_FLOAT, TensorShape({n, width})));
  ASSIGN_OR_RETURN(rows.slots, Tensor::Allocate(allocator, DT_FLOAT, TensorShape({n, slots})));
  ASSIGN_OR_RETURN(rows.versions, Tensor::Allocate(allocator, DT_INT64, TensorShape({n})));
  ASSIGN_OR_RETURN(rows.freqs, Tensor::Allocate(allocator, DT_INT64, TensorShape({n})));
  ASSIGN_OR_RETURN(rows.used, Tensor::Allocate(allocator, DT_INT64, TensorShape({n})));
  int64_t i = 0;
  slabs_.ForEach([&](RowSlabs::Id id) {
    if (!changed(id)) return;
    const EmbeddingRowInfo& info = slabs_.info(id);
    const float* const data = slabs_.data(id);
    rows.keys.data<int64_t>()[i] = info.key;
    std::copy_n(data, width, rows.values.data<float>() + i * width);
    std::copy_n(data + width, slots, rows.slots.data<float>() + i * slots);
    rows.versions.data<int64_t>()[i] = static_cast<int64_t>(info.version);
    rows.freqs.data<int64_t>()[i] = info.frequency;
    rows.used.data<int64_t>()[i] = info.last_used;
    ++i;
  });
  if (!is_here) return rows;
  if (!remembers_) {
    remembers_ = true;
    removals_known_since_ = version;
  }
  if (since >= 0) {
    // A caller that asks for changes since a version has all earlier ones.
    std::erase_if(removals_, [since](const Removal& r) { return r.version <= static_cast<uint64_t>(since); });
    removals_known_since_ = std::max(removals_known_since_, static_cast<uint64_t>(since));
    for (const Removal& removal : removals_) rows.removed.push_back(removal.key);
  }
  return rows;
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
  const int64_t width = options_.width, slots = width * options_.slots();
  for (const uint32_t i : positions) {
    const int64_t key = rows.keys.data<int64_t>()[i];
    const auto found = index_.find(key);
    RowSlabs::Id id;
    if (found != index_.end()) {
      id = *found;
    } else {
      ASSIGN_OR_RETURN(id, AddRow(key));
    }
    float* const data = slabs_.data(id);
    std::copy_n(rows.values.data<float>() + i * width, width, data);
    std::copy_n(rows.slots.data<float>() + i * slots, slots, data + width);
    EmbeddingRowInfo& info = slabs_.info(id);
    info.version = static_cast<uint64_t>(rows.versions.data<int64_t>()[i]);
    info.frequency = static_cast<uint32_t>(rows.freqs.data<int64_t>()[i]);
    info.last_used = static_cast<uint32_t>(rows.used.data<int64_t>()[i]);
  }
  return absl::OkStatus();
}

void EmbeddingShard::RememberRemovals(uint64_t version) {
  MutexLock lock(mu_);
  remembers_ = true;
  removals_ = {};
  removals_known_since_ = version;
}

bool EmbeddingShard::KnowsSince(int64_t version) const {
  return remembers_ && static_cast<uint64_t>(version) >= removals_known_since_;
}

bool EmbeddingShard::KnowsRemovalsSince(int64_t version) const {
  MutexLock lock(mu_);
  if (!CheckHere().ok()) return true;  // there is nothing to know
  return KnowsSince(version);
}

}  // namespace weir
