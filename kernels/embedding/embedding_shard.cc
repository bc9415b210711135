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
// Keys of a push that are looked for on disk at once, where rows are there.
constexpr size_t kChunk = 1024;

void SaturatingAdd(uint32_t* counter, int64_t n) {
  constexpr int64_t kMost = std::numeric_limits<uint32_t>::max();
  *counter = static_cast<uint32_t>(std::min(kMost, int64_t{*counter} + n));
}

}  // namespace

EmbeddingShard::EmbeddingShard(const EmbeddingOptions& options, Allocator* allocator,
                               const std::atomic<uint64_t>* clock, int64_t max_rows, int64_t filter_counters,
                               EmbeddingPresence presence, const EmbeddingStorage& storage)
    : options_(options),
      clock_(clock),
      format_(options),
      max_rows_(max_rows),
      file_(storage.file),
      most_bytes_(storage.most_bytes),
      presence_(presence),
      slabs_(allocator, format_.bytes(), storage.largest_slab, storage.file != nullptr),
      cold_(storage.file, slabs_.row_bytes()),
      index_(0, RowHash{{&slabs_, &cold_}}, RowEqual{{&slabs_, &cold_}}),
      filter_(options, filter_counters) {}

void EmbeddingShard::SetMissing(int64_t key, float* values) const {
  if (options_.filters()) {
    std::fill_n(values, options_.width, options_.default_value_no_permission);
    return;
  }
  InitialValues(options_, key, values);
  if (format_.is_float()) return;
  std::vector<char> row(format_.bytes());  // the values that it will have as a row
  format_.WriteNearest(values, row.data());
  format_.Read(row.data(), values);
}

absl::Status EmbeddingShard::Gather(absl::Span<const int64_t> keys, absl::Span<const uint32_t> positions, float* out) {
  const int64_t width = options_.width, bytes = format_.value_bytes();
  ColdReads cold;
  {
    MutexLock lock(mu_);
    RETURN_IF_ERROR(CheckHere());
    counts_.pulled += static_cast<int64_t>(positions.size());
    constexpr size_t kBlock = 16;
    for (size_t begin = 0; begin < positions.size(); begin += kBlock) {
      const size_t n = std::min(kBlock, positions.size() - begin);
      const char* rows[kBlock];
      bool is_cold[kBlock];
      for (size_t i = 0; i < n; ++i) index_.prefetch(keys[positions[begin + i]]);
      for (size_t i = 0; i < n; ++i) {
        const auto found = index_.find(keys[positions[begin + i]]);
        rows[i] = nullptr;
        is_cold[i] = found != index_.end() && IsCold(*found);
        if (is_cold[i]) {
          cold.reads.push_back(cold_.ReadOf(*found & ~kCold));
          cold.positions.push_back(positions[begin + i]);
          ++counts_.misses;
        } else if (found != index_.end()) {
          rows[i] = slabs_.data(*found);
          if (has_tiers()) slabs_.Mark(*found);
          ++counts_.hits;
          for (int64_t byte = 0; byte < bytes; byte += 64) __builtin_prefetch(rows[i] + byte);
        }
      }
      for (size_t i = 0; i < n; ++i) {
        const uint32_t position = positions[begin + i];
        if (rows[i] != nullptr) {
          format_.Read(rows[i], out + position * width);
        } else if (!is_cold[i]) {
          SetMissing(keys[position], out + position * width);
        }
      }
    }
  }
  if (cold.reads.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(ReadCold(&cold));
  for (size_t i = 0; i < cold.reads.size(); ++i) {
    format_.Read(cold.reads[i].to + sizeof(EmbeddingRowInfo), out + cold.positions[i] * width);
  }
  MutexLock lock(mu_);
  // The pull has what it needs. A push that cannot make room says why.
  WarmUp(cold).IgnoreError();
  return absl::OkStatus();
}

absl::StatusOr<RowSlabs::Id> EmbeddingShard::AddRow(int64_t key) {
  RETURN_IF_ERROR(CheckIndexFits());
  RETURN_IF_ERROR(MakeRoom(1));
  ASSIGN_OR_RETURN(const RowSlabs::Id id, slabs_.Add());
  slabs_.info(id).key = key;
  absl::Cleanup undo = [this, id] { slabs_.Free(id); };
  index_.insert(id);
  std::move(undo).Cancel();
  return id;
}

void EmbeddingShard::RemoveRow(Place place) {
  const int64_t key = index_.hash_function().key_of(place);
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
  if (IsCold(place)) {
    cold_.Remove(place & ~kCold);
  } else {
    slabs_.Free(place);
  }
}

absl::StatusOr<std::optional<RowSlabs::Id>> EmbeddingShard::RowFor(const EmbeddingUpdate& update, int64_t key,
                                                                   int64_t count) {
  const auto found = index_.find(key);
  if (found != index_.end()) return IsCold(*found) ? WarmUpOne(key) : absl::StatusOr<RowSlabs::Id>(*found);
  if (update.rule != nullptr && options_.filters() && !filter_.Admit(KeyHash(key), count)) {
    ++counts_.filtered;
    return std::nullopt;
  }
  if (max_rows_ > 0 && static_cast<int64_t>(index_.size()) >= max_rows_) {
    RETURN_IF_ERROR(EvictLeastFrequent(max_rows_ - std::max<int64_t>(1, max_rows_ / kEvictedPart)));
  }
  ASSIGN_OR_RETURN(const RowSlabs::Id id, AddRow(key));
  char* const data = slabs_.data(id);
  if (format_.is_float()) {
    InitialValues(options_, key, reinterpret_cast<float*>(data));
  } else {
    std::vector<float> values(options_.width);
    InitialValues(options_, key, values.data());
    format_.WriteNearest(values.data(), data);
  }
  InitialSlots(options_, format_.slots(data));
  return id;
}

void EmbeddingShard::Change(const EmbeddingUpdate& update, const float* given, RowSlabs::Id id, float* values) {
  const int64_t width = options_.width;
  char* const data = slabs_.data(id);
  if (update.rule == nullptr && update.policy != ConflictPolicy::kSum) return format_.WriteNearest(given, data);
  float* const row = format_.is_float() ? reinterpret_cast<float*>(data) : values;
  if (!format_.is_float()) format_.Read(data, values);
  if (update.rule != nullptr) {
    float* const slots = format_.slots(data);
    void* const variables[] = {row, slots, slots + width};
    update.rule(update.args, variables, given, width);
  } else {
    for (int64_t i = 0; i < width; ++i) row[i] += given[i];
  }
  if (!format_.is_float()) format_.Write(values, slabs_.info(id).key, clock_->load(), data);
}

absl::StatusOr<int64_t> EmbeddingShard::Update(const EmbeddingUpdate& update, absl::Span<uint32_t> positions) {
  const absl::Span<const int64_t> keys = update.keys;
  std::sort(positions.begin(), positions.end(),
            [&keys](uint32_t a, uint32_t b) { return keys[a] != keys[b] ? keys[a] < keys[b] : a < b; });
  if (!has_tiers()) {
    MutexLock lock(mu_);
    RETURN_IF_ERROR(CheckUnfrozen());
    return UpdateSome(update, positions);
  }
  int64_t rejected = 0;
  for (size_t begin = 0, end; begin < positions.size(); begin = end) {
    end = std::min(begin + kChunk, positions.size());
    while (end < positions.size() && keys[positions[end]] == keys[positions[end - 1]]) ++end;
    ASSIGN_OR_RETURN(const int64_t of_chunk, UpdateChunk(update, positions.subspan(begin, end - begin)));
    rejected += of_chunk;
  }
  return rejected;
}

absl::StatusOr<int64_t> EmbeddingShard::UpdateSome(const EmbeddingUpdate& update,
                                                   absl::Span<const uint32_t> positions) {
  const absl::Span<const int64_t> keys = update.keys;
  const int64_t width = options_.width;
  const bool adds_up =
      update.policy == ConflictPolicy::kSum || (update.policy == ConflictPolicy::kReject && update.rule != nullptr);
  std::vector<float> sum(width), values(width);
  int64_t rejected = 0;
  latest_used_ = std::max(latest_used_, update.now);
  for (size_t i = 0, end; i < positions.size(); i = end) {
    const int64_t key = keys[positions[i]];
    if (i + kAhead < positions.size()) index_.prefetch(keys[positions[i + kAhead]]);
    for (end = i + 1; end < positions.size() && keys[positions[end]] == key;) ++end;
    const int64_t count = static_cast<int64_t>(end - i);
    const float* given = update.rows + positions[end - 1] * width;
    if (adds_up && count > 1) {
      std::fill(sum.begin(), sum.end(), 0.0f);
      for (size_t k = i; k < end; ++k) {
        const float* const row = update.rows + positions[k] * width;
        for (int64_t j = 0; j < width; ++j) sum[j] += row[j];
      }
      given = sum.data();
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
    Change(update, given, *id, values.data());
    info.version = clock_->load();
    if (update.rule != nullptr) SaturatingAdd(&info.frequency, count);
    info.last_used = std::max(info.last_used, update.now);
  }
  counts_.rejected += rejected;
  // Two rows looked at for each one pushed: nothing stays much longer than it may.
  if (options_.expires()) RETURN_IF_ERROR(SweepSome(2 * static_cast<int64_t>(positions.size()), update.now));
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
  counts.cold = is_here ? cold_.size() : 0;
  counts.bytes = slabs_.bytes() + BytesBesideRows();
  return counts;
}

}  // namespace weir
