#include <algorithm>

#include "distribute/collective/plan_parts.h"
#include "distribute/collective/plans.h"

namespace weir {
namespace {

Place Input(int64_t offset) { return {BufferId::kInput, offset}; }
Place Output(int64_t offset) { return {BufferId::kOutput, offset}; }

// Blocks move round the ring; two scratch buffers alternate for blocks in transit.
void RingLane(ScheduleBuilder& builder, const PlanRequest& request, int size, int lane) {
  const Team team = Team::All(size, request.rank);
  const auto slice = [&](int owner) {
    const Block block = BlockOf(request.count, size, owner);
    Block part = BlockOf(block.count, request.lanes, lane);
    part.offset += block.offset;
    return part;
  };
  const int64_t largest = BlockOf(BlockOf(request.count, size, 0).count, request.lanes, 0).count;
  const Place turns[2] = {builder.AddScratch(largest), builder.AddScratch(largest)};
  const Block own = BlockOf(request.count, size, request.rank);
  builder.BeginLane();
  Place current;
  for (int k = 0; k + 1 < size; ++k) {
    const Block out = slice((request.rank - 1 - k + 2 * size) % size);
    const Block in = slice((request.rank - 2 - k + 2 * size) % size);
    const bool is_last = k + 2 == size;
    const Place to = is_last ? Output(in.offset - own.offset) : turns[k % 2];
    builder.BeginStep(k);
    builder.Send(team.At(1), k == 0 ? Input(out.offset) : current, out.count);
    builder.ReceiveReduce(team.At(-1), Input(in.offset), to, in.count);
    current = to;
  }
}

// For a power of two of ranks.
void HalvingReduceScatter(ScheduleBuilder& builder, const PlanRequest& request, int size) {
  const Place scratch = builder.AddScratch(BlocksOf(request.count, size, 0, size / 2).count);
  const int64_t base_of_half = BlocksOf(request.count, size, request.rank & (size / 2), size / 2).offset;
  builder.BeginLane();
  int first = 0, num = size, round = 0;
  for (int distance = size / 2; distance > 0; distance /= 2, ++round) {
    num /= 2;
    const bool keeps_upper = (request.rank & distance) != 0;
    const Block gone = BlocksOf(request.count, size, keeps_upper ? first : first + num, num);
    if (keeps_upper) first += num;
    const Block kept = BlocksOf(request.count, size, first, num);
    // After the first exchange the remaining data is in scratch.
    const auto at = [&](const Block& block) {
      return round == 0 ? Input(block.offset) : Place{scratch.buffer, scratch.offset + block.offset - base_of_half};
    };
    const Place to = distance == 1 ? Output(0) : Place{scratch.buffer, scratch.offset + kept.offset - base_of_half};
    builder.BeginStep(round);
    builder.Send(request.rank ^ distance, at(gone), gone.count);
    builder.ReceiveReduce(request.rank ^ distance, at(kept), to, kept.count);
  }
}

void PairwiseReduceScatter(ScheduleBuilder& builder, const PlanRequest& request, int size) {
  const Team team = Team::All(size, request.rank);
  const Block own = BlockOf(request.count, size, request.rank);
  builder.BeginLane();
  for (int k = 1; k < size; ++k) {
    const Block out = BlockOf(request.count, size, team.At(k));
    builder.BeginStep(k);
    builder.Send(team.At(k), Input(out.offset), out.count);
    builder.ReceiveReduce(team.At(-k), k == 1 ? Input(own.offset) : Output(0), Output(0), own.count);
  }
}

// Each rank starts with its own block, so that blocks can be doubled for any number of ranks.
void BruckAllGather(ScheduleBuilder& builder, const PlanRequest& request, int size) {
  const Team team = Team::All(size, request.rank);
  const int64_t count = request.count;
  const Place turned = builder.AddScratch(size * count);
  const auto at = [&](int64_t block) { return Place{turned.buffer, turned.offset + block * count}; };
  builder.BeginLane();
  builder.BeginStep(0);
  builder.Copy(Input(0), at(0), count);
  int round = 1;
  for (int have = 1; have < size; have *= 2, ++round) {
    const int more = std::min(have, size - have);
    builder.BeginStep(round);
    builder.Send(team.At(-have), at(0), more * count);
    builder.Receive(team.At(have), at(have), more * count);
  }
  builder.BeginStep(round);
  const int until_end = size - request.rank;
  builder.Copy(at(0), Output(request.rank * count), until_end * count);
  builder.Copy(at(until_end), Output(0), request.rank * count);
}

void DoublingAllGather(ScheduleBuilder& builder, const PlanRequest& request, int size) {
  const int64_t count = request.count;
  builder.BeginLane();
  builder.BeginStep(0);
  builder.Copy(Input(0), Output(request.rank * count), count);
  int round = 1;
  for (int distance = 1; distance < size; distance *= 2, ++round) {
    const int peer = request.rank ^ distance;
    const int mine = request.rank & ~(distance - 1), theirs = peer & ~(distance - 1);
    builder.BeginStep(round);
    builder.Send(peer, Output(mine * count), distance * count);
    builder.Receive(peer, Output(theirs * count), distance * count);
  }
}

void RingAllGatherLane(ScheduleBuilder& builder, const PlanRequest& request, int size, int lane) {
  const Team team = Team::All(size, request.rank);
  const Block slice = BlockOf(request.count, request.lanes, lane);
  const auto at = [&](int back) { return Output((request.rank - back + size) % size * request.count + slice.offset); };
  builder.BeginLane();
  builder.BeginStep(0);
  builder.Copy(Input(slice.offset), at(0), slice.count);
  for (int k = 0; k + 1 < size; ++k) {
    builder.BeginStep(1 + k);
    builder.Send(team.At(1), at(k), slice.count);
    builder.Receive(team.At(-1), at(k + 1), slice.count);
  }
}

}  // namespace

Schedule PlanReduceScatter(const PlanRequest& request, const Topology& topology) {
  ScheduleBuilder builder;
  const int size = topology.size();
  if (request.algorithm == Algorithm::kHalvingDoubling) {
    HalvingReduceScatter(builder, request, size);
  } else if (request.algorithm == Algorithm::kPairwise) {
    PairwiseReduceScatter(builder, request, size);
  } else {
    for (int lane = 0; lane < request.lanes; ++lane) RingLane(builder, request, size, lane);
  }
  return std::move(builder).Finish();
}

Schedule PlanAllGather(const PlanRequest& request, const Topology& topology) {
  ScheduleBuilder builder;
  const int size = topology.size();
  if (request.algorithm == Algorithm::kBruck) {
    BruckAllGather(builder, request, size);
  } else if (request.algorithm == Algorithm::kRecursiveDoubling) {
    DoublingAllGather(builder, request, size);
  } else {
    for (int lane = 0; lane < request.lanes; ++lane) RingAllGatherLane(builder, request, size, lane);
  }
  return std::move(builder).Finish();
}

}  // namespace weir
