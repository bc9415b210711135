#include <algorithm>

#include "distribute/collective/plan_parts.h"
#include "distribute/collective/plans.h"

namespace weir {
namespace {

// The root scatters blocks along a binomial tree; then they move round a ring.
void ScatterGather(ScheduleBuilder& builder, const PlanRequest& request, int size) {
  Team turned{.me = (request.rank - request.root + size) % size};  // the root first
  for (int i = 0; i < size; ++i) turned.ranks.push_back((request.root + i) % size);
  const int v = turned.me;
  const BufferId source = v == 0 ? BufferId::kInput : BufferId::kOutput;
  const auto blocks = [&](int first, int end) {
    return BlocksOf(request.count, size, first, std::min(end, size) - first);
  };
  builder.BeginLane();
  const int span = v == 0 ? 1 << CeilLog2(size) : v & -v;  // number of blocks that pass through this rank
  if (v != 0) {
    const Block mine = blocks(v, v + span);
    builder.BeginStep(0);
    builder.Receive(turned.ranks[v & (v - 1)], {BufferId::kOutput, mine.offset}, mine.count);
  }
  builder.BeginStep(0);
  if (v == 0) builder.Copy({BufferId::kInput, 0}, {BufferId::kOutput, 0}, request.count);
  for (int distance = span / 2; distance > 0; distance /= 2) {
    if (v + distance >= size) continue;
    const Block theirs = blocks(v + distance, v + 2 * distance);
    builder.Send(turned.ranks[v + distance], {source, theirs.offset}, theirs.count);
  }
  // The root has all blocks and receives none.
  for (int k = 0; k + 1 < size; ++k) {
    const Block out = BlockOf(request.count, size, (v - k + size) % size);
    const Block in = BlockOf(request.count, size, (v - k - 1 + size) % size);
    builder.BeginStep(1 + k);
    if (v + 1 < size) builder.Send(turned.At(1), {source, out.offset}, out.count);
    if (v != 0) builder.Receive(turned.At(-1), {BufferId::kOutput, in.offset}, in.count);
  }
}

}  // namespace

Schedule PlanBroadcast(const PlanRequest& request, const Topology& topology) {
  ScheduleBuilder builder;
  const int size = topology.size();
  if (request.algorithm == Algorithm::kScatterGather) {
    ScatterGather(builder, request, size);
    return std::move(builder).Finish();
  }
  const Team all = Team::All(size, request.rank);
  for (int lane = 0; lane < request.lanes; ++lane) {
    const Block slice = BlockOf(request.count, request.lanes, lane);
    const Place input{BufferId::kInput, slice.offset}, output{BufferId::kOutput, slice.offset};
    builder.BeginLane();
    int round = 0;
    if (request.algorithm == Algorithm::kTree) {
      TreeBroadcast(builder, all, request.root, input, output, slice.count, round);
    } else {
      BinomialBroadcast(builder, all, request.root, input, output, slice.count, round);
    }
    if (request.rank != request.root) continue;
    builder.BeginStep(round);
    builder.Copy(input, output, slice.count);
  }
  return std::move(builder).Finish();
}

Schedule PlanReduce(const PlanRequest& request, const Topology& topology) {
  ScheduleBuilder builder;
  const Team all = Team::All(topology.size(), request.rank);
  // Only the root has an output.
  const Place whole = request.rank == request.root ? Place{BufferId::kOutput, 0} : builder.AddScratch(request.count);
  for (int lane = 0; lane < request.lanes; ++lane) {
    const Block slice = BlockOf(request.count, request.lanes, lane);
    const Place input{BufferId::kInput, slice.offset}, to{whole.buffer, whole.offset + slice.offset};
    builder.BeginLane();
    int round = 0;
    if (request.algorithm == Algorithm::kTree) {
      TreeReduce(builder, all, request.root, input, to, slice.count, round);
    } else {
      BinomialReduce(builder, all, request.root, input, to, slice.count, round);
    }
  }
  return std::move(builder).Finish();
}

}  // namespace weir
