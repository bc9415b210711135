// The file `checkpoint` in a checkpoint directory: the list of checkpoints and the latest one.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "core/files/file_system.h"
#include "core/status.h"

namespace weir {

inline constexpr char kCheckpointStateFile[] = "checkpoint";

// Prefixes ("dir/model.ckpt-100"), oldest first. In the file, those below its own directory are relative, so that the
// directory can be moved.
struct CheckpointState {
  std::string latest;
  std::vector<std::string> all;
  std::vector<double> timestamps;  // seconds since the epoch, of `all`; may be absent
  double last_preserved = 0;       // the timestamp of the last one kept permanently, or of the first one
};

// NotFound if there is no file; DataLoss, naming it, if it cannot be parsed.
absl::StatusOr<CheckpointState> ReadCheckpointState(FileSystem* file_system, const std::string& dir);
// Replaces the file atomically.
absl::Status WriteCheckpointState(FileSystem* file_system, const std::string& dir, const CheckpointState& state);

struct AddCheckpointOptions {
  int keep = 5;  // 0: all
  // Of the checkpoints beyond `keep`, one per this interval is kept permanently, but leaves the list.
  absl::Duration keep_every = absl::InfiniteDuration();
  double timestamp = 0;  // seconds since the epoch
};
// Makes `prefix`, a complete checkpoint, the latest one of `dir`, then deletes the oldest beyond `keep`. Replaces a
// damaged state file. The caller holds the directory's lease, if there is one.
absl::Status AddCheckpoint(FileSystem* file_system, const std::string& dir, const std::string& prefix,
                           AddCheckpointOptions options);

// The newest complete checkpoint of `dir`: its index is readable, its data files are as long as the index requires, and
// its manifest, if it has one, agrees.
// Tries the next one of the series if it was published after the state file was last written (its writer was killed),
// then those in the state file, latest first, then any others in the directory by age. NotFound otherwise, saying what
// is wrong with those that exist. Other errors, such as those of a store that does not answer, are returned: they say
// nothing about a checkpoint.
absl::StatusOr<std::string> LatestCheckpoint(FileSystem* file_system, const std::string& dir);
// All complete checkpoints of `dir`, in that order; none in an empty directory. DataLoss if there are checkpoints, but
// none is complete.
absl::StatusOr<std::vector<std::string>> CompleteCheckpoints(FileSystem* file_system, const std::string& dir);

// Splits "dir/base-STEP", the name of a checkpoint of a series; nullopt for other names.
std::optional<std::pair<std::string, int64_t>> SplitCheckpointStep(absl::string_view prefix);

absl::Status CheckCheckpointComplete(FileSystem* file_system, const std::string& prefix);
// Deletes its files, the manifest's extra ones excepted; the index first, so that a crash cannot leave a broken
// checkpoint that looks complete. OK if there is none.
absl::Status DeleteCheckpoint(FileSystem* file_system, const std::string& prefix);

}  // namespace weir
