#include "graph/placement/improvement.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "absl/container/btree_map.h"

namespace weir {
namespace {

// The largest share of a step's work in a cluster, level by level; at the last one every unit is alone.
constexpr double kShares[] = {0.5, 0.25, 0.12, 0.06, 0.03, 0.015, 0};

class Improver {
 public:
  Improver(const ImprovementOptions& options, const StepModel& model, const ClusterCosts& costs, UnitPlacement start)
      : options_(options), model_(model), costs_(costs), simulator_(model, costs), best_(std::move(start)) {}

  absl::StatusOr<UnitPlacement> Run() {
    score_ = ScoreOf(simulator_.Run(best_), costs_);
    MeasureUnits();
    for (const double share : kShares) RETURN_IF_ERROR(RunLevel(Clusters(share)));
    return std::move(best_);
  }

 private:
  using Cluster = std::vector<int>;  // units
  struct Exchange {
    double seconds;
    int a, b;
  };

  void MeasureUnits() {
    work_.assign(model_.units.size(), 0);
    for (const StepModel::Kernel& kernel : model_.kernels) {
      work_[kernel.unit] += *std::min_element(kernel.seconds.begin(), kernel.seconds.end());
    }
    const TransferCost link = costs_.MeanLink();
    absl::btree_map<std::pair<int, int>, double> between;
    for (const StepModel::Tensor& tensor : model_.tensors) {
      const int from = model_.kernels[tensor.producer].unit;
      const double seconds = tensor.times * (link.latency + link.seconds_per_byte * static_cast<double>(tensor.bytes));
      for (const int consumer : tensor.consumers) {
        const int to = model_.kernels[consumer].unit;
        if (from != to && IsOpen(from) && IsOpen(to)) between[std::minmax(from, to)] += seconds;
      }
    }
    for (const auto& [pair, seconds] : between) exchanges_.push_back({seconds, pair.first, pair.second});
    std::stable_sort(exchanges_.begin(), exchanges_.end(),
                     [](const Exchange& a, const Exchange& b) { return a.seconds > b.seconds; });
  }

  bool IsOpen(int unit) const { return model_.units[unit].candidates.size() > 1; }

  // Joins units along the heaviest exchanges, up to that share of the work; heaviest clusters first.
  std::vector<Cluster> Clusters(double share) const {
    const double limit = share * std::accumulate(work_.begin(), work_.end(), 0.0);
    std::vector<int> parent(model_.units.size());
    std::iota(parent.begin(), parent.end(), 0);
    const auto root = [&](int i) {
      while (parent[i] != i) i = parent[i] = parent[parent[i]];
      return i;
    };
    std::vector<double> work = work_;
    for (const Exchange& exchange : exchanges_) {
      const int a = root(exchange.a), b = root(exchange.b);
      if (share == 0 || a == b || work[a] + work[b] > limit) continue;
      parent[std::max(a, b)] = std::min(a, b);
      work[std::min(a, b)] += work[std::max(a, b)];
    }
    std::vector<Cluster> of_root(model_.units.size()), clusters;
    for (int i = 0; i < static_cast<int>(model_.units.size()); ++i) {
      if (IsOpen(i)) of_root[root(i)].push_back(i);
    }
    std::vector<int> roots;
    for (int i = 0; i < static_cast<int>(of_root.size()); ++i) {
      if (!of_root[i].empty()) roots.push_back(i);
    }
    std::stable_sort(roots.begin(), roots.end(), [&](int a, int b) { return work[a] > work[b]; });
    for (const int r : roots) clusters.push_back(std::move(of_root[r]));
    return clusters;
  }

  // Until a round over all clusters moves none.
  absl::Status RunLevel(const std::vector<Cluster>& clusters) {
    bool moved = true;
    while (moved && HasBudget()) {
      moved = false;
      for (const Cluster& cluster : clusters) {
        if (options_.check != nullptr) RETURN_IF_ERROR(options_.check());
        for (int device = 0; device < model_.num_devices && HasBudget(); ++device) {
          moved = TryMove(cluster, device) || moved;
        }
      }
    }
    return absl::OkStatus();
  }

  bool HasBudget() const { return simulated_ < options_.most_kernels; }

  bool TryMove(const Cluster& cluster, int device) {
    trial_ = best_;
    for (const int unit : cluster) {
      const std::vector<int>& candidates = model_.units[unit].candidates;
      if (std::find(candidates.begin(), candidates.end(), device) != candidates.end()) trial_[unit] = device;
    }
    if (trial_ == best_) return false;
    simulated_ += static_cast<int64_t>(model_.kernels.size()) + 1;
    // A slower step can only be better if memory does not suffice so far.
    const double limit = score_.excess_bytes > 0 ? std::numeric_limits<double>::infinity() : score_.seconds;
    const PlacementScore score = ScoreOf(simulator_.Run(trial_, limit), costs_);
    if (!(score < score_)) return false;
    // A step that is faster by rounding errors is not faster.
    const bool is_same_time = score.excess_bytes == score_.excess_bytes && score.seconds > score_.seconds * (1 - 1e-9);
    if (is_same_time && score.transferred_bytes >= score_.transferred_bytes) return false;
    score_ = score;
    std::swap(best_, trial_);
    return true;
  }

  const ImprovementOptions& options_;
  const StepModel& model_;
  const ClusterCosts& costs_;
  Simulator simulator_;
  UnitPlacement best_, trial_;
  PlacementScore score_;
  std::vector<double> work_;  // by unit, on its fastest device
  std::vector<Exchange> exchanges_;
  int64_t simulated_ = 0;
};

}  // namespace

bool operator<(const PlacementScore& a, const PlacementScore& b) {
  return std::tie(a.excess_bytes, a.seconds, a.transferred_bytes) <
         std::tie(b.excess_bytes, b.seconds, b.transferred_bytes);
}

PlacementScore ScoreOf(const StepPrediction& step, const ClusterCosts& costs) {
  PlacementScore score{.seconds = step.seconds, .transferred_bytes = step.transferred_bytes};
  for (int i = 0; i < costs.num_devices(); ++i) {
    const int64_t limit = costs.device(i).memory_bytes;
    if (limit > 0) score.excess_bytes += std::max<int64_t>(0, step.peak_bytes[i] - limit);
  }
  return score;
}

absl::StatusOr<UnitPlacement> Improve(const ImprovementOptions& options, const StepModel& model,
                                      const ClusterCosts& costs, UnitPlacement start) {
  return Improver(options, model, costs, std::move(start)).Run();
}

}  // namespace weir
