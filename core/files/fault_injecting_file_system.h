// A file system that fails on demand, for crash tests.
#pragma once

#include <map>
#include <set>
#include <string>

#include "core/files/file_system.h"
#include "core/mutex.h"

namespace weir {

// Forwards everything to `base`, which outlives it, and counts operations that change the disk. Thread-safe. A crash
// keeps finished renames and deletions, like a journalling file system, but loses bytes appended to a file after its
// last Sync.
class FaultInjectingFileSystem : public FileSystem {
 public:
  enum Operation { kOpen, kAppend, kSync, kClose, kRename, kDelete, kCreateDir, kSyncDir, kRead, kStat };
  struct Fault {
    // The operation that fails: the n-th, from 0, among the given kinds (none given: all that change the disk).
    int64_t at = 0;
    std::set<Operation> kinds;  // kStat fails only if it is among them
    // Every later operation fails too, as if the process had died.
    bool crash = true;
    // A failing Append still writes the first half.
    bool short_write = true;
    absl::Status error = errors::Unavailable("injected fault");
  };

  explicit FaultInjectingFileSystem(FileSystem* base) : base_(base) {}

  void Inject(Fault fault);
  // Stops injecting faults and restarts the count at 0.
  void Heal();
  bool fault_happened() const;
  // Simulates a machine restart: unsynced bytes are lost.
  absl::Status DropUnsyncedData();

  absl::StatusOr<std::unique_ptr<ReadableFile>> NewReadableFile(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<WritableFile>> NewWritableFile(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<WritableFile>> NewAppendableFile(const std::string& path) override;
  absl::Status Rename(const std::string& from, const std::string& to) override;
  absl::Status DeleteFile(const std::string& path) override;
  absl::Status DeleteRecursively(const std::string& path) override;
  absl::Status CreateDir(const std::string& path) override;
  absl::StatusOr<std::vector<std::string>> List(const std::string& dir) override { return base_->List(dir); }
  absl::StatusOr<FileStat> Stat(const std::string& path) override;
  absl::Status SyncDir(const std::string& dir) override;
  absl::StatusOr<std::unique_ptr<FileLock>> Lock(const std::string& path, absl::Duration patience) override {
    return base_->Lock(path, patience);
  }
  bool PublishesOnClose() const override { return base_->PublishesOnClose(); }

 private:
  class Writer;
  class Reader;

  // Returns the fault if this operation is the one that fails.
  absl::Status Check(Operation operation, const std::string& path);
  bool ShortWrites() const;
  void NoteWritten(const std::string& path, uint64_t size);
  void NoteSynced(const std::string& path);
  absl::StatusOr<std::unique_ptr<WritableFile>> Open(const std::string& path, bool keep);

  FileSystem* const base_;
  mutable Mutex mu_;
  bool armed_ GUARDED_BY(mu_) = false;
  bool happened_ GUARDED_BY(mu_) = false;
  int64_t count_ GUARDED_BY(mu_) = 0;
  Fault fault_ GUARDED_BY(mu_);
  struct Written {
    uint64_t size = 0;
    uint64_t synced = 0;
  };
  std::map<std::string, Written> written_ GUARDED_BY(mu_);
};

}  // namespace weir
