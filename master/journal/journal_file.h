// A journal in a file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "master/journal/journal_store.h"

namespace weir {

// `DIRECTORY/NAME.journal`, readable by its owner alone, because handles of sessions are secrets. `NAME.lock` beside it
// is locked as long as this object exists, and released if the process dies. Not thread-safe; blocks.
class JournalFile : public JournalStore {
 public:
  // Makes the directory. FailedPrecondition if another process uses the journal.
  static absl::StatusOr<std::unique_ptr<JournalFile>> Open(const std::string& directory, const std::string& name);
  ~JournalFile() override;
  JournalFile(const JournalFile&) = delete;

  const std::string& name() const override { return path_; }
  absl::StatusOr<uint64_t> Size() const override;
  absl::Status Read(JournalExtent extent, char* buffer) const override;
  absl::Status Append(absl::string_view bytes) override;
  absl::Status Truncate(uint64_t size) override;
  absl::Status Replace(absl::string_view head, const std::vector<JournalExtent>& kept) override;

 private:
  JournalFile(std::string directory, std::string path, int lock)
      : directory_(std::move(directory)), path_(std::move(path)), lock_(lock) {}
  absl::Status WriteSuccessor(int fd, const std::string& path, absl::string_view head,
                              const std::vector<JournalExtent>& kept);

  const std::string directory_, path_;
  const int lock_;
  int fd_ = -1;
};

}  // namespace weir
