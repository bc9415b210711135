#include "core/checkpoint/checkpoint_state.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "core/checkpoint/bundle_format.h"
#include "core/checkpoint/manifest.h"
#include "core/checkpoint/text_record.h"
#include "core/logging.h"
#include "tensorflow/python/training/checkpoint_state.pb.h"

namespace weir {
namespace {

bool IsAbsolute(absl::string_view path) { return absl::StartsWith(path, "/") || absl::StrContains(path, "://"); }

std::string Absolute(const std::string& dir, const std::string& path) {
  return IsAbsolute(path) ? path : JoinPath(dir, path);
}

std::string Relative(const std::string& dir, const std::string& path) {
  absl::string_view rest = path;
  if (!absl::ConsumePrefix(&rest, dir)) return path;
  if (!absl::EndsWith(dir, "/") && !absl::ConsumePrefix(&rest, "/")) return path;
  return std::string(rest);
}

struct Candidate {
  std::string prefix;
  int64_t mtime_nanos = 0;
};

// The checkpoints in the directory itself, newest first; none if there is no such directory.
absl::StatusOr<std::vector<std::string>> IndexedCheckpoints(FileSystem* file_system, const std::string& dir) {
  std::vector<Candidate> candidates;
  auto names = file_system->List(dir);
  if (absl::IsNotFound(names.status())) return std::vector<std::string>();
  RETURN_IF_ERROR(names.status());
  for (absl::string_view name : *names) {
    if (!absl::ConsumeSuffix(&name, ".index")) continue;
    const std::string prefix = JoinPath(dir, name);
    const auto stat = file_system->Stat(BundleIndexPath(prefix));
    if (absl::IsNotFound(stat.status())) continue;  // deleted meanwhile
    RETURN_IF_ERROR(stat.status());
    candidates.push_back({prefix, stat->mtime_nanos});
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.mtime_nanos > b.mtime_nanos; });
  std::vector<std::string> prefixes;
  for (Candidate& candidate : candidates) prefixes.push_back(std::move(candidate.prefix));
  return prefixes;
}

// Of two checkpoints of one series: whether `prefix` has the larger step.
bool IsLaterInSeries(const std::string& prefix, const std::string& than) {
  const auto split = SplitCheckpointStep(prefix), other = SplitCheckpointStep(than);
  return split && other && split->first == other->first && split->second > other->second;
}

// Whether the error is of a file that is absent or damaged. After any other one, such as that of a store that does not
// answer, nothing is known of the file.
bool IsAbsentOrDamaged(const absl::Status& status) { return absl::IsNotFound(status) || absl::IsDataLoss(status); }

// True if the index was written after the list. Checkpoints that were removed from the list are older than it.
absl::StatusOr<bool> IsNewerThanList(FileSystem* file_system, const std::string& dir, const std::string& prefix) {
  const auto list = file_system->Stat(JoinPath(dir, kCheckpointStateFile));
  if (absl::IsNotFound(list.status())) return false;
  RETURN_IF_ERROR(list.status());
  const auto index = file_system->Stat(BundleIndexPath(prefix));
  if (absl::IsNotFound(index.status())) return false;
  RETURN_IF_ERROR(index.status());
  return index->mtime_nanos >= list->mtime_nanos;
}

// True if the checkpoint follows the latest one, but its writer was killed before it listed it. A copy of another
// checkpoint under such a name has no larger generation, or was written under no lease.
absl::StatusOr<bool> AwaitsItsListing(FileSystem* file_system, const std::string& dir, const std::string& latest,
                                      const std::string& prefix) {
  if (!IsLaterInSeries(prefix, latest)) return false;
  ASSIGN_OR_RETURN(const bool is_newer, IsNewerThanList(file_system, dir, prefix));
  if (!is_newer) return false;
  const auto manifest = ReadManifest(file_system, prefix), known = ReadManifest(file_system, latest);
  if (!manifest.ok()) return IsAbsentOrDamaged(manifest.status()) ? absl::StatusOr<bool>(false) : manifest.status();
  if (!known.ok()) return IsAbsentOrDamaged(known.status()) ? absl::StatusOr<bool>(true) : known.status();
  return manifest->generation() > known->generation() && manifest->token() >= known->token();
}

// Checkpoints that await their listing, then those on it, the latest first, then others in the directory. A damaged
// list counts as none.
absl::StatusOr<std::vector<std::string>> Candidates(FileSystem* file_system, const std::string& dir) {
  std::vector<std::string> prefixes;
  auto add = [&](const std::string& prefix) {
    if (std::find(prefixes.begin(), prefixes.end(), prefix) == prefixes.end()) prefixes.push_back(prefix);
  };
  ASSIGN_OR_RETURN(const std::vector<std::string> indexed, IndexedCheckpoints(file_system, dir));
  if (auto state = ReadCheckpointState(file_system, dir); state.ok()) {
    for (const std::string& prefix : indexed) {
      const bool is_listed = std::find(state->all.begin(), state->all.end(), prefix) != state->all.end();
      if (is_listed) continue;
      ASSIGN_OR_RETURN(const bool awaits, AwaitsItsListing(file_system, dir, state->latest, prefix));
      if (awaits) add(prefix);
    }
    if (!state->latest.empty()) add(state->latest);
    std::for_each(state->all.rbegin(), state->all.rend(), add);
  } else if (!IsAbsentOrDamaged(state.status())) {
    return state.status();
  }
  for (const std::string& prefix : indexed) add(prefix);
  return prefixes;
}

// Checkpoints of the series of `prefix` that are newer than `latest`, but older than `prefix`, oldest first. Their
// writer was killed before it listed them.
absl::StatusOr<std::vector<std::string>> Unlisted(FileSystem* file_system, const std::string& dir,
                                                  const std::string& prefix, const std::string& latest) {
  if (!IsLaterInSeries(prefix, latest)) return std::vector<std::string>();
  std::map<int64_t, std::string> found;
  ASSIGN_OR_RETURN(const std::vector<std::string> indexed, IndexedCheckpoints(file_system, dir));
  for (const std::string& candidate : indexed) {
    if (!IsLaterInSeries(candidate, latest) || !IsLaterInSeries(prefix, candidate)) continue;
    ASSIGN_OR_RETURN(const bool is_newer, IsNewerThanList(file_system, dir, candidate));
    if (is_newer) found[SplitCheckpointStep(candidate)->second] = candidate;
  }
  std::vector<std::string> prefixes;
  for (auto& [step, candidate] : found) prefixes.push_back(std::move(candidate));
  return prefixes;
}

}  // namespace

std::optional<std::pair<std::string, int64_t>> SplitCheckpointStep(absl::string_view prefix) {
  const size_t at = prefix.rfind('-');
  int64_t step = 0;
  if (at == absl::string_view::npos || !absl::SimpleAtoi(prefix.substr(at + 1), &step)) return std::nullopt;
  return std::pair(std::string(prefix.substr(0, at)), step);
}

absl::StatusOr<CheckpointState> ReadCheckpointState(FileSystem* file_system, const std::string& dir) {
  tensorflow::CheckpointState proto;
  RETURN_IF_ERROR(ReadTextRecord(file_system, JoinPath(dir, kCheckpointStateFile), &proto));
  CheckpointState state;
  if (!proto.model_checkpoint_path().empty()) state.latest = Absolute(dir, proto.model_checkpoint_path());
  for (const std::string& prefix : proto.all_model_checkpoint_paths()) state.all.push_back(Absolute(dir, prefix));
  state.timestamps.assign(proto.all_model_checkpoint_timestamps().begin(),
                          proto.all_model_checkpoint_timestamps().end());
  state.last_preserved = proto.last_preserved_timestamp();
  return state;
}

absl::Status WriteCheckpointState(FileSystem* file_system, const std::string& dir, const CheckpointState& state) {
  tensorflow::CheckpointState proto;
  proto.set_model_checkpoint_path(Relative(dir, state.latest));
  for (const std::string& prefix : state.all) proto.add_all_model_checkpoint_paths(Relative(dir, prefix));
  for (double timestamp : state.timestamps) proto.add_all_model_checkpoint_timestamps(timestamp);
  proto.set_last_preserved_timestamp(state.last_preserved);
  return WriteTextRecord(file_system, JoinPath(dir, kCheckpointStateFile), proto);
}

absl::Status AddCheckpoint(FileSystem* file_system, const std::string& dir, const std::string& prefix,
                           AddCheckpointOptions options) {
  CheckpointState state;
  auto previous = ReadCheckpointState(file_system, dir);
  if (previous.ok()) {
    state = *previous;
  } else if (!IsAbsentOrDamaged(previous.status())) {
    return previous.status();
  }
  state.timestamps.resize(state.all.size());
  if (auto again = std::find(state.all.begin(), state.all.end(), prefix); again != state.all.end()) {
    state.timestamps.erase(state.timestamps.begin() + (again - state.all.begin()));
    state.all.erase(again);
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> unlisted, Unlisted(file_system, dir, prefix, state.latest));
  for (const std::string& found : unlisted) {
    state.all.push_back(found);
    state.timestamps.push_back(options.timestamp);
  }
  state.latest = prefix;
  state.all.push_back(prefix);
  state.timestamps.push_back(options.timestamp);
  if (state.last_preserved == 0) state.last_preserved = options.timestamp;
  const size_t surplus = options.keep > 0 && state.all.size() > options.keep ? state.all.size() - options.keep : 0;
  // Checkpoints are deleted before they leave the list, so that a crash cannot leave any that no list names. The listed
  // latest one is deleted afterwards, and those that cannot be deleted stay on the list.
  const std::string latest = previous.ok() ? previous->latest : "";
  absl::Status undeleted;
  bool drops_latest = false;
  CheckpointState kept = state;
  kept.all.clear();
  kept.timestamps.clear();
  for (size_t i = 0; i < state.all.size(); ++i) {
    const bool is_latest = state.all[i] == latest;
    if (i < surplus && state.timestamps[i] - absl::ToDoubleSeconds(options.keep_every) >= kept.last_preserved) {
      kept.last_preserved = state.timestamps[i];  // kept permanently
      continue;
    }
    if (i < surplus) {
      const absl::Status deleted = is_latest ? absl::OkStatus() : DeleteCheckpoint(file_system, state.all[i]);
      drops_latest = drops_latest || is_latest;
      undeleted.Update(deleted);
      if (deleted.ok()) continue;
    }
    kept.all.push_back(state.all[i]);
    kept.timestamps.push_back(state.timestamps[i]);
  }
  RETURN_IF_ERROR(WriteCheckpointState(file_system, dir, kept));
  if (drops_latest) undeleted.Update(DeleteCheckpoint(file_system, latest));
  if (!undeleted.ok()) WEIR_LOG(WARNING) << "An old checkpoint stays: " << undeleted.message();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> CompleteCheckpoints(FileSystem* file_system, const std::string& dir) {
  std::vector<std::string> complete, reasons;
  ASSIGN_OR_RETURN(const std::vector<std::string> candidates, Candidates(file_system, dir));
  for (const std::string& prefix : candidates) {
    const absl::Status status = CheckCheckpointComplete(file_system, prefix);
    if (status.ok()) {
      complete.push_back(prefix);
      continue;
    }
    if (!IsAbsentOrDamaged(status)) return status;
    const absl::Status index = file_system->Stat(BundleIndexPath(prefix)).status();
    if (absl::IsNotFound(index)) continue;  // deleted
    RETURN_IF_ERROR(index);
    WEIR_LOG(WARNING) << "Checkpoint " << prefix << " is skipped: " << status.message();
    reasons.push_back(std::string(status.message()));
  }
  if (complete.empty() && !reasons.empty()) {
    return errors::DataLoss("No checkpoint in ", dir, " can be read: ", absl::StrJoin(reasons, "; "));
  }
  return complete;
}

absl::StatusOr<std::string> LatestCheckpoint(FileSystem* file_system, const std::string& dir) {
  std::vector<std::string> reasons;
  ASSIGN_OR_RETURN(const std::vector<std::string> candidates, Candidates(file_system, dir));
  for (const std::string& prefix : candidates) {
    absl::Status status = CheckCheckpointComplete(file_system, prefix);
    if (status.ok()) return prefix;
    if (!IsAbsentOrDamaged(status)) return status;
    reasons.push_back(std::string(status.message()));
  }
  return errors::NotFound("There is no complete checkpoint in ", dir, reasons.empty() ? "" : ": ",
                          absl::StrJoin(reasons, "; "));
}

absl::Status CheckCheckpointComplete(FileSystem* file_system, const std::string& prefix) {
  ASSIGN_OR_RETURN(const BundleIndex index, ReadBundleIndex(file_system, prefix));
  RETURN_IF_ERROR(CheckBundleData(file_system, prefix, index));
  return CheckManifest(file_system, prefix);
}

absl::Status DeleteCheckpoint(FileSystem* file_system, const std::string& prefix) {
  absl::Status status = file_system->DeleteFile(BundleIndexPath(prefix));
  if (!status.ok() && !absl::IsNotFound(status)) return status;
  status = file_system->DeleteFile(ManifestPath(prefix));
  if (!status.ok() && !absl::IsNotFound(status)) return status;
  const absl::string_view dir = DirName(prefix);
  auto names = file_system->List(dir.empty() ? "." : std::string(dir));
  if (!names.ok()) return absl::OkStatus();
  const std::string data = absl::StrCat(BaseName(prefix), ".data-");
  for (const std::string& name : *names) {
    if (absl::StartsWith(name, data)) RETURN_IF_ERROR(file_system->DeleteFile(JoinPath(dir, name)));
  }
  return absl::OkStatus();
}

}  // namespace weir
