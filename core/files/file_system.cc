#include "core/files/file_system.h"

#include <fnmatch.h>

#include <algorithm>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace weir {
namespace {

bool HasWildcard(absl::string_view text) { return text.find_first_of("*?[") != absl::string_view::npos; }

bool IsRemote(absl::string_view path) {
  const absl::string_view scheme = SchemeOf(path);
  return scheme == "s3" || scheme == "http" || scheme == "https";
}

// Whether an error of List or Stat only says that nothing is there that could match. An error of a remote store may
// hide matches.
bool MeansNoMatch(FileSystem& files, const std::string& path, const absl::Status& error) {
  if (absl::IsNotFound(error)) return true;
  if (IsRemote(path)) return absl::IsFailedPrecondition(error) && files.Stat(path).ok();  // a file, no directory
  return absl::IsFailedPrecondition(error) || absl::IsPermissionDenied(error) || absl::IsInvalidArgument(error);
}

}  // namespace

absl::Status ReadableFile::ReadFully(uint64_t offset, size_t size, char* buffer) const {
  ASSIGN_OR_RETURN(const size_t read, Read(offset, size, buffer));
  if (read == size) return absl::OkStatus();
  return errors::DataLoss(path(), ": the file ends at byte ", offset + read, ", but ", size, " bytes at offset ",
                          offset, " were expected; it is truncated");
}

absl::StatusOr<uint64_t> FileSystem::Size(const std::string& path) {
  ASSIGN_OR_RETURN(FileStat stat, Stat(path));
  return stat.size;
}

absl::StatusOr<bool> FileSystem::CheckExists(const std::string& path) {
  const absl::Status found = Stat(path).status();
  if (absl::IsNotFound(found)) return false;
  RETURN_IF_ERROR(found);
  return true;
}

absl::Status FileSystem::DeleteIfExists(const std::string& path) {
  absl::Status deleted = DeleteFile(path);
  return absl::IsNotFound(deleted) ? absl::OkStatus() : deleted;
}

absl::StatusOr<std::vector<std::string>> FileSystem::Glob(const std::string& pattern,
                                                          absl::FunctionRef<absl::Status()> go_on) {
  const absl::string_view scheme = SchemeOf(pattern);
  std::string root = scheme.empty() ? "" : absl::StrCat(scheme, "://");
  absl::string_view rest = absl::string_view(pattern).substr(root.size());
  if (!rest.empty() && rest[0] == '/') root += '/';
  std::vector<std::string> matches = {root};
  for (absl::string_view part : absl::StrSplit(rest, '/', absl::SkipEmpty())) {
    std::vector<std::string> next;
    const auto add = [&](std::string path) -> absl::Status {
      next.push_back(std::move(path));
      if (next.size() <= kMaxMatches) return absl::OkStatus();
      return errors::ResourceExhausted("The pattern ", pattern, " matches more than ", kMaxMatches,
                                       " paths: use a more specific one");
    };
    for (const std::string& dir : matches) {
      RETURN_IF_ERROR(go_on());
      if (!HasWildcard(part)) {
        RETURN_IF_ERROR(add(JoinPath(dir, part)));
        continue;
      }
      auto names = List(dir.empty() ? "." : dir);
      if (!names.ok()) {
        if (!MeansNoMatch(*this, dir, names.status())) return names.status();
        continue;
      }
      for (const std::string& name : *names) {
        if (fnmatch(std::string(part).c_str(), name.c_str(), FNM_PERIOD) != 0) continue;
        RETURN_IF_ERROR(add(JoinPath(dir, name)));
      }
    }
    matches = std::move(next);
  }
  std::vector<std::string> existing;
  for (std::string& path : matches) {
    RETURN_IF_ERROR(go_on());
    const absl::Status found = Stat(path).status();
    if (!found.ok() && !MeansNoMatch(*this, path, found)) return found;
    if (found.ok()) existing.push_back(std::move(path));
  }
  std::sort(existing.begin(), existing.end());
  return existing;
}

std::shared_ptr<FileSystemRegistry> FileSystemRegistry::Default() {
  auto registry = std::make_shared<FileSystemRegistry>();
  std::shared_ptr<FileSystem> posix = NewPosixFileSystem();
  registry->by_scheme_[""] = posix;
  registry->by_scheme_["file"] = posix;
  registry->by_scheme_["mem"] = NewMemoryFileSystem();
  std::shared_ptr<FileSystem> http = NewHttpFileSystem();
  registry->by_scheme_["http"] = http;
  registry->by_scheme_["https"] = http;
  registry->by_scheme_["s3"] = NewS3FileSystem();
  return registry;
}

absl::Status FileSystemRegistry::Register(const std::string& scheme, std::shared_ptr<FileSystem> file_system) {
  if (by_scheme_.emplace(scheme, std::move(file_system)).second) return absl::OkStatus();
  return errors::AlreadyExists("File system for scheme '", scheme, "' is already registered");
}

absl::StatusOr<FileSystem*> FileSystemRegistry::Find(absl::string_view path) const {
  auto found = by_scheme_.find(std::string(SchemeOf(path)));
  if (found != by_scheme_.end()) return found->second.get();
  auto name = [](std::string* out, const auto& entry) { absl::StrAppend(out, "'", entry.first, "'"); };
  return errors::Unimplemented("File system scheme '", SchemeOf(path), "' not implemented (file: '", path,
                               "'); there are ", absl::StrJoin(by_scheme_, ", ", name));
}

absl::string_view SchemeOf(absl::string_view path) {
  const size_t colon = path.find("://");
  return colon == absl::string_view::npos ? absl::string_view() : path.substr(0, colon);
}

std::string JoinPath(absl::string_view dir, absl::string_view name) {
  if (dir.empty() || (!name.empty() && name[0] == '/')) return std::string(name);
  return dir.back() == '/' ? absl::StrCat(dir, name) : absl::StrCat(dir, "/", name);
}

absl::string_view DirName(absl::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == absl::string_view::npos) return "";
  const absl::string_view scheme = SchemeOf(path);
  const size_t root = scheme.empty() ? 1 : scheme.size() + 3;
  return path.substr(0, std::max(slash, root));
}

std::string DirectoryOf(absl::string_view path) {
  const absl::string_view dir = DirName(path);
  return dir.empty() ? "." : std::string(dir);
}

absl::string_view BaseName(absl::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == absl::string_view::npos ? path : path.substr(slash + 1);
}

absl::StatusOr<std::string> ReadFileToString(FileSystem* file_system, const std::string& path, uint64_t max_size) {
  ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, file_system->NewReadableFile(path));
  ASSIGN_OR_RETURN(const uint64_t size, file->Size());
  if (size > max_size) {
    return errors::ResourceExhausted(file->path(), ": ", size, " bytes are more than the limit of ", max_size);
  }
  std::string content(size, '\0');
  ASSIGN_OR_RETURN(const size_t read, file->Read(0, size, content.data()));
  content.resize(read);
  return content;
}

absl::Status WriteStringToFile(FileSystem* file_system, const std::string& path, absl::string_view data) {
  if (file_system->PublishesOnClose()) {
    ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, file_system->NewWritableFile(path));
    RETURN_IF_ERROR(file->Append(data));
    return file->Close();
  }
  const std::string temporary = path + ".tmp";
  auto remove_temporary = absl::MakeCleanup([&] { file_system->DeleteFile(temporary).IgnoreError(); });
  ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, file_system->NewWritableFile(temporary));
  RETURN_IF_ERROR(file->Append(data));
  RETURN_IF_ERROR(file->Sync());
  RETURN_IF_ERROR(file->Close());
  RETURN_IF_ERROR(file_system->Rename(temporary, path));
  std::move(remove_temporary).Cancel();
  const absl::string_view dir = DirName(path);
  return file_system->SyncDir(dir.empty() ? "." : std::string(dir));
}

}  // namespace weir
