// A file system with the guarantees of an object store, and no more.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/files/file_system.h"

namespace weir {

// Files appear whole on Close; a rename copies, then deletes. Keeps them in `base`, which outlives it and may inject
// faults.
class TestObjectStore : public FileSystem {
 public:
  explicit TestObjectStore(FileSystem* base) : base_(base) {}

  bool PublishesOnClose() const override { return true; }
  absl::StatusOr<std::unique_ptr<ReadableFile>> NewReadableFile(const std::string& path) override {
    return base_->NewReadableFile(path);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> NewWritableFile(const std::string& path) override {
    return std::make_unique<Writer>(base_, path);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> NewAppendableFile(const std::string& path) override {
    return errors::Unimplemented(path);
  }
  absl::Status Rename(const std::string& from, const std::string& to) override {
    ASSIGN_OR_RETURN(const std::string content, ReadFileToString(base_, from));
    RETURN_IF_ERROR(WriteStringToFile(base_, to, content));
    return base_->DeleteFile(from);
  }
  absl::Status DeleteFile(const std::string& path) override { return base_->DeleteFile(path); }
  absl::Status DeleteRecursively(const std::string& path) override { return base_->DeleteRecursively(path); }
  absl::Status CreateDir(const std::string& path) override { return base_->CreateDir(path); }
  absl::StatusOr<std::vector<std::string>> List(const std::string& dir) override { return base_->List(dir); }
  absl::StatusOr<FileStat> Stat(const std::string& path) override { return base_->Stat(path); }
  absl::Status SyncDir(const std::string& dir) override { return absl::OkStatus(); }
  absl::StatusOr<std::unique_ptr<FileLock>> Lock(const std::string& path, absl::Duration patience) override {
    return errors::Unimplemented(path);
  }

 private:
  class Writer : public WritableFile {
   public:
    Writer(FileSystem* base, std::string path) : base_(base), path_(std::move(path)) {}
    absl::Status Append(absl::string_view data) override {
      absl::StrAppend(&content_, data);
      return absl::OkStatus();
    }
    absl::Status Flush() override { return absl::OkStatus(); }
    absl::Status Sync() override { return absl::OkStatus(); }
    absl::Status Close() override {
      if (std::exchange(closed_, true)) return absl::OkStatus();
      return WriteStringToFile(base_, path_, content_);
    }

   private:
    FileSystem* const base_;
    const std::string path_;
    std::string content_;
    bool closed_ = false;
  };

  FileSystem* const base_;
};

}  // namespace weir
