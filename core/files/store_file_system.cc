#include "core/files/store_file_system.h"

#include <utility>

#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace weir {
namespace {

class StoreFileSystem : public FileSystem {
 public:
  StoreFileSystem(std::string directory, std::unique_ptr<FileSystem> files)
      : directory_(std::move(directory)), files_(std::move(files)) {}

  absl::StatusOr<std::unique_ptr<ReadableFile>> NewReadableFile(const std::string& path) override {
    ASSIGN_OR_RETURN(const std::string local, Local(path));
    return files_->NewReadableFile(local);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> NewWritableFile(const std::string& path) override {
    ASSIGN_OR_RETURN(const std::string local, Local(path));
    return files_->NewWritableFile(local);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> NewAppendableFile(const std::string& path) override {
    ASSIGN_OR_RETURN(const std::string local, Local(path));
    return files_->NewAppendableFile(local);
  }
  absl::Status Rename(const std::string& from, const std::string& to) override {
    ASSIGN_OR_RETURN(const std::string local_from, Local(from));
    ASSIGN_OR_RETURN(const std::string local_to, Local(to));
    return files_->Rename(local_from, local_to);
  }
  absl::Status DeleteFile(const std::string& path) override {
    ASSIGN_OR_RETURN(const std::string local, Local(path));
    return files_->DeleteFile(local);
  }
  absl::Status DeleteRecursively(const std::string& path) override {
    ASSIGN_OR_RETURN(const std::string local, Local(path));
    return files_->DeleteRecursively(local);
  }
  absl::Status CreateDir(const std::string& path) override {
    ASSIGN_OR_RETURN(const std::string local, Local(path));
    return files_->CreateDir(local);
  }
  absl::StatusOr<std::vector<std::string>> List(const std::string& dir) override {
    ASSIGN_OR_RETURN(const std::string local, Local(dir));
    return files_->List(local);
  }
  absl::StatusOr<FileStat> Stat(const std::string& path) override {
    ASSIGN_OR_RETURN(const std::string local, Local(path));
    return files_->Stat(local);
  }
  absl::Status SyncDir(const std::string& dir) override {
    ASSIGN_OR_RETURN(const std::string local, Local(dir));
    return files_->SyncDir(local);
  }
  absl::StatusOr<std::unique_ptr<FileLock>> Lock(const std::string& path, absl::Duration patience) override {
    ASSIGN_OR_RETURN(const std::string local, Local(path));
    return files_->Lock(local, patience);
  }

 private:
  absl::StatusOr<std::string> Local(absl::string_view path) const {
    const absl::string_view scheme = SchemeOf(path);
    absl::string_view rest = path;
    if (!scheme.empty()) rest.remove_prefix(scheme.size() + 3);  // "://"
    while (absl::ConsumePrefix(&rest, "/")) continue;            // else it would be a path of the machine
    for (const absl::string_view part : absl::StrSplit(rest, '/')) {
      if (part == "..") return errors::InvalidArgument(path, " leaves the store that it is in");
    }
    return rest.empty() ? directory_ : JoinPath(directory_, rest);
  }

  const std::string directory_;
  const std::unique_ptr<FileSystem> files_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<FileSystem>> NewStoreFileSystem(const std::string& directory) {
  if (directory.empty()) return errors::InvalidArgument("The directory of a checkpoint store is empty");
  std::unique_ptr<FileSystem> files = NewPosixFileSystem();
  RETURN_IF_ERROR(files->CreateDir(directory));
  return std::make_shared<StoreFileSystem>(directory, std::move(files));
}

}  // namespace weir
