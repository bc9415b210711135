#include "master/journal/journal_scan.h"

#include <algorithm>
#include <optional>

#include "core/checkpoint/tf_record.h"

namespace weir {
namespace {

constexpr uint64_t kWindow = 1 << 20;
constexpr uint64_t kSector = 512;
// Shorter runs of zeros also occur in records.
constexpr size_t kLeastZeros = 16;

absl::StatusOr<std::string> Read(const JournalStore& store, JournalExtent extent) {
  std::string bytes(extent.size, '\0');
  RETURN_IF_ERROR(store.Read(extent, bytes.data()));
  return bytes;
}

// The record at `offset`: nullopt if it is damaged or goes beyond `end`. Sets `frame_end` if its header is right.
absl::StatusOr<std::optional<std::string>> ReadFrame(const JournalStore& store, uint64_t offset, uint64_t end,
                                                     std::optional<uint64_t>* frame_end) {
  frame_end->reset();
  if (end - offset < kTfRecordHeader) return std::nullopt;
  ASSIGN_OR_RETURN(const std::string header, Read(store, {offset, kTfRecordHeader}));
  uint64_t length = 0;
  if (!ReadTfRecordHeader(header, &length)) return std::nullopt;
  const uint64_t left = end - offset - kTfRecordHeader;
  if (length > left || left - length < kTfRecordFooter) {
    *frame_end = end + 1;
    return std::nullopt;
  }
  *frame_end = offset + kTfRecordHeader + length + kTfRecordFooter;
  ASSIGN_OR_RETURN(std::string data, Read(store, {offset + kTfRecordHeader, length + kTfRecordFooter}));
  if (!TfRecordIsIntact(absl::string_view(data).substr(0, length), absl::string_view(data).substr(length))) {
    return std::nullopt;
  }
  data.resize(length);
  return data;
}

// Whether an intact record begins anywhere in these bytes.
absl::StatusOr<bool> HasIntactRecord(const JournalStore& store, uint64_t from, uint64_t end) {
  for (uint64_t start = from; start + kTfRecordHeader <= end; start += kWindow) {
    const uint64_t size = std::min(kWindow + kTfRecordHeader - 1, end - start);
    ASSIGN_OR_RETURN(const std::string window, Read(store, {start, size}));
    for (uint64_t i = 0; i < kWindow && i + kTfRecordHeader <= size; ++i) {
      uint64_t length = 0;
      if (!ReadTfRecordHeader(absl::string_view(window).substr(i, kTfRecordHeader), &length)) continue;
      std::optional<uint64_t> frame_end;
      ASSIGN_OR_RETURN(const std::optional<std::string> data, ReadFrame(store, start + i, end, &frame_end));
      if (data.has_value()) return true;
    }
  }
  return false;
}

// Whether a part of a sector in these bytes is zero throughout: it was not written before a crash of the machine.
absl::StatusOr<bool> HasZeroSector(const JournalStore& store, uint64_t from, uint64_t end) {
  for (uint64_t start = from; start < end;) {
    const uint64_t sector_end = std::min(end, (start / kSector + 1) * kSector);
    ASSIGN_OR_RETURN(const std::string sector, Read(store, {start, sector_end - start}));
    if (sector.size() >= kLeastZeros && sector.find_first_not_of('\0') == std::string::npos) return true;
    start = sector_end;
  }
  return false;
}

// Whether the damage at `offset` is a record that was being written at a crash.
absl::StatusOr<bool> IsTorn(const JournalStore& store, uint64_t offset, uint64_t end,
                            std::optional<uint64_t> frame_end) {
  // A whole header of an incomplete record, or an incomplete header.
  if (frame_end.has_value() ? *frame_end > end : end - offset < kTfRecordHeader) return true;
  ASSIGN_OR_RETURN(const bool followed, HasIntactRecord(store, offset + 1, end));
  if (followed) return false;
  return HasZeroSector(store, offset, end);
}

absl::StatusOr<JournalRecord> Parse(const std::string& data) {
  JournalRecord record;
  if (!record.ParseFromString(data)) return errors::DataLoss("A record is no JournalRecord");
  return record;
}

}  // namespace

absl::StatusOr<JournalScan> ScanJournal(const JournalStore& store) {
  JournalScan scan;
  ASSIGN_OR_RETURN(const uint64_t end, store.Size());
  const auto at = [&](const absl::Status& status) {
    return Annotate(status, absl::StrCat("Journal ", store.name(), ", offset ", scan.whole_bytes));
  };
  while (scan.whole_bytes < end) {
    std::optional<uint64_t> frame_end;
    ASSIGN_OR_RETURN(const std::optional<std::string> data, ReadFrame(store, scan.whole_bytes, end, &frame_end));
    if (!data.has_value()) {
      ASSIGN_OR_RETURN(const bool torn, IsTorn(store, scan.whole_bytes, end, frame_end));
      if (!torn) {
        return at(errors::DataLoss(
            "The record is damaged. Move the file away to start without its sessions: clients then open new ones"));
      }
      scan.torn_bytes = end - scan.whole_bytes;
      return scan;
    }
    absl::StatusOr<JournalRecord> record = Parse(*data);
    if (!record.ok()) return at(record.status());
    const absl::Status applied = scan.index.Apply(*record, {scan.whole_bytes, *frame_end - scan.whole_bytes});
    if (!applied.ok()) return at(applied);
    scan.whole_bytes = *frame_end;
  }
  return scan;
}

absl::StatusOr<JournalRecord> ReadJournalRecord(const JournalStore& store, JournalExtent extent) {
  std::optional<uint64_t> frame_end;
  ASSIGN_OR_RETURN(const std::optional<std::string> data,
                   ReadFrame(store, extent.offset, extent.offset + extent.size, &frame_end));
  if (!data.has_value()) {
    return errors::DataLoss("Journal ", store.name(), ", offset ", extent.offset, ": the record is damaged");
  }
  return Parse(*data);
}

}  // namespace weir
