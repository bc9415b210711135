// Reads a journal.
#pragma once

#include <cstdint>
#include <string>

#include "core/status.h"
#include "master/journal/journal_index.h"
#include "master/journal/journal_store.h"

namespace weir {

struct JournalScan {
  JournalIndex index;
  // The end of the last whole record. What follows is torn: a record that was being written at a crash.
  uint64_t whole_bytes = 0;
  uint64_t torn_bytes = 0;
};

// Reads every record and checks its checksums. DataLoss, with the offset, for a damaged record that is not the torn
// end of the file: one that other records follow, or a complete one without the zeroed sector that a crash leaves.
absl::StatusOr<JournalScan> ScanJournal(const JournalStore& store);

// One whole record.
absl::StatusOr<JournalRecord> ReadJournalRecord(const JournalStore& store, JournalExtent extent);

}  // namespace weir
