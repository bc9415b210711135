// File systems behind an interface: local, in memory, of web servers and object stores, or registered for another
// scheme.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/api.h"
#include "core/status.h"

namespace WEIR_API weir {

// Thread-safe: reads take an offset.
class ReadableFile {
 public:
  virtual ~ReadableFile() = default;
  virtual const std::string& path() const = 0;
  virtual absl::StatusOr<uint64_t> Size() const = 0;
  // Returns fewer than `size` bytes only at the end of the file.
  virtual absl::StatusOr<size_t> Read(uint64_t offset, size_t size, char* buffer) const = 0;
  // DataLoss, naming the file, if it ends before `size` bytes are read.
  absl::Status ReadFully(uint64_t offset, size_t size, char* buffer) const;
};

// Not thread-safe. The destructor closes the file and ignores the error that Close would return; on a file system that
// PublishesOnClose it discards the file.
class WritableFile {
 public:
  virtual ~WritableFile() = default;
  virtual absl::Status Append(absl::string_view data) = 0;
  // To the operating system: survives a crash of the process. Without effect where files appear on Close.
  virtual absl::Status Flush() = 0;
  // To the disk: survives a crash of the machine.
  virtual absl::Status Sync() = 0;
  // Flushes and closes. Only Close may follow, and does nothing.
  virtual absl::Status Close() = 0;
};

struct FileStat {
  uint64_t size = 0;
  int64_t mtime_nanos = 0;
  bool is_directory = false;
};

// An exclusive lock; the destructor releases it, and so does the end of the process.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

// Thread-safe. May block. Paths keep their scheme ("mem://a/b"); errors name the path: NotFound, PermissionDenied,
// AlreadyExists, ResourceExhausted (disk full), FailedPrecondition (a directory where a file is wanted or the reverse).
class FileSystem {
 public:
  virtual ~FileSystem() = default;
  virtual absl::StatusOr<std::unique_ptr<ReadableFile>> NewReadableFile(const std::string& path) = 0;
  // Truncates an existing file; its directory must exist.
  virtual absl::StatusOr<std::unique_ptr<WritableFile>> NewWritableFile(const std::string& path) = 0;
  virtual absl::StatusOr<std::unique_ptr<WritableFile>> NewAppendableFile(const std::string& path) = 0;
  // Atomically replaces an existing file. If the file system PublishesOnClose, this copies and deletes: a crash may
  // leave both, and directories cannot be renamed.
  virtual absl::Status Rename(const std::string& from, const std::string& to) = 0;
  virtual absl::Status DeleteFile(const std::string& path) = 0;
  // Deletes a file, or a directory with its contents. NotFound if absent.
  virtual absl::Status DeleteRecursively(const std::string& path) = 0;
  // Creates parents too; OK if it exists.
  virtual absl::Status CreateDir(const std::string& path) = 0;
  // Names (not paths) of a directory's entries, sorted.
  virtual absl::StatusOr<std::vector<std::string>> List(const std::string& dir) = 0;
  virtual absl::StatusOr<FileStat> Stat(const std::string& path) = 0;
  // Makes creations and renames in a directory survive a crash of the machine.
  virtual absl::Status SyncDir(const std::string& dir) = 0;
  // Locks the file `path`, which is created if needed and never deleted, against other processes and other calls in
  // this one. DeadlineExceeded if it is still locked after `patience`; Unimplemented if the file system has no locks.
  virtual absl::StatusOr<std::unique_ptr<FileLock>> Lock(const std::string& path, absl::Duration patience) = 0;
  // Whether a written file appears, whole and durable, when Close succeeds, and replaces another of its name only then:
  // temporary names then protect nothing, and cost a copy of the content. Directories need not be created there.
  virtual bool PublishesOnClose() const { return false; }

  // False for every error, also of a store that does not answer: only for hints, and for files without which the caller
  // fails anyway.
  bool Exists(const std::string& path) { return Stat(path).ok(); }
  // False only for NotFound; any other error is returned.
  absl::StatusOr<bool> CheckExists(const std::string& path);
  // OK if there is none.
  absl::Status DeleteIfExists(const std::string& path);
  absl::StatusOr<uint64_t> Size(const std::string& path);
  // Sorted paths that match a pattern with *, ? and [] in any component but the scheme. RESOURCE_EXHAUSTED for more
  // than kMaxMatches. `go_on` is called for each path; its first error is returned.
  absl::StatusOr<std::vector<std::string>> Glob(const std::string& pattern, absl::FunctionRef<absl::Status()> go_on);
  absl::StatusOr<std::vector<std::string>> Glob(const std::string& pattern) {
    return Glob(pattern, [] { return absl::OkStatus(); });
  }
  static constexpr size_t kMaxMatches = 1 << 20;
};

std::unique_ptr<FileSystem> NewPosixFileSystem();   // plain paths and "file://"
std::unique_ptr<FileSystem> NewMemoryFileSystem();  // any paths; instances are independent
// "http://" and "https://", to be read only. Authorities: CURL_CA_BUNDLE or SSL_CERT_FILE.
std::unique_ptr<FileSystem> NewHttpFileSystem();
// "s3://bucket/key", with the credentials, region and endpoint of AWS's variables and files, which it reads on first
// use.
std::unique_ptr<FileSystem> NewS3FileSystem();

// Maps schemes to file systems. Filled at start-up, then read-only and thread-safe; passed by Options.
class FileSystemRegistry {
 public:
  // With "", "file" (local), "mem" (memory, owned by this registry), "http", "https" and "s3".
  static std::shared_ptr<FileSystemRegistry> Default();

  absl::Status Register(const std::string& scheme, std::shared_ptr<FileSystem> file_system);
  // Unimplemented, listing the known schemes, if the path's is unknown.
  absl::StatusOr<FileSystem*> Find(absl::string_view path) const;

 private:
  std::map<std::string, std::shared_ptr<FileSystem>> by_scheme_;
};

// "mem" for "mem://a/b"; empty for plain paths.
absl::string_view SchemeOf(absl::string_view path);
std::string JoinPath(absl::string_view dir, absl::string_view name);
absl::string_view DirName(absl::string_view path);  // "" without a slash
std::string DirectoryOf(absl::string_view path);    // DirName, "." without a slash
absl::string_view BaseName(absl::string_view path);

// ResourceExhausted if the file is larger than `max_size`.
absl::StatusOr<std::string> ReadFileToString(FileSystem* file_system, const std::string& path,
                                             uint64_t max_size = uint64_t{1} << 30);
// Atomic: writes a temporary file beside `path`, syncs and renames it, so readers see the old content or the new.
// Writes `path` itself if the file system PublishesOnClose.
absl::Status WriteStringToFile(FileSystem* file_system, const std::string& path, absl::string_view data);

}  // namespace weir
