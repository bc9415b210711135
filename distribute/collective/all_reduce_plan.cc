#include "distribute/collective/plan_parts.h"
#include "distribute/collective/plans.h"

namespace weir {
namespace {

// The ranks of one host.
Team HostTeam(const Topology& topology, int rank) {
  return {.ranks = topology.ranks_of(topology.host_of(rank)), .me = topology.local_rank(rank)};
}

// The ranks with the same position on each host.
Team AcrossHosts(const Topology& topology, int rank) {
  Team team{.me = topology.host_of(rank)};
  for (int host = 0; host < topology.num_hosts(); ++host) {
    team.ranks.push_back(topology.ranks_of(host)[topology.local_rank(rank)]);
  }
  return team;
}

// Few ranks of a host share its network link, and each sends only its block over it.
void HierarchicalAllReduce(ScheduleBuilder& builder, const Topology& topology, int rank, Range range, int& round) {
  const Team host = HostTeam(topology, rank);
  if (const int locals = topology.ranks_per_host(); locals > 0) {
    RingReduceScatter(builder, host, BufferId::kInput, range, round);
    const Block mine = range.BlockAt(locals, topology.local_rank(rank));
    HalvingDoublingAllReduce(builder, AcrossHosts(topology, rank), locals > 1 ? BufferId::kOutput : BufferId::kInput,
                             {mine.offset, mine.count}, round);
    RingAllGather(builder, host, range, round);
    return;
  }
  // Hosts have different numbers of ranks: the first rank of each acts for its host.
  const Place input{BufferId::kInput, range.offset}, output{BufferId::kOutput, range.offset};
  BinomialReduce(builder, host, 0, input, output, range.count, round);
  Team leaders{.me = topology.host_of(rank)};
  for (int h = 0; h < topology.num_hosts(); ++h) leaders.ranks.push_back(topology.ranks_of(h).front());
  int after_leaders = round;
  if (host.me == 0) HalvingDoublingAllReduce(builder, leaders, BufferId::kOutput, range, after_leaders);
  round += 2 * FloorLog2(topology.num_hosts()) + 2;
  BinomialBroadcast(builder, host, 0, output, output, range.count, round);
}

}  // namespace

Schedule PlanAllReduce(const PlanRequest& request, const Topology& topology) {
  // If each rank has reduced its own block before all ranks get it, dividing the blocks is cheaper than dividing the
  // whole vector on every rank.
  const bool has_blocks = request.algorithm == Algorithm::kRing || request.algorithm == Algorithm::kHalvingDoubling;
  ScheduleBuilder builder(request.divides && has_blocks);
  const Team all = Team::All(topology.size(), request.rank);
  Place scratch;
  if (request.algorithm == Algorithm::kRecursiveDoubling) scratch = builder.AddScratch(request.count);
  for (int lane = 0; lane < request.lanes; ++lane) {
    const Block slice = BlockOf(request.count, request.lanes, lane);
    const Range range{slice.offset, slice.count};
    const Place input{BufferId::kInput, range.offset}, output{BufferId::kOutput, range.offset};
    builder.BeginLane();
    int round = 0;
    switch (request.algorithm) {
      case Algorithm::kRecursiveDoubling:
        RecursiveDoublingAllReduce(builder, all, BufferId::kInput, request.in_place, range,
                                   {scratch.buffer, scratch.offset + range.offset}, round);
        break;
      case Algorithm::kHalvingDoubling:
        HalvingDoublingAllReduce(builder, all, BufferId::kInput, range, round);
        break;
      case Algorithm::kTree:
        TreeReduce(builder, all, 0, input, output, range.count, round);
        TreeBroadcast(builder, all, 0, output, output, range.count, round);
        break;
      case Algorithm::kHierarchical:
        HierarchicalAllReduce(builder, topology, request.rank, range, round);
        break;
      default:
        RingAllReduce(builder, all, BufferId::kInput, range, round);
    }
  }
  return std::move(builder).Finish();
}

}  // namespace weir
