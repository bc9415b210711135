#include "kernels/embedding/embedding_shard.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "absl/cleanup/cleanup.h"
#include "kernels/embedding/initial_row.h"

namespace weir {
namespace {

// How far ahead the index is read.
constexpr size_t kAhead = 8;
// Of the rows at the bound, the part that goes at once: choosing them takes a look at all.
constexpr int64_t kEvictedPart = 16;

void SaturatingAdd(uint32_t* counter, int64_t n) {
  constexpr int64_t kMost = std::numeric_limits<uint32_t>::max();
  *counter = static_cast<uint32_t>(std::min(kMost, int64_t{*counter} + n));
}

}  // namespace

EmbeddingShard::EmbeddingShard(const EmbeddingOptions& options, Allocator* allocator,
                               const std::atomic<uint64_t>* clock, int64_t max_rows, int64_t filter_counters,
                               EmbeddingPresence presence)
    : options_(options),
      clock_(clock),
      max_rows_(max_rows),
      presence_(presence),
      slabs_(allocator, options.row_floats()),
      index_(0, RowHash{&slabs_}, RowEqual{&slabs_}),
      filter_(options, filter_counters) {}

absl::Status EmbeddingShard::Gather(absl::Span<const int64_t> keys, absl::Span<const uint32_t> positions, float* out) {
  const int64_t width = options_.width;
  const size_t bytes = width * sizeof(float);
  MutexLock lock(mu_);
  RETURN_IF_ERROR(CheckHere());
  counts_.pulled += static_cast<int64_t>(positions.size());
  constexpr size_t kBlock = 16;
  for (size_t begin = 0; begin < positions.size(); begin += kBlock) {
    const size_t n = std::min(kBlock, positions.size() - begin);
    const float* rows[kBlock];
    for (size_t i = 0; i < n; ++i) index_.prefetch(keys[positions[begin + i]]);
    for (size_t i = 0; i < n; ++i) {
      const auto found = index_.find(keys[positions[begin + i]]);
      rows[i] = found == index_.end() ? nullptr : slabs_.data(*found);
      if (rows[i] == nullptr) continue;
      for (size_t byte = 0; byte < bytes; byte += 64) __builtin_prefetch(reinterpret_cast<const char*>(rows[i]) + byte);
    }
    for (size_t i = 0; i < n; ++i) {
      const uint32_t position = positions[begin + i];
      float* const to = out + position * width;
      if (rows[i] != nullptr) {
        std::memcpy(to, rows[i], bytes);
      } else if (options_.filters()) {
        std::fill_n(to, width, options_.default_value_no_permission);
      } else {
        InitialValues(options_, keys[position], to);
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<RowSlabs::Id> EmbeddingShard::AddRow(int64_t key) {
  ASSIGN_OR_RETURN(const RowSlabs::Id id, slabs_.Add());
  slabs_.info(id).key = key;
  absl::Cleanup undo = [this, id] { slabs_.Free(id); };
  index_.insert(id);
  std::move(undo).Cancel();
  return id;
}

void EmbeddingShard::RemoveRow(RowSlabs::Id id) {
  const int64_t key = slabs_.info(id).key;
  if (remembers_) {
    // More of them than rows would make a checkpoint of changes larger than a whole one.
    const size_t most = 1024 + index_.size();
    if (removals_.size() >= most) {
      removals_ = {};
      removals_known_since_ = clock_->load();
    }
    removals_.push_back({key, clock_->load()});
  }
  index_.erase(index_.find(key));
  slabs_.Free(id);
}

absl::StatusOr<std::optional<RowSlabs::Id>> EmbeddingShard::RowFor(const EmbeddingUpdate& update, int64_t key,
                                                                   int64_t count) {
  const auto found = index_.find(key);
  if (found != index_.end()) return *found;
  if (update.rule != nullptr && options_.filters() && !filter_.Admit(KeyHash(key), count)) {
    ++counts_.filtered;
    return std::nullopt;
  }
  if (max_rows_ > 0 && static_cast<int64_t>(index_.size()) >= max_rows_) {
    EvictLeastFrequent(max_rows_ - std::max<int64_t>(1, max_rows_ / kEvictedPart));
  }
  ASSIGN_OR_RETURN(const RowSlabs::Id id, AddRow(key));
  InitialRow(options_, key, slabs_.data(id));
  return id;
}

void EmbeddingShard::Change(const EmbeddingUpdate& update, const float* values, float* row) const {
  const int64_t width = options_.width;
  if (update.rule != nullptr) {
    void* const variables[] = {row, row + width, row + 2 * width};
    update.rule(update.args, variables, values, width);
  } else if (update.policy == ConflictPolicy::kSum) {
    for (int64_t i = 0; i < width; ++i) row[i] += values[i];
  } else {
    std::copy_n(values, width, row);
  }
}

absl::StatusOr<int64_t> EmbeddingShard::Update(const EmbeddingUpdate& update, absl::Span<uint32_t> positions) {
  const absl::Span<const int64_t> keys = update.keys;
  std::sort(positions.begin(), positions.end(),
            [&keys](uint32_t a, uint32_t b) { return keys[a] != keys[b] ? keys[a] < keys[b] : a < b; });
  const int64_t width = options_.width;
  const bool adds_up =
      update.policy == ConflictPolicy::kSum || (update.policy == ConflictPolicy::kReject && update.rule != nullptr);
  std::vector<float> sum(width);
  int64_t rejected = 0;
  MutexLock lock(mu_);
  RETURN_IF_ERROR(CheckUnfrozen());
  for (size_t i = 0, end; i < positions.size(); i = end) {
    const int64_t key = keys[positions[i]];
    if (i + kAhead < positions.size()) index_.prefetch(keys[positions[i + kAhead]]);
    for (end = i + 1; end < positions.size() && keys[positions[end]] == key;) ++end;
    const int64_t count = static_cast<int64_t>(end - i);
    const float* values = update.rows + positions[end - 1] * width;
    if (adds_up && count > 1) {
      std::fill(sum.begin(), sum.end(), 0.0f);
      for (size_t k = i; k < end; ++k) {
        const float* const row = update.rows + positions[k] * width;
        for (int64_t j = 0; j < width; ++j) sum[j] += row[j];
      }
      values = sum.data();
    }
    counts_.pushed += count;
    ASSIGN_OR_RETURN(const std::optional<RowSlabs::Id> id, RowFor(update, key, count));
    if (!id.has_value()) continue;
    EmbeddingRowInfo& info = slabs_.info(*id);
    if (update.policy == ConflictPolicy::kReject && update.version >= 0 &&
        info.version > static_cast<uint64_t>(update.version) + static_cast<uint64_t>(update.staleness_bound)) {
      ++rejected;
      continue;
    }
    Change(update, values, slabs_.data(*id));
    info.version = clock_->load();
    if (update.rule != nullptr) SaturatingAdd(&info.frequency, count);
    info.last_used = std::max(info.last_used, update.now);
  }
  counts_.rejected += rejected;
  // Two rows looked at for each one pushed: nothing stays much longer than it may.
  if (options_.expires()) SweepSome(2 * static_cast<int64_t>(positions.size()), update.now);
  return rejected;
}

absl::StatusOr<int64_t> EmbeddingShard::Remove(absl::Span<const int64_t> keys, absl::Span<const uint32_t> positions) {
  MutexLock lock(mu_);
  if (positions.empty()) return int64_t{0};
  RETURN_IF_ERROR(CheckUnfrozen());
  int64_t removed = 0;
  for (const uint32_t position : positions) {
    const auto found = index_.find(keys[position]);
    if (found == index_.end()) continue;
    RemoveRow(*found);
    ++removed;
  }
  return removed;
}

EmbeddingCounts EmbeddingShard::counts() const {
  MutexLock lock(mu_);
  EmbeddingCounts counts = counts_;
  const bool is_here = presence_ == EmbeddingPresence::kHere || presence_ == EmbeddingPresence::kLeaving;
  counts.size = is_here ? static_cast<int64_t>(index_.size()) : 0;
  counts.bytes = slabs_.bytes() + filter_.bytes() +
                 static_cast<int64_t>(index_.capacity() * (sizeof(RowSlabs::Id) + 1) +
                                      removals_.capacity() * sizeof(Removal) + sizeof(*this));
  return counts;
}

}  // namespace weir
