// Evicts rows from a shard, and remembers which ones.
#include <algorithm>
#include <tuple>

#include "kernels/embedding/embedding_shard.h"

namespace weir {

bool EmbeddingShard::Expired(const EmbeddingRowInfo& info, uint32_t now) const {
  const int64_t life = options_.steps_to_live + options_.seconds_to_live;
  return life > 0 && int64_t{now} - info.last_used > life;
}

absl::StatusOr<int64_t> EmbeddingShard::EvictExpired(uint32_t now) {
  int64_t evicted = 0;
  size_t blocks;
  {
    MutexLock lock(mu_);
    // What arrives is evicted where it was until it is here; what leaves, where it goes.
    if (presence_ != EmbeddingPresence::kHere) return int64_t{0};
    slabs_.ForEach([&](RowSlabs::Id id) {
      if (!Expired(slabs_.info(id), now)) return;
      RemoveRow(id);
      ++evicted;
    });
    counts_.evicted += evicted;
    blocks = cold_.num_blocks();
  }
  // Pulls and pushes go on between the blocks.
  for (size_t i = 0; i < blocks; ++i) {
    MutexLock lock(mu_);
    if (presence_ != EmbeddingPresence::kHere) break;
    ASSIGN_OR_RETURN(const int64_t of_block, EvictExpiredIn(i, now));
    evicted += of_block;
  }
  return evicted;
}

absl::StatusOr<int64_t> EmbeddingShard::EvictExpiredIn(size_t block, uint32_t now) {
  const std::shared_ptr<ColdRows::Block> rows = block < cold_.num_blocks() ? cold_.block(block) : nullptr;
  if (rows == nullptr || !Expired({.last_used = rows->earliest_used()}, now)) return int64_t{0};
  std::vector<char> content;
  RETURN_IF_ERROR(cold_.ReadBlock(*rows, &content));
  int64_t evicted = 0;
  uint32_t earliest = UINT32_MAX;
  for (int64_t i = 0; i < rows->size(); ++i) {
    if (!rows->is_live(i)) continue;
    const auto& info = *reinterpret_cast<const EmbeddingRowInfo*>(content.data() + i * cold_.ReadBytes());
    if (Expired(info, now)) {
      RemoveRow(kCold | static_cast<Place>(block * cold_.rows_per_block() + i));
      ++evicted;
    } else {
      earliest = std::min(earliest, info.last_used);
    }
  }
  rows->set_earliest_used(earliest);
  counts_.evicted += evicted;
  return evicted;
}

absl::Status EmbeddingShard::SweepSome(int64_t rows, uint32_t now) {
  // As large a part of the blocks as of the rows.
  for (int64_t blocks = 1 + rows / cold_.rows_per_block(); blocks > 0 && cold_.size() > 0; --blocks) {
    if (++cold_hand_ >= cold_.num_blocks()) cold_hand_ = 0;
    // The push that sweeps is complete: a damaged block is reported to those who need its rows.
    EvictExpiredIn(cold_hand_, now).status().IgnoreError();
  }
  if (slabs_.bytes() == 0) return absl::OkStatus();
  for (; rows > 0; --rows) {
    hand_ = slabs_.Next(hand_);
    const EmbeddingRowInfo& info = slabs_.info(hand_);
    if (info.version == EmbeddingRowInfo::kFree || !Expired(info, now)) continue;
    RemoveRow(hand_);
    ++counts_.evicted;
  }
  return absl::OkStatus();
}

absl::Status EmbeddingShard::EvictLeastFrequent(int64_t keep) {
  struct Row {
    uint32_t frequency;
    Place place;
    uint64_t version;
    int64_t key;
    // Of equal frequency, the one that changed longest ago.
    bool operator<(const Row& b) const {
      return std::tie(frequency, version, key) < std::tie(b.frequency, b.version, b.key);
    }
  };
  std::vector<Row> rows;
  rows.reserve(index_.size());
  const auto add = [&rows](const EmbeddingRowInfo& info, Place place) {
    rows.push_back({.frequency = info.frequency, .place = place, .version = info.version, .key = info.key});
  };
  slabs_.ForEach([&](RowSlabs::Id id) { add(slabs_.info(id), id); });
  std::vector<char> content;
  for (size_t block = 0; block < cold_.num_blocks(); ++block) {
    if (cold_.block(block) == nullptr) continue;
    RETURN_IF_ERROR(cold_.ReadBlock(*cold_.block(block), &content));
    for (int64_t i = 0; i < cold_.block(block)->size(); ++i) {
      if (!cold_.block(block)->is_live(i)) continue;
      add(*reinterpret_cast<const EmbeddingRowInfo*>(content.data() + i * cold_.ReadBytes()),
          kCold | static_cast<Place>(block * cold_.rows_per_block() + i));
    }
  }
  const int64_t leave = static_cast<int64_t>(rows.size()) - keep;
  if (leave <= 0) return absl::OkStatus();
  std::nth_element(rows.begin(), rows.begin() + (leave - 1), rows.end());
  for (int64_t i = 0; i < leave; ++i) RemoveRow(rows[i].place);
  counts_.evicted += leave;
  return absl::OkStatus();
}

void EmbeddingShard::Clear() {
  MutexLock lock(mu_);
  Empty();
}

void EmbeddingShard::Empty() {
  index_ = Index(0, RowHash{{&slabs_, &cold_}}, RowEqual{{&slabs_, &cold_}});
  slabs_.Clear();
  cold_.Clear();
  filter_.Clear();
  hand_ = spill_hand_ = 0;
  cold_hand_ = 0;
  latest_used_ = 0;
  remembers_ = false;
  removals_ = {};
  removals_known_since_ = clock_->load();
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
