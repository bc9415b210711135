#include "distribute/collective/scheduled_collective.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/out_of_memory.h"
#include "distribute/collective/algorithms.h"
#include "distribute/collective/cost_model.h"
#include "distribute/collective/reduction.h"
#include "distribute/collective/schedule_run.h"

namespace weir {
namespace {

// No vector of memory has more; products of counts and sizes stay in 64 bits.
constexpr int64_t kMaxCount = int64_t{1} << 46;

bool Reduces(CollectiveKind kind) {
  return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kReduceScatter ||
         kind == CollectiveKind::kReduce;
}

bool IsRooted(CollectiveKind kind) { return kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kReduce; }

absl::Status CheckPermutation(const std::vector<int>& permutation, int size) {
  std::vector<bool> is_hit(size, false);
  bool is_one = permutation.size() == size;
  for (const int target : permutation) {
    is_one = is_one && target >= 0 && target < size && !is_hit[target];
    if (is_one) is_hit[target] = true;
  }
  if (is_one) return absl::OkStatus();
  return errors::InvalidArgument("permute needs a permutation of the group's ", size, " ranks");
}

absl::Status Check(const CollectiveCall& call, const Topology& topology) {
  const int size = topology.size();
  if (call.kind != CollectiveKind::kBarrier && !IsPlainType(call.dtype)) {
    return errors::Unimplemented(Name(call.kind), " of ", DataTypeName(call.dtype), " tensors");
  }
  if (call.count < 0 || call.count > kMaxCount / size) {
    return errors::InvalidArgument(Name(call.kind), " of ", call.count, " elements");
  }
  if (call.divisor < 1) return errors::InvalidArgument(Name(call.kind), " with divisor ", call.divisor);
  if (IsRooted(call.kind) && (call.root < 0 || call.root >= size)) {
    return errors::InvalidArgument(Name(call.kind), " with root ", call.root, " in a group of ", size);
  }
  if (call.kind == CollectiveKind::kAllToAll && call.count % size != 0) {
    return errors::InvalidArgument("all-to-all of ", call.count, " elements in a group of ", size);
  }
  if (call.kind == CollectiveKind::kPermute) RETURN_IF_ERROR(CheckPermutation(call.permutation, size));
  if (call.algorithm) {
    const std::vector<Algorithm> known = AlgorithmsFor(call.kind, topology);
    if (std::find(known.begin(), known.end(), *call.algorithm) == known.end()) {
      return errors::InvalidArgument("There is no ", Name(call.kind), " by ", Name(*call.algorithm), " among ", size,
                                     " ranks");
    }
  }
  return absl::OkStatus();
}

std::string Described(const CollectiveCall& call) {
  std::string text(Name(call.kind));
  if (Reduces(call.kind)) absl::StrAppend(&text, " ", Name(call.reduction));
  if (call.divisor != 1) absl::StrAppend(&text, " / ", call.divisor);
  if (IsRooted(call.kind)) absl::StrAppend(&text, " at ", call.root);
  if (call.algorithm) absl::StrAppend(&text, " by ", Name(*call.algorithm));
  if (call.wire.any()) absl::StrAppend(&text, " as ", call.wire.ToString());
  return text;
}

// Elements of this rank's output.
int64_t ReducedCount(const CollectiveCall& call, const Communicator& communicator) {
  if (call.kind == CollectiveKind::kReduceScatter) {
    return BlockOf(call.count, communicator.size(), communicator.rank()).count;
  }
  return call.kind == CollectiveKind::kReduce && communicator.rank() != call.root ? 0 : call.count;
}

// How many elements of the output are, on whatever rank, as they were sent. What a reduction keeps for itself is not.
int64_t RoundedElements(const CollectiveCall& call, int size) {
  if (size == 1 || call.kind == CollectiveKind::kReduceScatter || call.kind == CollectiveKind::kReduce) return 0;
  return call.kind == CollectiveKind::kAllGather ? call.count * size : call.count;
}

// `wire_bytes`: those of all elements of the call in messages, as far as they are known before.
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
  const auto refuse = [&](const absl::Status& status) {
    communicator_->Abort(call.sequence, status);
    communicator_->End(call.sequence);
    done(status);
  };
  if (const absl::Status status = Check(call, communicator_->topology()); !status.ok()) return refuse(status);
  ScheduleRun::Options run{.communicator = communicator_,
                           .sequence = call.sequence,
                           .input = static_cast<const char*>(call.input),
                           .output = static_cast<char*>(call.output),
                           .work_queue = options_.work_queue,
                           .cancellation = call.cancellation,
                           .owner = call.owner};
  if (call.kind != CollectiveKind::kBarrier) {
    run.element_bytes = DataTypeSize(call.dtype);
    if (call.wire.any()) run.codec = WireCodec(call.wire, call.dtype);
    run.rounded_elements = RoundedElements(call, size());
  }
  if (Reduces(call.kind)) {
    auto reduce = ReduceFunctionFor(call.dtype, call.reduction);
    if (!reduce.ok()) return refuse(reduce.status());
    run.reduce = *reduce;
    if (call.divisor != 1) {
      auto divide = DivideFunctionFor(call.dtype);
      if (!divide.ok()) return refuse(divide.status());
      run.divide = *divide;
      run.divisor = call.divisor;
    }
  }
  communicator_->Begin(call.sequence,
                       {.collective = Described(call),
                        .dtype = call.kind == CollectiveKind::kBarrier ? DT_UINT8 : call.dtype,
                        .shape = options_.shape.empty() ? absl::StrCat("[", call.count, "]") : options_.shape});
  auto started = OrOutOfMemory([&]() -> absl::StatusOr<std::shared_ptr<ScheduleRun>> {
    const int64_t element_bytes = run.codec.changes() ? run.codec.CastBytes(1) : run.element_bytes;
    const AlgorithmChoice choice = Choose(call, call.count * element_bytes, communicator_->topology());
    // Both of two partners keep the sum of what they have: it has to be the same.
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
  if (!started.ok()) return refuse(started.status());
  (*started)->Start();
}

}  // namespace weir
