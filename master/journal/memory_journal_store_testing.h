// A journal's bytes in memory, with a disk that fails on demand.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "master/journal/journal_store.h"

namespace weir {

// Holds the bytes, and outlives the stores that use it.
struct MemoryDisk {
  std::string bytes;
  // The free bytes: an append beyond them writes only a part and fails, and a larger replacement fails.
  size_t room = std::string::npos;
  bool can_truncate = true;
  int replacements = 0;
};

class MemoryJournalStore : public JournalStore {
 public:
  explicit MemoryJournalStore(MemoryDisk* disk) : disk_(disk) {}

  const std::string& name() const override { return name_; }
  absl::StatusOr<uint64_t> Size() const override { return disk_->bytes.size(); }
  absl::Status Read(JournalExtent extent, char* buffer) const override {
    if (extent.offset + extent.size > disk_->bytes.size()) return errors::DataLoss("Beyond the end");
    std::memcpy(buffer, disk_->bytes.data() + extent.offset, extent.size);
    return absl::OkStatus();
  }
  absl::Status Append(absl::string_view bytes) override {
    const absl::string_view written = bytes.substr(0, disk_->room);
    disk_->bytes.append(written.data(), written.size());
    if (disk_->room != std::string::npos) disk_->room -= written.size();
    return written.size() == bytes.size() ? absl::OkStatus() : errors::ResourceExhausted("The disk is full");
  }
  absl::Status Truncate(uint64_t size) override {
    if (!disk_->can_truncate) return errors::Unavailable("The disk does not answer");
    disk_->bytes.resize(size);
    return absl::OkStatus();
  }
  absl::Status Replace(absl::string_view head, const std::vector<JournalExtent>& kept) override {
    std::string bytes(head);
    for (const JournalExtent& extent : kept) bytes.append(disk_->bytes, extent.offset, extent.size);
    if (bytes.size() > disk_->room) return errors::ResourceExhausted("The disk is full");
    disk_->bytes = std::move(bytes);
    ++disk_->replacements;
    return absl::OkStatus();
  }

 private:
  const std::string name_ = "memory";
  MemoryDisk* const disk_;
};

}  // namespace weir
