#include "kernels/embedding/part_map.h"

#include <utility>

#include "absl/time/clock.h"
#include "core/clock.h"

namespace weir {

class EmbeddingPartMap::Visit : public Resource {
 public:
  Visit(std::shared_ptr<EmbeddingPartMap> map, const OpKernelContext& ctx, bool sealed)
      : map_(std::move(map)), step_(ctx.step().step_id), sealed_(sealed), work_queue_(ctx.work_queue()) {}
  ~Visit() override { map_->Leave(step_, sealed_, work_queue_); }
  std::string DebugString() const override { return absl::StrCat("Step ", step_, " at the map of ", map_->name()); }

  static absl::Status LeaveWithStep(std::shared_ptr<EmbeddingPartMap> map, const OpKernelContext& ctx, bool sealed) {
    const std::string name = absl::StrCat(map->name(), sealed ? "/sealed" : "/route");
    return ctx.resources()->Create<Visit>(ctx.step().step_container->name(), name,
                                          std::make_shared<Visit>(std::move(map), ctx, sealed));
  }

 private:
  const std::shared_ptr<EmbeddingPartMap> map_;
  const int64_t step_;
  const bool sealed_;
  WorkQueue* const work_queue_;
};

EmbeddingPartMap::EmbeddingPartMap(std::string name, int64_t parts)
    : name_(std::move(name)),
      parts_(parts),
      line_(std::make_shared<RequestLine>(RequestLine::Discipline::kWhoeverCan)) {}

std::string EmbeddingPartMap::DebugString() const {
  const Parts now = Read();
  std::vector<int> counts(now.tasks.size());
  for (const int32_t owner : now.owners) ++counts[owner];
  std::string text = absl::StrCat("EmbeddingMap ", name_, " of ", parts_, " parts, epoch ", now.epoch);
  for (size_t i = 0; i < counts.size(); ++i) absl::StrAppend(&text, ", ", counts[i], " on ", now.tasks[i]);
  return text;
}

EmbeddingPartMap::Parts EmbeddingPartMap::Read() const {
  MutexLock lock(line_->mutex());
  return map_;
}

absl::Status EmbeddingPartMap::Check(const Parts& parts) const {
  if (static_cast<int64_t>(parts.owners.size()) != parts_) {
    return errors::InvalidArgument("The map of embedding ", name_, " has ", parts_, " parts, got owners of ",
                                   parts.owners.size());
  }
  for (const int32_t owner : parts.owners) {
    if (owner >= 0 && static_cast<size_t>(owner) < parts.tasks.size()) continue;
    return errors::InvalidArgument("A part of embedding ", name_, " cannot be on task ", owner, " of ",
                                   parts.tasks.size());
  }
  return absl::OkStatus();
}

absl::Status EmbeddingPartMap::Set(Parts parts) {
  if (!parts.owners.empty()) RETURN_IF_ERROR(Check(parts));
  MutexLock lock(line_->mutex());
  if (parts.epoch == 0) parts.epoch = map_.epoch + 1;
  map_ = std::move(parts);
  return absl::OkStatus();
}

absl::Status EmbeddingPartMap::CheckInitialized() const {
  if (!map_.owners.empty()) return absl::OkStatus();
  return errors::FailedPrecondition("The map of embedding ", name_,
                                    " is uninitialized: initialize the embedding, or restore it from a checkpoint");
}

// In Leave as well as when the move comes: the thread that runs the line's requests may be late for it.
void EmbeddingPartMap::CloseIfDue() {
  if (sealing_step_ == 0 || closed_ || map_.epoch != sealed_epoch_ || (together_ && !under_way_.empty())) return;
  closed_ = true;
  closed_at_ = MonotonicNow();
}

void EmbeddingPartMap::Route(OpKernelContext& ctx, bool together, RouteCallback done) {
  struct Result {
    Parts parts;
    bool is_first = false;
  };
  auto result = std::make_shared<Result>();
  const int64_t step = ctx.step().step_id;
  const auto attempt = [self = shared_from_this(), result, step, together](absl::Status* status) {
    const bool is_under_way = self->under_way_.count(step) > 0;
    if (self->closed_ && !is_under_way) return false;
    *status = self->CheckInitialized();
    if (!status->ok()) return true;
    self->together_ |= together;
    result->parts = self->map_;
    result->is_first = self->under_way_.insert(step).second;
    return true;
  };
  line_->Submit(ctx.cancellation(), "A step that waits for an embedding's move", attempt,
                [self = shared_from_this(), result, &ctx, done = std::move(done)](absl::Status status) {
                  if (status.ok() && result->is_first) {
                    status = Visit::LeaveWithStep(self, ctx, /*sealed=*/false);
                    if (!status.ok()) self->Leave(ctx.step().step_id, false, ctx.work_queue());
                  }
                  if (!status.ok()) return done(std::move(status));
                  done(std::move(result->parts));
                });
}

void EmbeddingPartMap::Leave(int64_t step, bool sealed, WorkQueue* work_queue) {
  {
    MutexLock lock(line_->mutex());
    if (!sealed) {
      under_way_.erase(step);
      CloseIfDue();
    } else if (sealing_step_ == step) {
      sealing_step_ = 0;
      closed_ = false;
    }
  }
  work_queue->Schedule([line = line_] { line->Advance(); });
}

// Two requests: the first one's effect must go with the step also when the second is cancelled.
void EmbeddingPartMap::Seal(OpKernelContext& ctx, int64_t epoch, std::function<void(absl::Status)> done) {
  const int64_t step = ctx.step().step_id;
  const auto attempt = [self = shared_from_this(), step, epoch](absl::Status* status) {
    if (self->sealing_step_ != 0) return false;
    *status = self->CheckInitialized();
    if (status->ok() && self->map_.epoch != epoch) {
      *status = errors::Aborted("The map of embedding ", self->name_, " is of epoch ", self->map_.epoch,
                                ", the move was planned for epoch ", epoch);
    }
    if (!status->ok()) return true;
    self->sealing_step_ = step;
    self->sealed_epoch_ = epoch;
    self->CloseIfDue();
    return true;
  };
  line_->Submit(ctx.cancellation(), "A move that waits for another", attempt,
                [self = shared_from_this(), &ctx, done = std::move(done)](absl::Status status) {
                  if (!status.ok()) return done(std::move(status));
                  status = Visit::LeaveWithStep(self, ctx, /*sealed=*/true);
                  if (!status.ok()) {
                    self->Leave(ctx.step().step_id, true, ctx.work_queue());
                    return done(std::move(status));
                  }
                  self->line_->Submit(
                      ctx.cancellation(), "A move that waits for steps under way",
                      [self](absl::Status*) { return self->closed_ && self->under_way_.empty(); }, done);
                });
}

absl::StatusOr<absl::Duration> EmbeddingPartMap::Commit(const OpKernelContext& ctx, Parts parts) {
  RETURN_IF_ERROR(Check(parts));
  absl::Duration pause;
  {
    MutexLock lock(line_->mutex());
    if (sealing_step_ != ctx.step().step_id || !closed_ || !under_way_.empty()) {
      return errors::FailedPrecondition("The map of embedding ", name_, " is not sealed by this step");
    }
    if (map_.epoch != sealed_epoch_) {
      return errors::Aborted("The map of embedding ", name_, " was set anew during a move");
    }
    parts.epoch = map_.epoch + 1;
    map_ = std::move(parts);
    closed_ = false;
    pause = MonotonicNow() - closed_at_;
  }
  ctx.work_queue()->Schedule([line = line_] { line->Advance(); });
  return pause;
}

}  // namespace weir
