#include "client/embedding/embedding_prefetch.h"

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/fed_scalar.h"
#include "client/ops.h"
#include "core/op/attr_value.h"
#include "graph/graph.h"

namespace weir {
namespace {

// Calls fn on every output of a pull, in a fixed order.
template <typename Pull, typename Fn>
void ForEachOutput(Pull& pull, Fn&& fn) {
  for (auto& keys : pull.keys) fn(keys);
  for (auto& version : pull.versions) fn(version);
  fn(pull.unique);
  fn(pull.idx);
  if (pull.map.valid()) fn(pull.epoch);
}

// Remaps the pull to the current map, because parts may have moved since: the rows are in another order. Only the
// oldest version is then known.
void DivideAnew(const Scope& scope, EmbeddingPull* pull) {
  const int parts = static_cast<int>(pull->keys.size());
  const auto route = ops::EmbeddingRoute(scope.WithDevice("").ColocateWith(pull->map.op()), pull->map, pull->tasks);
  const Tensor zero = Tensor::Scalar<int32_t>(0);
  const InputList keys(pull->keys.begin(), pull->keys.end()), versions(pull->versions.begin(), pull->versions.end());
  const Output all = parts == 1 ? pull->keys[0] : ops::ConcatV2(scope, keys, zero);
  auto divided = ops::EmbeddingPartitionBy(scope, all, route.owners, parts);
  const Output is_same = ops::Equal(scope, pull->epoch, route.epoch);
  const Output oldest = ops::Min(scope, ops::Pack(scope, versions), zero);
  for (Output& version : pull->versions) version = ops::SelectV2(scope, is_same, version, oldest);
  pull->keys = std::move(divided.parts);
  pull->unique = ops::GatherV2(scope, pull->unique, ops::InvertPermutation(scope, divided.idx), zero);
  pull->idx = ops::GatherV2(scope, divided.idx, pull->idx, zero);
  pull->epoch = route.epoch;
}

}  // namespace

EmbeddingPrefetch::EmbeddingPrefetch(const Scope& scope, const std::vector<EmbeddingPull>& pulls,
                                     const std::vector<Output>& others, int64_t ahead)
    : pulls_(pulls), others_(others) {
  if (ahead < 1) {
    scope.UpdateStatus(errors::InvalidArgument("Batches must be pulled at least one ahead, got ", ahead));
    return;
  }
  const Scope inner = scope.SubScope("prefetch");
  InputList values, nothing;
  DataTypeVector types;
  const auto add = [&](const Output& output) {
    values.emplace_back(output);
    nothing.emplace_back(inner.Constant(Tensor(output.type(), TensorShape({0}))));
    types.push_back(output.type());
  };
  // Fed before each batch: the error that replaces it, or none.
  code_ = FedScalar(inner, "code", DT_INT32);
  message_ = FedScalar(inner, "message", DT_STRING);
  add(inner.Constant(Tensor::Scalar<int32_t>(0)));
  add(inner.Constant(Tensor::Scalar<tstring>("")));
  nothing[0] = code_;
  nothing[1] = message_;
  for (const EmbeddingPull& pull : pulls_) ForEachOutput(pull, add);
  for (const Output& other : others_) add(other);
  const Output queue =
      ops::FIFOQueueV2(inner, types, {.capacity = ahead, .shared_name = absl::StrCat(inner.name(), "/queue")});
  // The parts of a pulled batch may move while it is in the queue.
  std::vector<Operation> pulled = {ops::QueueEnqueueV2(inner, queue, values)};
  for (const EmbeddingPull& pull : pulls_) {
    if (pull.map.valid()) pulled.push_back(pull.arrived);
  }
  enqueue_ = pulled.size() == 1 ? pulled[0] : ops::NoOp(inner.WithControlDependencies(pulled));
  fail_ = ops::QueueEnqueueV2(inner, queue, nothing);
  close_ = ops::QueueCloseV2(inner, queue);
  close_now_ = ops::QueueCloseV2(inner, queue, {.cancel_pending_enqueues = true});
  destroy_ = ops::DestroyResourceOp(inner, queue);
  const OutputList taken = ops::QueueDequeueV2(inner, queue, types);
  if (!scope.ok()) return;
  const Operation check =
      ops::Assert(inner, ops::Equal(inner, taken[0], Tensor::Scalar<int32_t>(0)), {taken[0], taken[1]});
  if (!scope.ok()) return;
  SetNodeAttr("_kernel", "status", check.node()->mutable_def());
  const Scope checked = inner.WithControlDependencies({check});
  size_t next = 2;
  const auto take = [&](Output& output) { output = ops::Identity(checked, taken[next++]); };
  for (EmbeddingPull& pull : pulls_) {
    ForEachOutput(pull, take);
    if (pull.map.valid()) DivideAnew(checked, &pull);
  }
  for (Output& other : others_) take(other);
}

EmbeddingPrefetch::~EmbeddingPrefetch() { Stop().IgnoreError(); }

absl::Status EmbeddingPrefetch::Start(Session& session, Feeds feeds, int64_t first) {
  Stop().IgnoreError();
  // A closed queue stays closed; the next step creates a new one.
  RETURN_IF_ERROR(session.RunTargets({destroy_}));
  session_ = &session;
  stopping_ = false;
  status_ = absl::OkStatus();
  ended_ = std::make_unique<absl::Notification>();
  thread_ = std::thread([this, &session, feeds = std::move(feeds), first] {
    PullAll(session, feeds, first);
    ended_->Notify();
  });
  return absl::OkStatus();
}

void EmbeddingPrefetch::PullAll(Session& session, const Feeds& feeds, int64_t step) {
  absl::Status status;
  for (; status.ok() && !stopping_; ++step) {
    const absl::StatusOr<FeedList> batch = feeds(step);
    status = batch.ok() ? session.Run(*batch, {}, {enqueue_}).status() : batch.status();
    if (batch.ok() && absl::IsOutOfRange(status)) status = errors::Internal("A pull failed: ", status.ToString());
  }
  if (stopping_) return;
  status_ = status;
  if (!absl::IsOutOfRange(status)) FailNextStep(session, status);
  session.RunTargets({close_}).IgnoreError();
}

// If the queue were closed without it, a step would mistake the failure for the end of input.
void EmbeddingPrefetch::FailNextStep(Session& session, const absl::Status& status) const {
  constexpr absl::Duration kPause = absl::Milliseconds(50);
  const std::string message = absl::StrCat("The pull of a batch failed: ", status.message());
  const FeedList feeds = {{code_, Tensor::Scalar<int32_t>(status.raw_code())},
                          {message_, Tensor::Scalar<tstring>(message)}};
  while (!stopping_ && !session.Run(feeds, {}, {fail_}).ok()) absl::SleepFor(kPause);
}

EmbeddingPrefetch::Feeds EmbeddingPrefetch::FollowSteps(Session& session, Feeds feeds) {
  return [this, &session, feeds = std::move(feeds),
          expected = int64_t{-1}](int64_t step) mutable -> absl::StatusOr<FeedList> {
    if (step != expected) RETURN_IF_ERROR(Start(session, feeds, step));
    expected = step + 1;
    return FeedList();
  };
}

absl::Status EmbeddingPrefetch::Stop() {
  if (!thread_.joinable()) return absl::OkStatus();
  stopping_ = true;
  do {
    // CANCELLED if it is already closed. After another error the thread may still wait for room.
    session_->RunTargets({close_now_}).IgnoreError();
  } while (!ended_->WaitForNotificationWithTimeout(absl::Milliseconds(100)));
  thread_.join();
  return status_;
}

}  // namespace weir
