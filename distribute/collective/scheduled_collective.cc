#include "distribute/collective/scheduled_collective.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/memory/out_of_memory.h"
#include "distribute/collective/algorithms.h"
#include "distribute/collective/call_checks.h"
#include "distribute/collective/cost_model.h"
#include "distribute/collective/reduction.h"
#include "distribute/collective/schedule_run.h"

namespace weir {
namespace {

// Elements of this rank's output.
int64_t ReducedCount(const CollectiveCall& call, const Communicator& communicator) {
  if (call.kind == CollectiveKind::kReduceScatter) {
    return BlockOf(call.count, communicator.size(), communicator.rank()).count;
  }
  return call.kind == CollectiveKind::kReduce && communicator.rank() != call.root ? 0 : call.count;
}

// The number of output elements that hold transmitted, and so rounded, values. A reduction's own share is not rounded.
int64_t RoundedElements(const CollectiveCall& call, int size) {
  if (size == 1 || call.kind == CollectiveKind::kReduceScatter || call.kind == CollectiveKind::kReduce) return 0;
  return call.kind == CollectiveKind::kAllGather ? call.count * size : call.count;
}

// `wire_bytes`: the encoded size of all elements, as far as it is known in advance.
AlgorithmChoice Choose(const CollectiveCall& call, int64_t wire_bytes, const Topology& topology) {
  const auto bytes = static_cast<double>(wire_bytes);
  return call.algorithm ? BestLanes(call.kind, *call.algorithm, bytes, topology)
                        : ChooseAlgorithm(call.kind, bytes, topology);
}

// `divides`: the schedule may divide what it reduces.
Schedule Plan(const CollectiveCall& call, const AlgorithmChoice& choice, bool divides,
              const Communicator& communicator) {
  return MakeSchedule({.kind = call.kind,
                       .algorithm = choice.algorithm,
                       .rank = communicator.rank(),
                       .count = call.count,
                       .root = call.root,
                       .permutation = call.permutation,
                       .divides = divides,
                       .in_place = call.input == call.output,
                       .lanes = choice.lanes},
                      communicator.topology());
}

}  // namespace

void ScheduledCollective::RunAsync(const CollectiveCall& call, DoneCallback done) {
  const auto reject = [&](const absl::Status& status) {
    communicator_->Abort(call.sequence, status);
    communicator_->End(call.sequence);
    done(status);
  };
  if (const absl::Status status = CheckCall(call, communicator_->topology()); !status.ok()) return reject(status);
  ScheduleRun::Options run{.communicator = communicator_,
                           .sequence = call.sequence,
                           .input = static_cast<const char*>(call.input),
                           .output = static_cast<char*>(call.output),
                           .work_queue = options_.work_queue,
                           .poller = options_.poller,
                           .cancellation = call.cancellation,
                           .owner = call.owner};
  if (call.kind != CollectiveKind::kBarrier) {
    run.element_bytes = DataTypeSize(call.dtype);
    if (call.wire.any()) run.codec = WireCodec(call.wire, call.dtype);
    run.rounded_elements = RoundedElements(call, size());
  }
  if (Reduces(call.kind)) {
    auto reduce = ReduceFunctionFor(call.dtype, call.reduction);
    if (!reduce.ok()) return reject(reduce.status());
    run.reduce = *reduce;
    if (call.divisor != 1) {
      auto divide = DivideFunctionFor(call.dtype);
      if (!divide.ok()) return reject(divide.status());
      run.divide = *divide;
      run.divisor = call.divisor;
    }
  }
  communicator_->Begin(call.sequence,
                       {.collective = DescribeCall(call),
                        .dtype = call.kind == CollectiveKind::kBarrier ? DT_UINT8 : call.dtype,
                        .shape = options_.shape.empty() ? absl::StrCat("[", call.count, "]") : options_.shape});
  auto started = OrOutOfMemory([&]() -> absl::StatusOr<std::shared_ptr<ScheduleRun>> {
    const int64_t element_bytes = run.codec.changes() ? run.codec.CastBytes(1) : run.element_bytes;
    const AlgorithmChoice choice = Choose(call, call.count * element_bytes, communicator_->topology());
    // Both partners keep the sum, which must be equal.
    run.rounds_from = choice.algorithm == Algorithm::kRecursiveDoubling;
    run.schedule = Plan(call, choice, run.divide != nullptr && !run.codec.changes(), *communicator_);
    if (run.divide != nullptr && !run.schedule.divides) {
      done = [divide = run.divide, output = call.output, divisor = call.divisor,
              count = ReducedCount(call, *communicator_), done](absl::Status status) {
        if (status.ok()) divide(output, divisor, count);
        done(std::move(status));
      };
    }
    return ScheduleRun::Create(std::move(run), done);
  });
  if (!started.ok()) return reject(started.status());
  (*started)->Start();
}

}  // namespace weir
