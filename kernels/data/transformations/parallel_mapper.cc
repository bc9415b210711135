#include "kernels/data/transformations/parallel_mapper.h"

#include <algorithm>
#include <atomic>

#include "kernels/data/element_buffer.h"

namespace weir {
namespace {

// So many more calls are kept where those that there are take up to so many bytes each: waking a thread costs more than
// making a call.
constexpr int64_t kSmallCall = 64 << 10;
constexpr int64_t kAhead = 16;
// After so many calls in a row a chain lets others have its thread.
constexpr int kCallsInARow = 8;

}  // namespace

ParallelMapper::ParallelMapper(const IteratorContext& ctx, IteratorPtr input, Options options)
    : options_(std::move(options)),
      root_(ctx.root),
      cancellation_(&ctx.root->cancellation()),
      context_(ctx),
      input_(std::move(input)),
      calls_(std::make_shared<Calls>()),
      loop_(std::make_unique<BackgroundLoop>([this] { return Read(); })) {
  context_.cancellation = &cancellation_;
}

ParallelMapper::~ParallelMapper() {
  cancellation_.StartCancel(errors::Cancelled("The iterator was given up"));
  loop_.reset();
  MutexLock lock(calls_->mu);
  while (calls_->chains > 0) lock.Wait(calls_->changed);
}

int64_t ParallelMapper::MostCalls() const {
  const int64_t most = options_.parallelism + kAhead;
  return calls_->bytes <= most * kSmallCall ? most : options_.parallelism;
}

void ParallelMapper::Count(Call* call, int64_t bytes) {
  calls_->bytes += bytes - call->bytes;
  call->bytes = bytes;
}

bool ParallelMapper::Read() {
  {
    MutexLock lock(calls_->mu);
    if (calls_->at_end || static_cast<int64_t>(calls_->list.size()) >= MostCalls()) return false;
  }
  auto call = std::make_shared<Call>();
  absl::StatusOr<bool> more = input_->GetNext(context_, &call->args);
  if (cancellation_.IsCancelled()) return false;
  {
    MutexLock lock(calls_->mu);
    if (!more.ok() || !*more) {
      calls_->at_end = more.ok();
      if (!more.ok()) {
        call->status = more.status();
        call->is_done = true;
        calls_->list.push_back(std::move(call));
      }
      calls_->changed.notify_all();
      return !calls_->at_end;
    }
    if (options_.is_filter) call->element = call->args;
    Count(call.get(), std::max(ElementBytes(call->args), calls_->result_bytes));
    calls_->waiting.push_back(call);
    calls_->list.push_back(std::move(call));
    if (calls_->chains >= options_.parallelism) return true;
    ++calls_->chains;
  }
  context_.work_queue()->Schedule([this] { RunChain(); });
  return true;
}

void ParallelMapper::RunChain() {
  // The mapper may go as soon as the last chain has ended.
  const std::shared_ptr<Calls> calls = calls_;
  for (int made = 0; made < kCallsInARow; ++made) {
    std::shared_ptr<Call> call;
    {
      MutexLock lock(calls->mu);
      if (calls->waiting.empty()) {
        if (--calls->chains == 0) calls->changed.notify_all();
        return;
      }
      call = std::move(calls->waiting.front());
      calls->waiting.pop_front();
    }
    // Set by the first of the two: the call's end, and the return of CallAsync. The second goes on with the chain.
    auto first_has_come = std::make_shared<std::atomic<bool>>(false);
    options_.map->function.CallAsync(context_, std::move(call->args),
                                     [this, call, first_has_come](absl::StatusOr<Element> result) {
                                       Finish(call, std::move(result));
                                       if (first_has_come->exchange(true)) RunChain();
                                     });
    if (!first_has_come->exchange(true)) return;
  }
  context_.work_queue()->Schedule([this] { RunChain(); });
}

absl::StatusOr<bool> ParallelMapper::Filter(absl::StatusOr<Element> result, Call* call) const {
  if (absl::IsOutOfRange(result.status())) return false;
  RETURN_IF_ERROR(result.status());
  if (result->size() != 1 || (*result)[0].dtype() != DT_BOOL || (*result)[0].NumElements() != 1) {
    return errors::InvalidArgument("`predicate` must return a scalar bool tensor.");
  }
  call->is_dropped = !(*result)[0].scalar<bool>();
  return true;
}

void ParallelMapper::Finish(const std::shared_ptr<Call>& call, absl::StatusOr<Element> result) {
  Element element;
  absl::StatusOr<bool> more(false);
  if (options_.dataset != nullptr) result = InFunctionOf(*options_.dataset, std::move(result));
  if (options_.is_filter) {
    // Nobody else looks at a call that is not done.
    more = Filter(std::move(result), call.get());
    element = std::move(call->element);
  } else {
    more = options_.map->Finish(std::move(result), options_.types, &element);
  }
  const int64_t bytes = ElementBytes(element);
  MutexLock lock(calls_->mu);
  call->is_done = true;
  call->is_end = more.ok() && !*more;
  call->status = more.status();
  call->element = std::move(element);
  Count(call.get(), bytes);
  calls_->result_bytes = bytes;
  // Whoever waits in order waits for the first.
  if (!options_.deterministic || calls_->list.front() == call) calls_->changed.notify_all();
}

std::shared_ptr<ParallelMapper::Call> ParallelMapper::TakeReady() {
  for (auto it = calls_->list.begin(); it != calls_->list.end();) {
    if ((*it)->is_done) Count(it->get(), 0);
    if ((*it)->is_done && (*it)->is_dropped) {
      it = calls_->list.erase(it);
      loop_->Wake(root_->device()->work_queue());
      continue;
    }
    if ((*it)->is_done) {
      std::shared_ptr<Call> call = std::move(*it);
      calls_->list.erase(it);
      return call;
    }
    if (options_.deterministic) return nullptr;
    ++it;
  }
  return nullptr;
}

absl::StatusOr<bool> ParallelMapper::GetNext(IteratorContext& ctx, Element* element) {
  std::shared_ptr<Call> call;
  // No thread is woken to read more while the buffer is half full.
  const auto wake_reader = [&] {
    if (static_cast<int64_t>(calls_->list.size()) * 2 <= MostCalls()) loop_->Wake(ctx.work_queue());
  };
  {
    MutexLock lock(calls_->mu);
    wake_reader();
    const auto ready = [this, &call] {
      if (call == nullptr) call = TakeReady();
      return call != nullptr || (calls_->at_end && calls_->list.empty());
    };
    RETURN_IF_ERROR(WaitUntil(ctx, calls_, lock, ready));
    wake_reader();
  }
  if (call == nullptr) return false;
  RETURN_IF_ERROR(call->status);
  if (call->is_end) return false;
  *element = std::move(call->element);
  return true;
}

absl::Status ParallelMapper::WaitForCalls(const IteratorContext& ctx) {
  MutexLock lock(calls_->mu);
  return WaitUntil(ctx, calls_, lock, [this] { return calls_->chains == 0; });
}

absl::Status ParallelMapper::Save(IteratorContext& ctx, StateWriter writer) {
  loop_->Pause();
  absl::Status status = WaitForCalls(ctx);
  if (status.ok()) status = input_->Save(ctx, writer.Scope("input"));
  if (status.ok()) {
    MutexLock lock(calls_->mu);
    std::erase_if(calls_->list, [this](const std::shared_ptr<Call>& call) {
      if (call->is_dropped) Count(call.get(), 0);
      return call->is_dropped;
    });
    writer.Int("count", static_cast<int64_t>(calls_->list.size()));
    writer.Int("input_at_end", calls_->at_end ? 1 : 0);
    for (size_t i = 0; i < calls_->list.size(); ++i) {
      const Call& call = *calls_->list[i];
      writer.Status(absl::StrCat("status", i), call.status);
      writer.Int(absl::StrCat("is_end", i), call.is_end ? 1 : 0);
      writer.Tensors(absl::StrCat("element", i), call.element);
    }
  }
  loop_->Resume(ctx.work_queue());
  return status;
}

absl::Status ParallelMapper::Restore(IteratorContext& ctx, const StateReader& reader) {
  RETURN_IF_ERROR(input_->Restore(ctx, reader.Scope("input")));
  ASSIGN_OR_RETURN(const int64_t count, reader.Int("count", 0, reader.size()));
  MutexLock lock(calls_->mu);
  ASSIGN_OR_RETURN(calls_->at_end, reader.Int("input_at_end", 0, 1));
  for (int64_t i = 0; i < count; ++i) {
    auto call = std::make_shared<Call>();
    call->is_done = true;
    RETURN_IF_ERROR(reader.Status(absl::StrCat("status", i), &call->status));
    ASSIGN_OR_RETURN(call->is_end, reader.Int(absl::StrCat("is_end", i), 0, 1));
    if (call->status.ok() && !call->is_end) {
      ASSIGN_OR_RETURN(call->element, reader.Tensors(absl::StrCat("element", i), options_.types));
      Count(call.get(), ElementBytes(call->element));
    }
    calls_->list.push_back(std::move(call));
  }
  return absl::OkStatus();
}

}  // namespace weir
