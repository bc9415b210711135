#include "kernels/data/captured_function.h"

#include <atomic>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {
namespace {

// Every level of datasets within functions within datasets takes a thread of its own that waits.
constexpr int kMaxCallDepth = 64;

// Negative, so that no step of a session has it.
int64_t NextStepId() {
  static std::atomic<int64_t> next{-1};
  return next.fetch_sub(1, std::memory_order_relaxed);
}

// One call under way.
struct FunctionCall {
  FunctionCall(const IteratorContext& ctx, FunctionPool::Entry entry)
      : root(ctx.root),
        function(std::move(entry)),
        step_id(NextStepId()),
        container(step_id, ctx.device()),
        cancellation(ctx.cancellation) {}

  std::shared_ptr<IteratorRoot> root;
  FunctionPool::Entry function;
  const int64_t step_id;
  StepContainer container;
  CancellationManager cancellation;  // a failing call cancels what it started, not its caller
};

// Where a thread waits for a call.
struct Waiter {
  Mutex mu;
  std::condition_variable done;
  bool is_done GUARDED_BY(mu) = false;
  absl::StatusOr<Element> result GUARDED_BY(mu);
};

}  // namespace

absl::Status InFunctionOf(const DatasetBase& dataset, absl::Status status) {
  const tensorflow::NodeDef* const node = dataset.origin().node.get();
  if (status.ok() || absl::IsOutOfRange(status) || absl::IsCancelled(status) || node == nullptr) return status;
  return Annotate(std::move(status), absl::StrCat("Error in user-defined function passed to ", node->op(), ":",
                                                  node->name(), " transformation with iterator: Iterator::Root::",
                                                  absl::StrReplaceAll(node->op(), {{"Dataset", ""}})));
}

absl::StatusOr<FunctionPool::Entry> FunctionPool::Find(const std::shared_ptr<const FunctionTemplate>& function) {
  MutexLock lock(mu_);
  auto found = entries_.find(function.get());
  if (found != entries_.end()) return found->second;
  Entry entry;
  entry.function = function;
  ASSIGN_OR_RETURN(entry.runtime, function->library->Clone());
  ASSIGN_OR_RETURN(entry.handle, entry.runtime->Instantiate(*function->function));
  entries_.emplace(function.get(), entry);
  return entry;
}

void CapturedFunction::CallAsync(const IteratorContext& ctx, Element args, DoneCallback done) const {
  if (ctx.call_depth > kMaxCallDepth) {
    return done(errors::ResourceExhausted("Functions of datasets are nested more than ", kMaxCallDepth,
                                          " levels deep; a recursion that does not end?"));
  }
  absl::StatusOr<FunctionPool::Entry> entry = ctx.root->functions().Find(function_);
  if (!entry.ok()) return done(entry.status());
  if (absl::Status status = ctx.CheckCancelled(); !status.ok()) return done(std::move(status));
  auto call = std::make_shared<FunctionCall>(ctx, *std::move(entry));
  FunctionRuntime::RunOptions options;
  options.step.step_id = call->step_id;
  options.step.device = ctx.device();
  options.step.cancellation = &call->cancellation;
  options.step.step_container = &call->container;
  options.step.functions = call->function.runtime.get();
  options.step.session_handle = ctx.root->session_handle();
  options.create_rendezvous = true;
  options.depth = ctx.call_depth + 1;
  args.insert(args.end(), captured_.begin(), captured_.end());
  FunctionRuntime& runtime = *call->function.runtime;
  const FunctionRuntime::Handle handle = call->function.handle;
  runtime.RunAsync(handle, options, std::move(args),
                   [call = std::move(call), done = std::move(done)](absl::StatusOr<Element> result) mutable {
                     // Cancelled from outside: what was waiting says only that it was.
                     if (!result.ok() && absl::IsCancelled(result.status()) && call->cancellation.IsCancelled()) {
                       if (absl::Status cause = call->cancellation.status(); !cause.ok()) result = std::move(cause);
                     }
                     call.reset();
                     done(std::move(result));
                   });
}

absl::StatusOr<Element> CapturedFunction::Call(IteratorContext& ctx, Element args) const {
  auto waiter = std::make_shared<Waiter>();
  CallAsync(ctx, std::move(args), [waiter](absl::StatusOr<Element> result) {
    MutexLock lock(waiter->mu);
    waiter->result = std::move(result);
    waiter->is_done = true;
    waiter->done.notify_all();
  });
  MutexLock lock(waiter->mu);
  while (!waiter->is_done) lock.Wait(waiter->done);
  return std::move(waiter->result);
}

absl::StatusOr<bool> CapturedFunction::CallPredicate(IteratorContext& ctx, Element args) const {
  ASSIGN_OR_RETURN(const Element result, Call(ctx, std::move(args)));
  if (result.size() == 1 && result[0].dtype() == DT_BOOL && result[0].NumElements() == 1)
    return *result[0].data<bool>();
  return errors::InvalidArgument("Predicate function must return a scalar bool.");
}

absl::StatusOr<DatasetPtr> CapturedFunction::CallForDataset(IteratorContext& ctx, Element args) const {
  ASSIGN_OR_RETURN(const Element result, Call(ctx, std::move(args)));
  if (result.size() == 1 && result[0].dtype() == DT_VARIANT && result[0].dims() == 0) {
    return DatasetFromTensor(result[0]);
  }
  return errors::InvalidArgument("Function must return a single scalar of dtype DT_VARIANT.");
}

absl::StatusOr<int64_t> CapturedFunction::CallForInt(IteratorContext& ctx, Element args, absl::string_view what) const {
  ASSIGN_OR_RETURN(const Element result, Call(ctx, std::move(args)));
  if (result.size() == 1 && result[0].dtype() == DT_INT64 && result[0].NumElements() == 1) {
    return *result[0].data<int64_t>();
  }
  return errors::InvalidArgument("`", what, "` must return a scalar int64.");
}

}  // namespace weir
