// A shard's way from one task to another.
#include <algorithm>

#include "kernels/embedding/embedding_shard.h"

namespace weir {

absl::Status EmbeddingShard::CheckHere() const {
  if (presence_ == EmbeddingPresence::kHere || presence_ == EmbeddingPresence::kLeaving) return absl::OkStatus();
  return errors::Aborted("A part of embedding table ", options_.name, " is not on this task",
                         presence_ == EmbeddingPresence::kArriving ? " yet" : "",
                         ": ask the map of its parts, and make the step again");
}

absl::Status EmbeddingShard::CheckUnfrozen() const {
  RETURN_IF_ERROR(CheckHere());
  if (presence_ == EmbeddingPresence::kHere) return absl::OkStatus();
  return errors::Aborted("A part of embedding table ", options_.name,
                         " has just gone to another task: ask the map of its parts, and make the step again");
}

EmbeddingPresence EmbeddingShard::presence() const {
  MutexLock lock(mu_);
  return presence_;
}

absl::StatusOr<EmbeddingRows> EmbeddingShard::Send(int64_t since, uint64_t version, std::optional<int64_t> freeze,
                                                   Allocator* allocator) {
  EmbeddingRows rows;
  ColdCopy cold;
  {
    MutexLock lock(mu_);
    RETURN_IF_ERROR(CheckUnfrozen());
    ASSIGN_OR_RETURN(rows, Copy(since, version, /*keep_removals=*/false, allocator, &cold));
    if (freeze.has_value()) {
      presence_ = EmbeddingPresence::kLeaving;
      move_ = *freeze;
    }
  }
  RETURN_IF_ERROR(FinishCopy(since, cold, &rows));
  return rows;
}

void EmbeddingShard::Stay(int64_t move) {
  MutexLock lock(mu_);
  if (presence_ == EmbeddingPresence::kLeaving && move_ == move) presence_ = EmbeddingPresence::kHere;
}

absl::Status EmbeddingShard::Receive(int64_t move, bool begin, const EmbeddingRows& rows,
                                     absl::Span<const uint32_t> positions, absl::Span<const uint32_t> removed) {
  MutexLock lock(mu_);
  if (begin) {
    // What another move or a restoration has brought here meanwhile is in use.
    if (CheckHere().ok()) {
      return errors::AlreadyExists("Embedding table ", options_.name, " has a part already that move ", move,
                                   " would bring: another move has overtaken it, or one before it came to no end");
    }
    Empty();
    presence_ = EmbeddingPresence::kArriving;
    move_ = move;
  }
  if (presence_ != EmbeddingPresence::kArriving || move_ != move) {
    return errors::Aborted("Rows of embedding table ", options_.name, " came from move ", move,
                           ", which is over: another move or a restoration came between");
  }
  for (const uint32_t i : removed) {
    const auto found = index_.find(rows.removed[i]);
    if (found != index_.end()) RemoveRow(*found);
  }
  return Take(rows, positions);
}

absl::Status EmbeddingShard::Adopt(int64_t move) {
  MutexLock lock(mu_);
  if (presence_ != EmbeddingPresence::kArriving || move_ != move) {
    return errors::Aborted("Embedding table ", options_.name, " did not get a part by move ", move);
  }
  presence_ = EmbeddingPresence::kHere;
  return absl::OkStatus();
}

absl::Status EmbeddingShard::Own(bool is_here, bool create) {
  MutexLock lock(mu_);
  const bool was_here = CheckHere().ok();
  if (is_here && !was_here && !create) {
    return errors::Aborted("Embedding table ", options_.name, " is to have a part that never came");
  }
  if (is_here != was_here) Empty();
  presence_ = is_here ? EmbeddingPresence::kHere : EmbeddingPresence::kAway;
  return absl::OkStatus();
}

std::vector<int64_t> EmbeddingShard::FilterState() const {
  MutexLock lock(mu_);
  std::vector<int64_t> state(filter_.counters().begin(), filter_.counters().end());
  state.push_back(filter_.counted());
  return state;
}

absl::Status EmbeddingShard::SetFilterState(absl::Span<const int64_t> state) {
  MutexLock lock(mu_);
  const size_t counters = filter_.counters().size();
  if (state.size() != counters + 1 || state[counters] < 0) {
    return errors::InvalidArgument("A filter of embedding table ", options_.name, " has ", counters,
                                   " counters and their sum, got ", state.size(), " numbers");
  }
  std::vector<uint16_t> values(counters);
  for (size_t i = 0; i < counters; ++i) {
    if (state[i] < 0 || state[i] > AdmissionFilter::kMaxFrequency) {
      return errors::InvalidArgument("A filter's counter cannot be ", state[i]);
    }
    values[i] = static_cast<uint16_t>(state[i]);
  }
  filter_.Assign(values.data(), state[counters]);
  return absl::OkStatus();
}

}  // namespace weir
