#include "kernels/io/reader.h"

#include "absl/strings/escaping.h"
#include "core/memory/out_of_memory.h"
#include "kernels/device/blocking_kernel.h"
#include "tensorflow/core/framework/reader_base.pb.h"

namespace weir {
namespace {

absl::StatusOr<std::string> WorkFrom(absl::StatusOr<std::vector<Queue::Tuple>> dequeued) {
  RETURN_IF_ERROR(dequeued.status());
  const Queue::Tuple& tuple = (*dequeued)[0];
  if (tuple.size() != 1) return errors::InvalidArgument("Expected single component queue");
  if (tuple[0].dtype() != DT_STRING) return errors::InvalidArgument("Expected queue with single string component");
  if (tuple[0].NumElements() != 1) {
    return errors::InvalidArgument("Expected to dequeue a one-element string tensor");
  }
  return tuple[0].data<tstring>()[0];
}

}  // namespace

struct Reader::Call {
  OpKernelContext* ctx = nullptr;
  std::shared_ptr<Queue> queue;
  int64_t limit = 0;
  Records records;
  ReadCallback done;
};

Reader::Reader(std::string kind, const std::string& name, std::unique_ptr<RecordSource> source)
    : name_(absl::StrCat(kind, " '", name, "'")),
      line_(std::make_shared<RequestLine>(RequestLine::Discipline::kStrict)),
      source_(std::move(source)) {}

int64_t Reader::records_produced() const {
  MutexLock lock(mu_);
  return progress_.records_produced;
}

int64_t Reader::work_units_completed() const {
  MutexLock lock(mu_);
  return progress_.work_finished;
}

bool Reader::in_work() const {
  MutexLock lock(mu_);
  return progress_.work_finished != progress_.work_started;
}

void Reader::TakeTurn(OpKernelContext& ctx, std::function<void()> work, DoneCallback failed) {
  const auto attempt = [self = shared_from_this()](absl::Status*) {
    if (self->busy_) return false;
    self->busy_ = true;
    return true;
  };
  line_->Submit(ctx.cancellation(), "Read operation", attempt,
                [&ctx, work = std::move(work), failed = std::move(failed)](absl::Status status) {
                  if (!status.ok()) return failed(std::move(status));
                  ctx.work_queue()->ScheduleBlocking(work);
                });
}

void Reader::EndTurn() {
  {
    MutexLock lock(line_->mutex());
    busy_ = false;
  }
  line_->Advance();
}

void Reader::Read(OpKernelContext& ctx, std::shared_ptr<Queue> queue, int64_t limit, ReadCallback done) {
  auto call = std::make_shared<Call>();
  call->ctx = &ctx;
  call->queue = std::move(queue);
  call->limit = limit;
  call->done = std::move(done);
  TakeTurn(
      ctx, [self = shared_from_this(), call] { self->Continue(call); },
      [call](absl::Status status) { call->done(std::move(status)); });
}

// Reads from the work under way, or asks for the next.
void Reader::Continue(std::shared_ptr<Call> call) {
  while (static_cast<int64_t>(call->records.keys.size()) < call->limit) {
    if (absl::Status status = CheckCancelled(*call->ctx); !status.ok()) return Finish(*call, std::move(status));
    if (!in_work()) {
      call->queue->Dequeue(
          1, /*up_to=*/false, call->ctx->cancellation(),
          [self = shared_from_this(), call](absl::StatusOr<std::vector<Queue::Tuple>> dequeued) {
            call->ctx->work_queue()->ScheduleBlocking([self, call, dequeued = std::move(dequeued)]() mutable {
              self->StartWork(std::move(call), std::move(dequeued));
            });
          });
      return;
    }
    std::string key, value;
    absl::StatusOr<bool> produced = OrOutOfMemory([&] { return source_->Next(&key, &value); });
    if (!produced.ok()) return Finish(*call, produced.status());
    if (*produced) {
      call->records.keys.push_back(std::move(key));
      call->records.values.push_back(std::move(value));
    }
    const bool at_end = !*produced || source_->IsSingleRecord();
    {
      MutexLock lock(mu_);
      if (*produced) ++progress_.records_produced;
      if (at_end) progress_.work_finished = progress_.work_started;
    }
    if (at_end && !call->records.keys.empty()) break;
  }
  Finish(*call, absl::OkStatus());
}

void Reader::StartWork(std::shared_ptr<Call> call, absl::StatusOr<std::vector<Queue::Tuple>> dequeued) {
  absl::StatusOr<std::string> work = WorkFrom(std::move(dequeued));
  absl::Status status = work.status();
  if (!status.ok()) {
    MutexLock lock(mu_);
    progress_.current_work.clear();  // as the state shows that TensorFlow's readers write
  }
  if (status.ok()) status = source_->Open(*call->ctx->device()->file_systems(), *work);
  if (!status.ok()) return Finish(*call, std::move(status));
  {
    MutexLock lock(mu_);
    progress_.current_work = *std::move(work);
    ++progress_.work_started;
  }
  Continue(std::move(call));
}

void Reader::Finish(Call& call, absl::Status status) {
  EndTurn();
  if (!status.ok()) return call.done(std::move(status));
  call.done(std::move(call.records));
}

void Reader::Reset(OpKernelContext& ctx, DoneCallback done) {
  TakeTurn(
      ctx,
      [self = shared_from_this(), done] {
        {
          MutexLock lock(self->mu_);
          self->progress_ = Progress();
        }
        self->EndTurn();
        done(absl::OkStatus());
      },
      done);
}

void Reader::SerializeState(OpKernelContext& ctx, StateCallback done) {
  if (!source_->IsSingleRecord()) return done(errors::Unimplemented("Reader SerializeState"));
  TakeTurn(
      ctx,
      [self = shared_from_this(), done] {
        tensorflow::ReaderBaseState state;
        {
          MutexLock lock(self->mu_);
          state.set_work_started(self->progress_.work_started);
          state.set_work_finished(self->progress_.work_finished);
          state.set_num_records_produced(self->progress_.records_produced);
          state.set_current_work(self->progress_.current_work);
        }
        self->EndTurn();
        done(state.SerializeAsString());
      },
      [done](absl::Status status) { done(std::move(status)); });
}

void Reader::RestoreState(OpKernelContext& ctx, const std::string& state, DoneCallback done) {
  if (!source_->IsSingleRecord()) return done(errors::Unimplemented("Reader RestoreState"));
  TakeTurn(
      ctx,
      [self = shared_from_this(), state, done] {
        absl::Status status = self->DoRestore(state);
        self->EndTurn();
        done(std::move(status));
      },
      done);
}

absl::Status Reader::DoRestore(const std::string& state) {
  tensorflow::ReaderBaseState restored;
  if (!restored.ParseFromString(state)) {
    return errors::InvalidArgument("Could not parse state for ", name_, ": ", absl::CEscape(state));
  }
  if (restored.work_started() < 0 || restored.work_finished() < 0 || restored.num_records_produced() < 0) {
    return errors::InvalidArgument("Unexpected negative value when restoring in ", name_, ": ",
                                   restored.ShortDebugString());
  }
  if (restored.work_started() > restored.work_finished()) {
    return errors::InvalidArgument("Inconsistent work started vs. finished when restoring in ", name_, ": ",
                                   restored.ShortDebugString());
  }
  MutexLock lock(mu_);
  progress_.work_started = restored.work_started();
  progress_.work_finished = restored.work_finished();
  progress_.records_produced = restored.num_records_produced();
  progress_.current_work = restored.current_work();
  return absl::OkStatus();
}

}  // namespace weir
