#include "tests/chaos/deal_client.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/initializers.h"
#include "client/ops.h"
#include "tests/chaos/job.h"

namespace weir::chaos {
namespace {

constexpr absl::Duration kPause = absl::Milliseconds(20);  // after a step that failed
// A step that waits for a stopped worker ends so late.
constexpr absl::Duration kStepTimeout = absl::Seconds(20);

ResourceVariable Zeros(const Scope& scope, const std::string& name, const TensorShape& shape) {
  return ResourceVariable::Make(scope.WithName(name), shape, DT_INT64, initializers::Zeros(), {.trainable = false});
}

}  // namespace

DealtModel::DealtModel(const Scope& scope) {
  const Scope first = scope.WithDevice("/job:ps/task:0"),
              last = scope.WithDevice(absl::StrCat("/job:ps/task:", kServers - 1));
  dealt = DealtDataset(first, "numbers", EvenChunks(kExamples, kChunk),
                       {.batch_size = kBatch,
                        .epochs = kEpochs,
                        .shuffle = true,
                        .seed = 7,
                        .lease = absl::Milliseconds(700),
                        .straggler_factor = 2});
  counts = Zeros(last, "counts", TensorShape({kEpochs * kExamples}));
  sum = Zeros(first, "sum", TensorShape());
}

Operation DealtModel::Step(const Scope& scope, int index, const std::string& name) const {
  const Scope worker = scope.WithDevice(absl::StrCat("/job:worker/task:", index));
  const DealtInput input =
      dealt.ForWorker(worker, Tensor::Scalar<tstring>(name), [](const Scope& s, const Output&, const Output& chunk) {
        return Dataset::Range(s, kChunk).Map([chunk](const Scope& s, const OutputList& example) {
          return OutputList{ops::AddV2(s, ops::Mul(s, chunk, int64_t{kChunk}), example[0])};
        });
      });
  if (input.next().empty()) return {};
  const Output numbers = ops::Identity(worker, input.next()[0]);
  const Output epoch = ops::Gather(worker, input.range(), Tensor::Scalar<int32_t>(0));
  const Output places = ops::AddV2(worker, numbers, ops::Mul(worker, epoch, int64_t{kExamples}));
  const Output total = ops::Sum(worker, numbers, 0);
  const Operation count = ops::ResourceScatterAdd(scope.ColocateWith(counts.handle().op()), counts.handle(), places,
                                                  Tensor::Scalar<int64_t>(1));
  const Operation add = sum.AssignAdd(scope.WithDevice("/job:ps/task:0"), total);
  const Operation advance = input.Advance(scope, {places.op(), total.op()});
  return ops::NoOp(scope.WithControlDependencies({count, add, advance}).WithName("step"));
}

absl::StatusOr<std::unique_ptr<DealClient>> DealClient::Start(const Options& options) {
  std::unique_ptr<DealClient> client(new DealClient);
  client->step_ = DealtModel(client->scope_).Step(client->scope_, options.worker, options.name);
  RETURN_IF_ERROR(client->scope_.status());
  ASSIGN_OR_RETURN(client->session_, Session::Connect(options.target, client->scope_, {.call_timeout = kStepTimeout}));
  client->thread_ = std::thread([raw = client.get()] { raw->Run(); });
  return client;
}

DealClient::~DealClient() {
  has_gone_ = true;
  if (thread_.joinable()) thread_.join();
}

void DealClient::Run() {
  while (true) {
    const absl::Status status = session_->RunTargets({step_});
    if (status.ok()) {
      ++steps_;
      continue;
    }
    if (absl::IsOutOfRange(status)) break;
    ++failures_;
    if (absl::IsAborted(status) && absl::StrContains(status.message(), "refuses examples")) ++refused_;
    last_error_ = status.ToString(absl::StatusToStringMode::kWithNoExtraData);
    if (has_gone_) break;
    absl::SleepFor(kPause);
  }
  has_ended_ = true;
}

}  // namespace weir::chaos
