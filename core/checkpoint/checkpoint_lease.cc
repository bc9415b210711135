#include "core/checkpoint/checkpoint_lease.h"

#include <unistd.h>

#include "absl/strings/cord.h"
#include "absl/strings/str_format.h"
#include "core/checkpoint/text_record.h"
#include "core/random_bits.h"

namespace weir {
namespace {

constexpr char kLostPayload[] = "weir/checkpoint_lease_lost";

std::string HostName() {
  char name[256] = "";
  gethostname(name, sizeof(name) - 1);
  return name;
}

}  // namespace

std::string DescribeLease(const CheckpointLeaseRecord& record) {
  const absl::Time since = absl::UnixEpoch() + absl::Seconds(record.since());
  return absl::StrFormat("%s (host %s, process %d) since %s", record.holder(), record.host(), record.process(),
                         absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", since, absl::UTCTimeZone()));
}

absl::StatusOr<CheckpointLeaseRecord> ReadCheckpointLease(FileSystem* files, const std::string& dir) {
  CheckpointLeaseRecord record;
  RETURN_IF_ERROR(ReadTextRecord(files, JoinPath(dir, kCheckpointLeaseFile), &record));
  return record;
}

bool IsLeaseLost(const absl::Status& status) { return status.GetPayload(kLostPayload).has_value(); }

absl::StatusOr<std::unique_ptr<CheckpointLease>> CheckpointLease::Take(FileSystem* files, const std::string& dir,
                                                                       CheckpointLeaseOptions options) {
  std::unique_ptr<CheckpointLease> lease(new CheckpointLease(files, dir, std::move(options)));
  RETURN_IF_ERROR(files->CreateDir(dir.empty() ? "." : dir));
  ASSIGN_OR_RETURN(const std::unique_ptr<FileLock> lock, lease->Lock());
  RETURN_IF_ERROR(Annotate(lease->Renew(), "Taking the checkpoint lease"));
  return lease;
}

absl::StatusOr<std::unique_ptr<FileLock>> CheckpointLease::Lock() const {
  auto lock = files_->Lock(JoinPath(dir_, kCheckpointLockFile), options_.patience);
  if (!absl::IsDeadlineExceeded(lock.status())) return lock;
  const auto record = ReadCheckpointLease(files_, dir_);
  return errors::ResourceExhausted(
      lock.status().message(), "; ",
      record.ok() ? DescribeLease(*record) + " has the checkpoint lease" : "no known holder",
      ". If a process that writes checkpoints there is suspended, resume or kill it");
}

absl::Status CheckpointLease::Renew() {
  auto previous = ReadCheckpointLease(files_, dir_);
  if (!previous.ok() && !absl::IsNotFound(previous.status())) return previous.status();
  record_ = NewCheckpointLease(previous.ok() ? previous->token() + 1 : 1, options_.holder);
  return WriteTextRecord(files_, JoinPath(dir_, kCheckpointLeaseFile), record_);
}

CheckpointLeaseRecord NewCheckpointLease(uint64_t token, const std::string& holder) {
  CheckpointLeaseRecord record;
  record.set_token(token);
  record.set_nonce(RandomBits());
  record.set_holder(holder);
  record.set_host(HostName());
  record.set_process(getpid());
  record.set_since(SecondsSinceEpoch());
  return record;
}

absl::Status LeaseLost(const std::string& dir, const CheckpointLeaseRecord& lost, const CheckpointLeaseRecord& now) {
  absl::Status status = errors::FailedPrecondition(
      dir, ": the checkpoint lease of ", DescribeLease(lost), " (token ", lost.token(), ") was lost to ",
      now.token() == 0 ? "nobody: its file was deleted" : DescribeLease(now), " (token ", now.token(),
      "). This process must stop writing checkpoints there: two of one role have been running at once. Restart it only "
      "if the other has ended, or with another directory");
  status.SetPayload(kLostPayload, absl::Cord(absl::StrCat(now.token())));
  return status;
}

absl::Status CheckpointLease::Check() const {
  const auto now = ReadCheckpointLease(files_, dir_);
  if (absl::IsNotFound(now.status())) return LeaseLost(dir_, record_, {});
  RETURN_IF_ERROR(now.status());
  if (now->token() == record_.token() && now->nonce() == record_.nonce()) return absl::OkStatus();
  return LeaseLost(dir_, record_, *now);
}

absl::Status CheckpointLease::Guard(absl::FunctionRef<absl::Status()> write) const {
  ASSIGN_OR_RETURN(const std::unique_ptr<FileLock> lock, Lock());
  RETURN_IF_ERROR(Check());
  return write();
}

}  // namespace weir
