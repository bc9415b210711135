#include "distribute/collective/plan_parts.h"
#include "distribute/collective/plans.h"

namespace weir {
namespace {

// The partners of an all-to-all that are served at once: enough to hide latency without flooding a peer.
constexpr int kPartnersAtOnce = 4;

}  // namespace

Schedule PlanAllToAll(const PlanRequest& request, const Topology& topology) {
  ScheduleBuilder builder;
  const int size = topology.size();
  const Team team = Team::All(size, request.rank);
  const int64_t block = request.count / size;
  builder.BeginLane();
  builder.BeginStep(0);
  Place from{BufferId::kInput, 0};
  if (request.in_place) {
    const Place aside = builder.AddScratch(request.count);
    builder.Copy(from, aside, request.count);
    from = aside;
  }
  const auto out = [&](int rank) { return Place{from.buffer, from.offset + rank * block}; };
  const auto in = [&](int rank) { return Place{BufferId::kOutput, rank * block}; };
  builder.BeginStep(0);
  builder.Copy(out(request.rank), in(request.rank), block);
  for (int k = 1; k < size; ++k) {
    // All of a step's moves share one round: their partners differ.
    if (k % kPartnersAtOnce == 1) builder.BeginStep(1 + k / kPartnersAtOnce);
    builder.Send(team.At(k), out(team.At(k)), block);
    builder.Receive(team.At(-k), in(team.At(-k)), block);
  }
  return std::move(builder).Finish();
}

Schedule PlanBarrier(const PlanRequest& request, const Topology& topology) {
  ScheduleBuilder builder;
  const Team team = Team::All(topology.size(), request.rank);
  const Place out = builder.AddScratch(1), in = builder.AddScratch(1);
  builder.BeginLane();
  int round = 0;
  for (int distance = 1; distance < topology.size(); distance *= 2, ++round) {
    builder.BeginStep(round);
    builder.Send(team.At(distance), out, 1);
    builder.Receive(team.At(-distance), in, 1);
  }
  return std::move(builder).Finish();
}

Schedule PlanPermute(const PlanRequest& request, const Topology& topology) {
  ScheduleBuilder builder;
  Place from{BufferId::kInput, 0};
  const Place to{BufferId::kOutput, 0};
  const int target = request.permutation[request.rank];
  builder.BeginLane();
  builder.BeginStep(0);
  if (request.in_place && target != request.rank) {
    const Place aside = builder.AddScratch(request.count);
    builder.Copy(from, aside, request.count);
    from = aside;
  }
  if (target == request.rank) {
    builder.Copy(from, to, request.count);
    return std::move(builder).Finish();
  }
  for (int source = 0; source < topology.size(); ++source) {
    if (request.permutation[source] == request.rank) builder.Receive(source, to, request.count);
  }
  builder.Send(target, from, request.count);
  return std::move(builder).Finish();
}

}  // namespace weir
