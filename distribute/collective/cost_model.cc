#include "distribute/collective/cost_model.h"

#include <algorithm>

#include "distribute/collective/algorithms.h"
#include "distribute/collective/plan_parts.h"

namespace weir {
namespace {

// Limits lanes so that messages of large vectors fit into frames (ring_link.h).
constexpr int kMaxLanes = 64;
// Lanes gain bandwidth; smaller messages cost more than the latency that they hide.
constexpr double kMinLaneBytes = 128 << 10;

// One message of `bytes`, while `leaving` ranks of a host send such messages to other hosts over a shared link.
double Message(const Topology& topology, int leaving, double bytes) {
  const LinkCosts& costs = topology.costs();
  const LinkCost &inside = costs.within_host, &outside = costs.between_hosts;
  double seconds = inside.latency + bytes * inside.seconds_per_byte;
  if (topology.num_hosts() > 1) {
    seconds = std::max(seconds, outside.latency + bytes * leaving * outside.seconds_per_byte);
  }
  return seconds + bytes * costs.consume_seconds_per_byte;
}

// All ranks exchange `bytes` with the one at `distance`.
double Exchange(const Topology& topology, int distance, double bytes) {
  const int most = topology.most_ranks_on_a_host();
  return Message(topology, topology.is_contiguous() ? std::min(distance, most) : most, bytes);
}

// `steps` consecutive messages, of `bytes` over all lanes; lanes hide each other's latency.
double Pipelined(const Topology& topology, int steps, double bytes, int lanes) {
  const double alone = Exchange(topology, 1, bytes / lanes);
  const double latency = Exchange(topology, 1, 0);
  const double busy = (Exchange(topology, 1, bytes) - latency) * (lanes > 1 ? 0.8 : 1);
  return steps * std::max(alone, busy) + (lanes > 1 ? alone : 0);
}

double HalvingDoubling(const Topology& topology, int size, int stride, double bytes, bool gathers) {
  const int active = FloorPowerOfTwo(size);
  double seconds = size == active ? 0 : 2 * Exchange(topology, stride, bytes);
  for (int distance = active / 2; distance > 0; distance /= 2) {
    seconds += (gathers ? 2 : 1) * Exchange(topology, distance * stride, bytes * distance / active);
  }
  return seconds;
}

double Hierarchical(const Topology& topology, int lanes, double bytes) {
  const Topology host = Topology::OneHost(topology.most_ranks_on_a_host(), topology.costs());
  const int locals = topology.ranks_per_host();
  if (locals == 0) {
    const int levels = host.size() > 1 ? CeilLog2(host.size()) : 0;
    return 2 * levels * Exchange(host, 1, bytes) + HalvingDoubling(topology, topology.num_hosts(), 1, bytes, true);
  }
  const double inside = Pipelined(host, 2 * (locals - 1), bytes / locals, lanes);
  return inside + HalvingDoubling(topology, topology.num_hosts(), locals, bytes / locals, true);
}

double Tree(const Topology& topology, CollectiveKind kind, int lanes, double bytes) {
  const int depth = FloorLog2(topology.size());
  const bool reduces = kind != CollectiveKind::kBroadcast, broadcasts = kind != CollectiveKind::kReduce;
  const double latency = Exchange(topology, 1, 0);
  const double chunk = Message(topology, std::max(1, topology.most_ranks_on_a_host() / 2), bytes / lanes) - latency;
  // While one level passes, a node receives two chunks in sequence, or sends two at once.
  const double fill = (reduces ? depth * 2 * (latency + chunk) : 0) + (broadcasts ? depth * (latency + 2 * chunk) : 0);
  return fill + (lanes - 1) * (reduces && broadcasts ? 3 : 2) * chunk + (lanes > 1 ? latency : 0);
}

// At each level at most one rank of a host has its partner on another host.
double Binomial(const Topology& topology, double bytes) {
  return CeilLog2(topology.size()) * Message(topology, 1, bytes);
}

bool IsPipelined(CollectiveKind kind, Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kRing:
    case Algorithm::kTree:
      return true;
    case Algorithm::kHierarchical:
      return kind == CollectiveKind::kAllReduce;
    default:
      return false;
  }
}

}  // namespace

double PredictedSeconds(CollectiveKind kind, Algorithm algorithm, int lanes, double bytes, const Topology& topology) {
  const int size = topology.size();
  if (size == 1) return 0;
  const double block = bytes / size;
  switch (algorithm) {
    case Algorithm::kRecursiveDoubling: {
      double seconds = 0;
      const int active = FloorPowerOfTwo(size);
      if (kind == CollectiveKind::kAllReduce && active != size) seconds = 2 * Exchange(topology, 1, bytes);
      for (int distance = 1; distance < size; distance *= 2) {
        if (kind == CollectiveKind::kAllReduce && distance >= active) break;
        const double part = kind == CollectiveKind::kAllReduce ? bytes
                            : kind == CollectiveKind::kBarrier ? 1
                                                               : bytes * distance;
        seconds += Exchange(topology, distance, part);
      }
      return seconds;
    }
    case Algorithm::kHalvingDoubling:
      return HalvingDoubling(topology, size, 1, bytes, kind == CollectiveKind::kAllReduce);
    case Algorithm::kRing:
      if (kind == CollectiveKind::kAllGather) return Pipelined(topology, size - 1, bytes, lanes);
      return Pipelined(topology, (kind == CollectiveKind::kAllReduce ? 2 : 1) * (size - 1), block, lanes);
    case Algorithm::kTree:
      return Tree(topology, kind, lanes, bytes);
    case Algorithm::kBinomialTree:
      return Binomial(topology, bytes);
    case Algorithm::kHierarchical:
      return Hierarchical(topology, lanes, bytes);
    case Algorithm::kBruck: {
      double seconds = 0;
      for (int have = 1; have < size; have *= 2)
        seconds += Exchange(topology, have, bytes * std::min(have, size - have));
      return seconds + 2 * bytes * size * topology.costs().consume_seconds_per_byte;
    }
    case Algorithm::kPairwise:
      if (kind == CollectiveKind::kPermute) return Exchange(topology, size, bytes);
      return (size - 1) * Exchange(topology, size, block);
    case Algorithm::kScatterGather: {
      double seconds = Pipelined(topology, size - 1, block, 1);
      for (int distance = FloorPowerOfTwo(size); distance > 0; distance /= 2) {
        if (distance < size) seconds += Exchange(topology, distance, block * std::min(distance, size - distance));
      }
      return seconds;
    }
  }
  return 0;
}

AlgorithmChoice BestLanes(CollectiveKind kind, Algorithm algorithm, double bytes, const Topology& topology) {
  AlgorithmChoice best{algorithm, 1, PredictedSeconds(kind, algorithm, 1, bytes, topology)};
  if (!IsPipelined(kind, algorithm)) return best;
  const bool cuts_blocks = algorithm != Algorithm::kTree && kind != CollectiveKind::kAllGather;
  const double message = cuts_blocks ? bytes / topology.size() : bytes;
  for (int lanes = 2; lanes <= kMaxLanes && message / lanes >= kMinLaneBytes; lanes *= 2) {
    const double seconds = PredictedSeconds(kind, algorithm, lanes, bytes, topology);
    if (seconds < best.seconds) best = {algorithm, lanes, seconds};
  }
  return best;
}

AlgorithmChoice ChooseAlgorithm(CollectiveKind kind, double bytes, const Topology& topology) {
  AlgorithmChoice best;
  bool is_first = true;
  for (const Algorithm algorithm : AlgorithmsFor(kind, topology)) {
    const AlgorithmChoice choice = BestLanes(kind, algorithm, bytes, topology);
    if (is_first || choice.seconds < best.seconds) best = choice;
    is_first = false;
  }
  return best;
}

}  // namespace weir
