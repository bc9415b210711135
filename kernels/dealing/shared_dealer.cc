#include "kernels/dealing/shared_dealer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/clock.h"
#include "core/threads/work_queue.h"

namespace weir {

absl::Status SharedDealer::CheckMatches(const InputDealerOptions& other) const {
  if (options_.chunk_sizes == other.chunk_sizes && options_.batch_size == other.batch_size &&
      options_.drop_remainder == other.drop_remainder && options_.epochs == other.epochs &&
      options_.shuffle == other.shuffle && options_.seed == other.seed && options_.lease == other.lease &&
      options_.straggler_factor == other.straggler_factor) {
    return absl::OkStatus();
  }
  return errors::InvalidArgument("Input dealer '", options_.name, "' exists with other chunks or options");
}

absl::Status SharedDealer::WithProgress(Variable& variable, bool writes,
                                        absl::FunctionRef<absl::Status(DealtProgress)> use) {
  std::lock_guard<std::mutex> lock(*variable.mutex());
  if (!variable.is_initialized()) {
    return errors::FailedPrecondition("The progress of input dealer '", options_.name,
                                      "' is uninitialized: initialize the variable, or restore it from a checkpoint");
  }
  Tensor& table = *variable.tensor();
  if (table.dtype() != DT_INT64 || table.dims() != 2 || table.dim_size(1) != DealtProgress::kColumns ||
      table.dim_size(0) < 1) {
    return errors::InvalidArgument("The progress of input dealer '", options_.name, "' is an int64 table [",
                                   options_.chunk_sizes.size() + 1, ", ", DealtProgress::kColumns, "], not ",
                                   table.DebugString());
  }
  if (writes) {
    const bool was_checked = checked_ == table.raw_data();
    RETURN_IF_ERROR(PrepareToUpdate(variable, allocator_));
    if (was_checked) checked_ = table.raw_data();
  }
  const DealtProgress progress(
      absl::MakeSpan(const_cast<int64_t*>(table.data<int64_t>()), static_cast<size_t>(table.NumElements())));
  // The address of a table that was replaced may be used again, so its size counts too.
  if (checked_ != table.raw_data() || progress.num_chunks() != static_cast<int64_t>(options_.chunk_sizes.size())) {
    RETURN_IF_ERROR(dealer_.CheckProgress(progress));
    if (checked_ != nullptr) dealer_.EndLeases();  // a checkpoint was restored
    checked_ = table.raw_data();
  }
  epoch_ = progress.epoch();
  return use(progress);
}

absl::StatusOr<std::optional<DealtRange>> SharedDealer::TryTake(Variable& variable, const std::string& worker) {
  std::optional<DealtRange> range;
  // Only a division writes.
  RETURN_IF_ERROR(WithProgress(variable, options_.straggler_factor != 0, [&](DealtProgress progress) -> absl::Status {
    ASSIGN_OR_RETURN(range, dealer_.Take(progress, worker, MonotonicNow()));
    return absl::OkStatus();
  }));
  return range;
}

void SharedDealer::Take(VariablePtr progress, std::string worker, CancellationManager* cancellation,
                        TakeCallback done) {
  Finished finished;
  absl::StatusOr<std::optional<DealtRange>> range;
  bool waits = false;
  {
    MutexLock lock(mu_);
    const int64_t divided = dealer_.num_divided();
    range = TryTake(*progress, worker);
    if (range.ok() && !*range) {
      Waiter waiter{
          .progress = std::move(progress), .worker = std::move(worker), .cancellation = cancellation, .id = next_id_++};
      if (cancellation != nullptr) {
        waiter.token = cancellation->Register([dealer = weak_from_this(), id = waiter.id, cancellation] {
          if (auto alive = dealer.lock()) alive->Cancel(id, cancellation);
        });
      }
      if (cancellation != nullptr && waiter.token == CancellationManager::kInvalidToken) {
        range = cancellation->status();
      } else {
        waits = true;
        waiter.done = std::move(done);
        waiters_.push_back(std::move(waiter));
      }
    }
    // A division makes another part free, and a new waiter needs a timer.
    if (dealer_.num_divided() != divided || waits) ServeWaiters(&finished);
  }
  Post(std::move(finished));
  // Moved only if it waits. NOLINTNEXTLINE(bugprone-use-after-move)
  if (!waits) range.ok() ? done(**range) : done(range.status());
}

void SharedDealer::ServeWaiters(Finished* finished) {
  for (auto waiter = waiters_.begin(); waiter != waiters_.end();) {
    auto range = TryTake(*waiter->progress, waiter->worker);
    if (range.ok() && !*range) {
      ++waiter;
      continue;
    }
    finished->push_back([waiter = std::move(*waiter), range = std::move(range)] {
      if (waiter.cancellation != nullptr) waiter.cancellation->TryDeregister(waiter.token);
      range.ok() ? waiter.done(**range) : waiter.done(range.status());
    });
    waiter = waiters_.erase(waiter);
  }
  if (waiters_.empty()) return;
  const absl::Time now = MonotonicNow();
  const absl::Time next = dealer_.NextLeaseEnd(now);
  if (next == absl::InfiniteFuture() || (wakes_at_ > now && wakes_at_ <= next)) return;
  wakes_at_ = next;
  timers_.Schedule(next, [this] { Serve(); });
}

void SharedDealer::Serve() {
  Finished finished;
  {
    MutexLock lock(mu_);
    wakes_at_ = absl::InfiniteFuture();
    ServeWaiters(&finished);
  }
  Post(std::move(finished));
}

void SharedDealer::Cancel(int64_t id, CancellationManager* cancellation) {
  TakeCallback done;
  {
    MutexLock lock(mu_);
    const auto waiter = std::find_if(waiters_.begin(), waiters_.end(), [id](const Waiter& w) { return w.id == id; });
    if (waiter == waiters_.end()) return;
    done = std::move(waiter->done);
    waiters_.erase(waiter);
  }
  done(cancellation->status());
}

// Not on this thread, which may be the timer's or be ending another step: what follows may be long, and may destroy the
// dealer.
void SharedDealer::Post(Finished finished) {
  for (auto& callback : finished) work_queue_->Schedule(std::move(callback));
}

absl::StatusOr<int64_t> SharedDealer::Claim(Variable& variable, const DealtRange& range) {
  MutexLock lock(mu_);
  int64_t claim = 0;
  RETURN_IF_ERROR(WithProgress(variable, /*writes=*/false, [&](DealtProgress progress) -> absl::Status {
    ASSIGN_OR_RETURN(claim, dealer_.Claim(progress, range, MonotonicNow()));
    return absl::OkStatus();
  }));
  return claim;
}

absl::Status SharedDealer::Advance(Variable& variable, int64_t claim) {
  Finished finished;
  absl::Status status;
  {
    MutexLock lock(mu_);
    status = WithProgress(variable, /*writes=*/true,
                          [&](DealtProgress progress) { return dealer_.Advance(progress, claim, MonotonicNow()); });
    ServeWaiters(&finished);
  }
  Post(std::move(finished));
  return status;
}

void SharedDealer::Release(int64_t claim) {
  Finished finished;
  {
    MutexLock lock(mu_);
    dealer_.Release(claim);
    ServeWaiters(&finished);
  }
  Post(std::move(finished));
}

std::string SharedDealer::DebugString() const {
  MutexLock lock(mu_);
  std::string text = absl::StrCat("InputDealer ", options_.name, ": epoch ", epoch_, ", ", dealer_.num_refused(),
                                  " claims refused, ", dealer_.num_expired(), " leases ended, ", dealer_.num_divided(),
                                  " chunks divided, ", waiters_.size(), " steps wait");
  for (const InputDealer::Worker& worker : dealer_.Workers(MonotonicNow())) {
    absl::StrAppend(&text, "; ", worker.name, " ", worker.examples, " examples at ",
                    absl::StrFormat("%.1f", worker.rate), "/s");
    if (worker.chunk) {
      absl::StrAppend(&text, ", chunk ", *worker.chunk, " for ",
                      absl::FormatDuration(absl::Trunc(worker.age, absl::Milliseconds(1))));
    }
    if (worker.refused > 0) absl::StrAppend(&text, ", ", worker.refused, " refused");
  }
  return text;
}

}  // namespace weir
