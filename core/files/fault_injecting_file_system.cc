#include "core/files/fault_injecting_file_system.h"

#include <utility>

namespace weir {

class FaultInjectingFileSystem::Writer : public WritableFile {
 public:
  Writer(FaultInjectingFileSystem* owner, std::string path, uint64_t size, std::unique_ptr<WritableFile> base)
      : owner_(owner), path_(std::move(path)), size_(size), base_(std::move(base)) {}

  absl::Status Append(absl::string_view data) override {
    absl::Status fault = owner_->Check(kAppend, path_);
    if (!fault.ok()) {
      if (!owner_->ShortWrites()) return fault;
      data = data.substr(0, data.size() / 2);
    }
    RETURN_IF_ERROR(base_->Append(data));
    RETURN_IF_ERROR(base_->Flush());
    size_ += data.size();
    owner_->NoteWritten(path_, size_);
    return fault;
  }
  absl::Status Flush() override { return base_->Flush(); }
  absl::Status Sync() override {
    RETURN_IF_ERROR(owner_->Check(kSync, path_));
    RETURN_IF_ERROR(base_->Sync());
    owner_->NoteSynced(path_);
    return absl::OkStatus();
  }
  absl::Status Close() override {
    RETURN_IF_ERROR(owner_->Check(kClose, path_));
    return base_->Close();
  }

 private:
  FaultInjectingFileSystem* const owner_;
  const std::string path_;
  uint64_t size_;
  const std::unique_ptr<WritableFile> base_;
};

class FaultInjectingFileSystem::Reader : public ReadableFile {
 public:
  Reader(FaultInjectingFileSystem* owner, std::unique_ptr<ReadableFile> base) : owner_(owner), base_(std::move(base)) {}

  const std::string& path() const override { return base_->path(); }
  absl::StatusOr<uint64_t> Size() const override { return base_->Size(); }
  absl::StatusOr<size_t> Read(uint64_t offset, size_t size, char* buffer) const override {
    RETURN_IF_ERROR(owner_->Check(kRead, path()));
    return base_->Read(offset, size, buffer);
  }

 private:
  FaultInjectingFileSystem* const owner_;
  const std::unique_ptr<ReadableFile> base_;
};

void FaultInjectingFileSystem::Inject(Fault fault) {
  MutexLock lock(mu_);
  fault_ = std::move(fault);
  armed_ = true;
  happened_ = false;
  count_ = 0;
}

void FaultInjectingFileSystem::Heal() {
  MutexLock lock(mu_);
  armed_ = happened_ = false;
  count_ = 0;
}

bool FaultInjectingFileSystem::fault_happened() const {
  MutexLock lock(mu_);
  return happened_;
}

bool FaultInjectingFileSystem::ShortWrites() const {
  MutexLock lock(mu_);
  // Only the operation at which the crash occurred was partly carried out.
  return fault_.short_write && count_ == fault_.at + 1;
}

absl::Status FaultInjectingFileSystem::Check(Operation operation, const std::string& path) {
  MutexLock lock(mu_);
  if (!armed_ || (operation == kStat && fault_.kinds.count(kStat) == 0)) return absl::OkStatus();
  auto fail = [&] { return Annotate(fault_.error, path); };
  if (happened_ && fault_.crash) {
    ++count_;
    return fail();
  }
  const bool counts = fault_.kinds.empty() ? operation != kRead : fault_.kinds.count(operation) > 0;
  if (!counts || count_++ != fault_.at) return absl::OkStatus();
  happened_ = true;
  return fail();
}

void FaultInjectingFileSystem::NoteWritten(const std::string& path, uint64_t size) {
  MutexLock lock(mu_);
  written_[path].size = size;
}

void FaultInjectingFileSystem::NoteSynced(const std::string& path) {
  MutexLock lock(mu_);
  written_[path].synced = written_[path].size;
}

absl::Status FaultInjectingFileSystem::DropUnsyncedData() {
  std::map<std::string, Written> written;
  {
    MutexLock lock(mu_);
    written.swap(written_);
  }
  for (const auto& [path, state] : written) {
    if (state.synced == state.size || !base_->Exists(path)) continue;
    ASSIGN_OR_RETURN(std::string content, ReadFileToString(base_, path));
    content.resize(std::min<size_t>(content.size(), state.synced));
    ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, base_->NewWritableFile(path));
    RETURN_IF_ERROR(file->Append(content));
    RETURN_IF_ERROR(file->Close());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ReadableFile>> FaultInjectingFileSystem::NewReadableFile(const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, base_->NewReadableFile(path));
  return std::make_unique<Reader>(this, std::move(file));
}

absl::StatusOr<FileStat> FaultInjectingFileSystem::Stat(const std::string& path) {
  RETURN_IF_ERROR(Check(kStat, path));
  return base_->Stat(path);
}

absl::StatusOr<std::unique_ptr<WritableFile>> FaultInjectingFileSystem::Open(const std::string& path, bool keep) {
  RETURN_IF_ERROR(Check(kOpen, path));
  const uint64_t size = keep ? base_->Size(path).value_or(0) : 0;
  ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file,
                   keep ? base_->NewAppendableFile(path) : base_->NewWritableFile(path));
  {
    MutexLock lock(mu_);
    auto found = written_.find(path);
    if (!keep || found == written_.end()) written_[path] = {size, size};
  }
  return std::make_unique<Writer>(this, path, size, std::move(file));
}

absl::StatusOr<std::unique_ptr<WritableFile>> FaultInjectingFileSystem::NewWritableFile(const std::string& path) {
  return Open(path, /*keep=*/false);
}

absl::StatusOr<std::unique_ptr<WritableFile>> FaultInjectingFileSystem::NewAppendableFile(const std::string& path) {
  return Open(path, /*keep=*/true);
}

absl::Status FaultInjectingFileSystem::Rename(const std::string& from, const std::string& to) {
  RETURN_IF_ERROR(Check(kRename, from));
  RETURN_IF_ERROR(base_->Rename(from, to));
  MutexLock lock(mu_);
  auto found = written_.find(from);
  if (found == written_.end()) {
    written_.erase(to);
  } else if (from != to) {
    written_[to] = found->second;
    written_.erase(from);
  }
  return absl::OkStatus();
}

absl::Status FaultInjectingFileSystem::DeleteFile(const std::string& path) {
  RETURN_IF_ERROR(Check(kDelete, path));
  return base_->DeleteFile(path);
}

absl::Status FaultInjectingFileSystem::DeleteRecursively(const std::string& path) {
  RETURN_IF_ERROR(Check(kDelete, path));
  return base_->DeleteRecursively(path);
}

absl::Status FaultInjectingFileSystem::CreateDir(const std::string& path) {
  RETURN_IF_ERROR(Check(kCreateDir, path));
  return base_->CreateDir(path);
}

absl::Status FaultInjectingFileSystem::SyncDir(const std::string& dir) {
  RETURN_IF_ERROR(Check(kSyncDir, dir));
  return base_->SyncDir(dir);
}

}  // namespace weir
