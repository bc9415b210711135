// The right to write to a checkpoint directory, which one process holds at a time.
#pragma once

#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "core/files/file_system.h"
#include "core/status.h"
#include "weir/checkpoint.pb.h"

namespace weir {

inline constexpr char kCheckpointLeaseFile[] = "checkpoint.lease";
inline constexpr char kCheckpointLockFile[] = "checkpoint.lock";

struct CheckpointLeaseOptions {
  std::string holder;                           // the task, for messages
  absl::Duration patience = absl::Seconds(10);  // for the directory's lock
};

// A fencing token. Two chiefs that run at once, after a partition say, must not delete each other's checkpoints.
// - A process that starts takes the lease with a higher token, whether or not another one holds it: the last one wins.
// - Writers verify the lease under a file lock and write under it, so none takes it in between. A writer that is
//   suspended there blocks others; their errors name it. The lock of a killed process is released.
// - A lost lease stays lost.
// Not thread-safe. Blocks for I/O and for the lock.
class CheckpointLease {
 public:
  // Creates the directory if needed. Unimplemented if the file system has no locks; ResourceExhausted, naming the
  // holder, if the directory stays locked. `files` outlives the lease.
  static absl::StatusOr<std::unique_ptr<CheckpointLease>> Take(FileSystem* files, const std::string& dir,
                                                               CheckpointLeaseOptions options);

  // Runs `write` if the lease is still valid; no process can take it meanwhile. Otherwise FailedPrecondition names the
  // holder (see IsLeaseLost). ResourceExhausted if the directory stays locked. `write` must not call Guard.
  absl::Status Guard(absl::FunctionRef<absl::Status()> write) const;
  // OK if the lease was valid at some moment of this call.
  absl::Status Check() const;

  const std::string& dir() const { return dir_; }
  uint64_t token() const { return record_.token(); }
  const std::string& holder() const { return record_.holder(); }

 private:
  CheckpointLease(FileSystem* files, std::string dir, CheckpointLeaseOptions options)
      : files_(files), dir_(std::move(dir)), options_(std::move(options)) {}

  absl::StatusOr<std::unique_ptr<FileLock>> Lock() const;
  absl::Status Renew();

  FileSystem* const files_;
  const std::string dir_;
  const CheckpointLeaseOptions options_;
  CheckpointLeaseRecord record_;
};

// A new lease of this process.
CheckpointLeaseRecord NewCheckpointLease(uint64_t token, const std::string& holder);
// The error of a process that had the lease `lost` of `dir`, which now is `now`'s; with token 0, nobody's.
absl::Status LeaseLost(const std::string& dir, const CheckpointLeaseRecord& lost, const CheckpointLeaseRecord& now);
// The lease of `dir`; NotFound if there has never been one, DataLoss if its file is damaged.
absl::StatusOr<CheckpointLeaseRecord> ReadCheckpointLease(FileSystem* files, const std::string& dir);
// "chief-0 (host a, process 12) since 2026-01-31 12:00:00 UTC"
std::string DescribeLease(const CheckpointLeaseRecord& record);
// Whether the error is that of a lease which another process has taken.
bool IsLeaseLost(const absl::Status& status);

}  // namespace weir
