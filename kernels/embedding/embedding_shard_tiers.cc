// The two tiers of a shard: which rows are in memory, and their way to disk and back.
#include <algorithm>
#include <cstring>

#include "kernels/embedding/embedding_shard.h"

namespace weir {
namespace {

// Slabs that a shard has however much its index takes: it needs some rows in memory to change any.
constexpr int64_t kLeastSlabs = 2;
// Rows that are compared for each one that goes to disk.
constexpr int64_t kCompared = 4;

}  // namespace

void EmbeddingShard::FindCold(absl::Span<const int64_t> keys, absl::Span<const uint32_t> positions, ColdReads* cold) {
  for (size_t i = 0; i < positions.size(); ++i) {
    const int64_t key = keys[positions[i]];
    if (i > 0 && keys[positions[i - 1]] == key) continue;  // they are sorted
    const auto found = index_.find(key);
    if (found == index_.end()) continue;
    if (IsCold(*found)) {
      cold->reads.push_back(cold_.ReadOf(*found & ~kCold));
      ++counts_.misses;
    } else {
      slabs_.Mark(*found);
      ++counts_.hits;
    }
  }
}

absl::Status EmbeddingShard::ReadCold(ColdReads* cold) const {
  cold->buffer.resize(cold->reads.size() * cold_.ReadBytes());
  for (size_t i = 0; i < cold->reads.size(); ++i) cold->reads[i].to = cold->buffer.data() + i * cold_.ReadBytes();
  return cold_.ReadRows(absl::MakeSpan(cold->reads));
}

absl::StatusOr<int64_t> EmbeddingShard::UpdateChunk(const EmbeddingUpdate& update,
                                                    absl::Span<const uint32_t> positions) {
  ColdReads cold;
  {
    MutexLock lock(mu_);
    RETURN_IF_ERROR(CheckUnfrozen());
    FindCold(update.keys, positions, &cold);
    if (cold.reads.empty()) return UpdateSome(update, positions);
  }
  RETURN_IF_ERROR(ReadCold(&cold));
  MutexLock lock(mu_);
  RETURN_IF_ERROR(CheckUnfrozen());
  RETURN_IF_ERROR(WarmUp(cold));
  return UpdateSome(update, positions);
}

absl::Status EmbeddingShard::WarmUp(const ColdReads& cold) {
  // No more than would only drive each other out again.
  const int64_t most = std::max<int64_t>(1, BytesForRows() / slabs_.row_bytes() / 2);
  const int64_t n = std::min(most, static_cast<int64_t>(cold.reads.size()));
  RETURN_IF_ERROR(MakeRoom(n));
  for (int64_t i = 0; i < n; ++i) {
    const ColdRows::Read& read = cold.reads[i];
    if (!cold_.IsCurrent(read)) continue;
    ASSIGN_OR_RETURN(const RowSlabs::Id id, slabs_.Add());
    std::memcpy(slabs_.row(id), read.to, slabs_.row_bytes());
    slabs_.Mark(id);
    SetPlace(slabs_.info(id).key, id);
    cold_.Remove(read.id);
  }
  return absl::OkStatus();
}

absl::StatusOr<RowSlabs::Id> EmbeddingShard::WarmUpOne(int64_t key) {
  std::vector<char> row(cold_.ReadBytes());
  RETURN_IF_ERROR(MakeRoom(1));  // may write the row to another place
  ColdRows::Read read = cold_.ReadOf(*index_.find(key) & ~kCold, row.data());
  RETURN_IF_ERROR(cold_.ReadRows(absl::MakeSpan(&read, 1)));
  ASSIGN_OR_RETURN(const RowSlabs::Id id, slabs_.Add());
  std::memcpy(slabs_.row(id), row.data(), slabs_.row_bytes());
  SetPlace(key, id);
  cold_.Remove(read.id);
  return id;
}

absl::StatusOr<RowSlabs::Id> EmbeddingShard::Overwrite(int64_t key) {
  RETURN_IF_ERROR(MakeRoom(1));
  const Place place = *index_.find(key);
  ASSIGN_OR_RETURN(const RowSlabs::Id id, slabs_.Add());
  slabs_.info(id).key = key;
  SetPlace(key, id);
  cold_.Remove(place & ~kCold);
  return id;
}

void EmbeddingShard::SetPlace(int64_t key, Place place) {
  // The set's order depends on the key, which is that of the new place too.
  const_cast<Place&>(*index_.find(key)) = place;
}

int64_t EmbeddingShard::BytesBesideRows() const {
  return filter_.bytes() + cold_.bytes() +
         static_cast<int64_t>(index_.capacity() * (sizeof(Place) + 1) + removals_.capacity() * sizeof(Removal) +
                              sizeof(*this));
}

int64_t EmbeddingShard::BytesForRows() const {
  return std::max(most_bytes_->load() - BytesBesideRows(), slabs_.BytesOfFirst(kLeastSlabs));
}

absl::Status EmbeddingShard::CheckIndexFits() const {
  if (!has_tiers() || BytesBesideRows() <= most_bytes_->load()) return absl::OkStatus();
  return errors::ResourceExhausted("Embedding table ", options_.name, " cannot have more keys: its index of ",
                                   index_.size(), " keys in a shard takes ", BytesBesideRows(),
                                   " bytes, and memory_limit_bytes (", options_.memory_limit_bytes, ") leaves it ",
                                   most_bytes_->load(), ". Raise memory_limit_bytes, or evict rows");
}

absl::Status EmbeddingShard::MakeRoom(int64_t rows) {
  if (!has_tiers()) return absl::OkStatus();
  // The index has grown into what the slabs have.
  while (slabs_.num_slabs() > kLeastSlabs && slabs_.bytes() > BytesForRows()) {
    if (slabs_.CanRemoveLastSlab()) {
      slabs_.RemoveLastSlab([this](RowSlabs::Id from, RowSlabs::Id to) { SetPlace(slabs_.info(from).key, to); });
    } else {
      RETURN_IF_ERROR(Spill());
    }
  }
  while (slabs_.RoomWithin(BytesForRows() - slabs_.bytes(), rows) < rows && slabs_.used_rows() > 0) {
    RETURN_IF_ERROR(Spill());
  }
  return absl::OkStatus();
}

absl::Status EmbeddingShard::FitMemory() {
  MutexLock lock(mu_);
  return MakeRoom(0);
}

absl::Status EmbeddingShard::Spill() {
  const std::vector<RowSlabs::Id> coldest =
      ColdestRows(std::clamp<int64_t>(slabs_.used_rows() / 4, 1, cold_.rows_per_block()));
  std::vector<const char*> rows;
  rows.reserve(coldest.size());
  for (const RowSlabs::Id id : coldest) rows.push_back(slabs_.row(id));
  ASSIGN_OR_RETURN(const ColdRows::Id first, cold_.Add(rows));
  for (size_t i = 0; i < coldest.size(); ++i) {
    SetPlace(slabs_.info(coldest[i]).key, kCold | static_cast<Place>(first + i));
    slabs_.Free(coldest[i]);
  }
  if (!cold_.IsSparse()) return absl::OkStatus();
  // Where it fails, the file stays larger. A row that cannot be read is an error of the calls that need it.
  cold_.Compact([this](int64_t key, ColdRows::Id, ColdRows::Id to) { SetPlace(key, kCold | to); }).IgnoreError();
  return absl::OkStatus();
}

std::vector<RowSlabs::Id> EmbeddingShard::ColdestRows(int64_t rows) {
  struct Row {
    double uses;  // pushes for the time since the last one
    RowSlabs::Id id;
  };
  std::vector<Row> compared;
  const int64_t most = std::min(rows * kCompared, slabs_.used_rows());
  // The second time round no row is marked.
  const int64_t steps = 2 * (slabs_.used_rows() + slabs_.free_rows());
  RowSlabs::Id end = spill_hand_;
  for (int64_t i = 0; i < steps && static_cast<int64_t>(compared.size()) < most; ++i) {
    end = slabs_.Next(end);
    const EmbeddingRowInfo& info = slabs_.info(end);
    if (info.version == EmbeddingRowInfo::kFree || slabs_.TakeMark(end)) continue;
    const uint32_t age = latest_used_ - std::min(latest_used_, info.last_used);
    compared.push_back({info.frequency / (1.0 + age), end});
  }
  spill_hand_ = end;
  // A row that was met twice is compared once.
  std::sort(compared.begin(), compared.end(), [](const Row& a, const Row& b) { return a.id < b.id; });
  compared.erase(std::unique(compared.begin(), compared.end(), [](const Row& a, const Row& b) { return a.id == b.id; }),
                 compared.end());
  const int64_t n = std::min(rows, static_cast<int64_t>(compared.size()));
  std::nth_element(compared.begin(), compared.begin() + (n - 1), compared.end(),
                   [](const Row& a, const Row& b) { return a.uses != b.uses ? a.uses < b.uses : a.id < b.id; });
  std::vector<RowSlabs::Id> coldest;
  for (int64_t i = 0; i < n; ++i) coldest.push_back(compared[i].id);
  std::sort(coldest.begin(), coldest.end());
  return coldest;
}

}  // namespace weir
