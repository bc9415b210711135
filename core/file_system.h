// Files, behind an interface: local, in memory, or whatever a scheme is registered for.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "core/status.h"

namespace weir {

// Thread-safe: reads name their offset.
class ReadableFile {
 public:
  virtual ~ReadableFile() = default;
  virtual const std::string& path() const = 0;
  virtual absl::StatusOr<uint64_t> Size() const = 0;
  // Fewer than `size` bytes only at the end of the file.
  virtual absl::StatusOr<size_t> Read(uint64_t offset, size_t size, char* buffer) const = 0;
  // DataLoss, naming the file, when it ends before `size` bytes are read.
  absl::Status ReadFully(uint64_t offset, size_t size, char* buffer) const;
};

// Not thread-safe. The destructor closes, and drops the error that Close would have told.
class WritableFile {
 public:
  virtual ~WritableFile() = default;
  virtual absl::Status Append(absl::string_view data) = 0;
  // To the operating system: survives the process.
  virtual absl::Status Flush() = 0;
  // To the disk: survives the machine.
  virtual absl::Status Sync() = 0;
  // Flushes. Nothing may follow but another Close, which does nothing.
  virtual absl::Status Close() = 0;
};

struct FileStat {
  uint64_t size = 0;
  int64_t mtime_nanos = 0;
  bool is_directory = false;
};

// Thread-safe. May block. Paths keep their scheme ("mem://a/b"); errors name the path: NotFound, PermissionDenied,
// AlreadyExists, ResourceExhausted (disk full), FailedPrecondition (a directory where a file is wanted or the reverse).
class FileSystem {
 public:
  virtual ~FileSystem() = default;
  virtual absl::StatusOr<std::unique_ptr<ReadableFile>> NewReadableFile(const std::string& path) = 0;
  // Empties a file that exists; its directory must exist.
  virtual absl::StatusOr<std::unique_ptr<WritableFile>> NewWritableFile(const std::string& path) = 0;
  virtual absl::StatusOr<std::unique_ptr<WritableFile>> NewAppendableFile(const std::string& path) = 0;
  // Atomically takes the place of a file that exists.
  virtual absl::Status Rename(const std::string& from, const std::string& to) = 0;
  virtual absl::Status DeleteFile(const std::string& path) = 0;
  // A directory with all below it, or a file. NotFound when absent.
  virtual absl::Status DeleteRecursively(const std::string& path) = 0;
  // With its parents; OK when it exists.
  virtual absl::Status CreateDir(const std::string& path) = 0;
  // Names (not paths) in a directory, sorted.
  virtual absl::StatusOr<std::vector<std::string>> List(const std::string& dir) = 0;
  virtual absl::StatusOr<FileStat> Stat(const std::string& path) = 0;
  // Makes creations and renames in a directory survive the machine.
  virtual absl::Status SyncDir(const std::string& dir) = 0;

  bool Exists(const std::string& path) { return Stat(path).ok(); }
  absl::StatusOr<uint64_t> Size(const std::string& path);
  // Sorted paths that match a pattern with *, ? and [] in any component but the scheme. RESOURCE_EXHAUSTED where it
  // leads to more than kMaxMatches; it ends with the first error of `go_on`, which is asked for each of them.
  absl::StatusOr<std::vector<std::string>> Glob(const std::string& pattern, absl::FunctionRef<absl::Status()> go_on);
  absl::StatusOr<std::vector<std::string>> Glob(const std::string& pattern) {
    return Glob(pattern, [] { return absl::OkStatus(); });
  }
  static constexpr size_t kMaxMatches = 1 << 20;
};

std::unique_ptr<FileSystem> NewPosixFileSystem();   // plain paths and "file://"
std::unique_ptr<FileSystem> NewMemoryFileSystem();  // any paths; each instance is its own world

// Which file system serves which scheme. Filled at start-up, then read-only and thread-safe; passed by Options.
class FileSystemRegistry {
 public:
  // With "", "file" (local) and "mem" (memory, owned by this registry).
  static std::shared_ptr<FileSystemRegistry> Default();

  absl::Status Register(const std::string& scheme, std::shared_ptr<FileSystem> file_system);
  // Unimplemented, listing the schemes, when the path's is not among them.
  absl::StatusOr<FileSystem*> Find(absl::string_view path) const;

 private:
  std::map<std::string, std::shared_ptr<FileSystem>> by_scheme_;
};

// "mem" of "mem://a/b"; empty for plain paths.
absl::string_view SchemeOf(absl::string_view path);
std::string JoinPath(absl::string_view dir, absl::string_view name);
absl::string_view DirName(absl::string_view path);  // "" without a slash
std::string DirectoryOf(absl::string_view path);    // DirName, "." without a slash
absl::string_view BaseName(absl::string_view path);

// ResourceExhausted when the file is larger than `max_size`.
absl::StatusOr<std::string> ReadFileToString(FileSystem* file_system, const std::string& path,
                                             uint64_t max_size = uint64_t{1} << 30);
// Readers see the old content or the new: writes beside `path`, syncs, renames.
absl::Status WriteStringToFile(FileSystem* file_system, const std::string& path, absl::string_view data);

}  // namespace weir
