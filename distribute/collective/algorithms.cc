#include "distribute/collective/algorithms.h"

#include "distribute/collective/plan_parts.h"
#include "distribute/collective/plans.h"

namespace weir {
namespace {

// A group of one: the result is its input.
Schedule PlanAlone(const PlanRequest& request) {
  ScheduleBuilder builder;
  builder.BeginLane();
  builder.BeginStep(0);
  if (request.kind != CollectiveKind::kBarrier) {
    builder.Copy({BufferId::kInput, 0}, {BufferId::kOutput, 0}, request.count);
  }
  return std::move(builder).Finish();
}

}  // namespace

absl::string_view Name(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return "all-reduce";
    case CollectiveKind::kReduceScatter:
      return "reduce-scatter";
    case CollectiveKind::kAllGather:
      return "all-gather";
    case CollectiveKind::kBroadcast:
      return "broadcast";
    case CollectiveKind::kReduce:
      return "reduce";
    case CollectiveKind::kAllToAll:
      return "all-to-all";
    case CollectiveKind::kBarrier:
      return "barrier";
    case CollectiveKind::kPermute:
      return "permute";
  }
  return "unknown collective";
}

absl::string_view Name(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kRecursiveDoubling:
      return "recursive doubling";
    case Algorithm::kHalvingDoubling:
      return "halving-doubling";
    case Algorithm::kRing:
      return "ring";
    case Algorithm::kTree:
      return "tree";
    case Algorithm::kBinomialTree:
      return "binomial tree";
    case Algorithm::kHierarchical:
      return "hierarchical";
    case Algorithm::kBruck:
      return "Bruck";
    case Algorithm::kPairwise:
      return "pairwise";
    case Algorithm::kScatterGather:
      return "scatter-gather";
  }
  return "unknown algorithm";
}

std::vector<Algorithm> AlgorithmsFor(CollectiveKind kind, const Topology& topology) {
  const bool is_power_of_two = FloorPowerOfTwo(topology.size()) == topology.size();
  std::vector<Algorithm> algorithms;
  switch (kind) {
    case CollectiveKind::kAllReduce:
      algorithms = {Algorithm::kRecursiveDoubling, Algorithm::kHalvingDoubling, Algorithm::kRing, Algorithm::kTree};
      if (topology.num_hosts() > 1 && topology.num_hosts() < topology.size()) {
        algorithms.push_back(Algorithm::kHierarchical);
      }
      break;
    case CollectiveKind::kReduceScatter:
      algorithms = {Algorithm::kRing, Algorithm::kPairwise};
      if (is_power_of_two) algorithms.push_back(Algorithm::kHalvingDoubling);
      break;
    case CollectiveKind::kAllGather:
      algorithms = {Algorithm::kRing, is_power_of_two ? Algorithm::kRecursiveDoubling : Algorithm::kBruck};
      break;
    case CollectiveKind::kBroadcast:
      algorithms = {Algorithm::kBinomialTree, Algorithm::kTree, Algorithm::kScatterGather};
      break;
    case CollectiveKind::kReduce:
      algorithms = {Algorithm::kBinomialTree, Algorithm::kTree};
      break;
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kPermute:
      algorithms = {Algorithm::kPairwise};
      break;
    case CollectiveKind::kBarrier:
      algorithms = {Algorithm::kRecursiveDoubling};
      break;
  }
  return algorithms;
}

Schedule MakeSchedule(const PlanRequest& request, const Topology& topology) {
  if (topology.size() == 1) return PlanAlone(request);
  switch (request.kind) {
    case CollectiveKind::kAllReduce:
      return PlanAllReduce(request, topology);
    case CollectiveKind::kReduceScatter:
      return PlanReduceScatter(request, topology);
    case CollectiveKind::kAllGather:
      return PlanAllGather(request, topology);
    case CollectiveKind::kBroadcast:
      return PlanBroadcast(request, topology);
    case CollectiveKind::kReduce:
      return PlanReduce(request, topology);
    case CollectiveKind::kAllToAll:
      return PlanAllToAll(request, topology);
    case CollectiveKind::kBarrier:
      return PlanBarrier(request, topology);
    case CollectiveKind::kPermute:
      return PlanPermute(request, topology);
  }
  return Schedule();
}

}  // namespace weir
