#include "graph/placement/list_scheduler.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace weir {
namespace {

struct Interval {
  double start, end;
};

// When a device is busy: its intervals in order.
class Timeline {
 public:
  // The earliest start of `seconds` in a gap, from `ready` on.
  double Earliest(double ready, double seconds) const {
    double start = ready;
    for (auto it = From(ready); it != busy_.end() && it->start < start + seconds; ++it)
      start = std::max(start, it->end);
    return start;
  }
  void Add(double start, double seconds) {
    if (seconds > 0) busy_.insert(From(start), {start, start + seconds});
  }

 private:
  std::vector<Interval>::const_iterator From(double time) const {
    return std::lower_bound(busy_.begin(), busy_.end(), time,
                            [](const Interval& interval, double t) { return interval.end <= t; });
  }
  std::vector<Interval> busy_;
};

class Scheduler {
 public:
  Scheduler(const StepModel& model, const ClusterCosts& costs)
      : model_(model),
        costs_(costs),
        placement_(model.units.size(), -1),
        end_(model.kernels.size(), 0),
        state_(model.num_devices, 0) {
    for (int i = 0; i < model.num_devices; ++i) lanes_.emplace_back(costs.device(i).kernels_at_once);
  }

  UnitPlacement Run() {
    // Units without a choice first, because their memory is taken anyway.
    for (size_t i = 0; i < model_.units.size(); ++i) {
      if (model_.units[i].candidates.size() == 1) Decide(static_cast<int>(i), model_.units[i].candidates.front());
    }
    for (const int kernel : ByRank()) Schedule(kernel);
    for (size_t i = 0; i < model_.units.size(); ++i) {
      if (placement_[i] < 0) Decide(static_cast<int>(i), FirstWithRoom(model_.units[i]));
    }
    return placement_;
  }

 private:
  std::vector<int> ByRank() const {
    const TransferCost link = costs_.MeanLink();
    std::vector<double> rank(model_.kernels.size(), 0);
    for (size_t i = rank.size(); i-- > 0;) {
      const StepModel::Kernel& kernel = model_.kernels[i];
      for (const int output : kernel.outputs) {
        const StepModel::Tensor& tensor = model_.tensors[output];
        const double transfer =
            tensor.times * (link.latency + link.seconds_per_byte * static_cast<double>(tensor.bytes));
        for (const int consumer : tensor.consumers) {
          const bool together = model_.kernels[consumer].unit == kernel.unit;
          rank[i] = std::max(rank[i], rank[consumer] + (together ? 0 : transfer));
        }
      }
      const std::vector<int>& candidates = model_.units[kernel.unit].candidates;
      for (const int device : candidates) rank[i] += kernel.seconds[device] / static_cast<double>(candidates.size());
    }
    std::vector<int> order(rank.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return rank[a] > rank[b]; });
    return order;
  }

  bool HasRoom(const StepModel::Unit& unit, int device) const {
    const int64_t limit = costs_.device(device).memory_bytes;
    return limit == 0 || unit.state == 0 || state_[device] + unit.state <= limit;
  }
  int FirstWithRoom(const StepModel::Unit& unit) const {
    for (const int device : unit.candidates) {
      if (HasRoom(unit, device)) return device;
    }
    return unit.candidates.front();
  }
  void Decide(int unit, int device) {
    placement_[unit] = device;
    state_[device] += model_.units[unit].state;
  }

  double Ready(const StepModel::Kernel& kernel, int device) const {
    double ready = 0;
    for (const int input : kernel.inputs) {
      const StepModel::Tensor& tensor = model_.tensors[input];
      const int from = placement_[model_.kernels[tensor.producer].unit];
      double arrival = end_[tensor.producer];
      if (from != device) {
        const TransferCost& link = costs_.link(from, device);
        arrival += tensor.times * (link.latency + link.seconds_per_byte * static_cast<double>(tensor.bytes));
      }
      ready = std::max(ready, arrival);
    }
    return ready;
  }
  Timeline& EarliestLane(int device, double ready, double seconds) {
    return *std::min_element(lanes_[device].begin(), lanes_[device].end(), [&](const Timeline& a, const Timeline& b) {
      return a.Earliest(ready, seconds) < b.Earliest(ready, seconds);
    });
  }

  void Schedule(int index) {
    const StepModel::Kernel& kernel = model_.kernels[index];
    if (placement_[kernel.unit] < 0) Decide(kernel.unit, Best(kernel));
    const int device = placement_[kernel.unit];
    const double seconds = kernel.seconds[device], ready = Ready(kernel, device);
    Timeline& lane = EarliestLane(device, ready, seconds);
    const double start = lane.Earliest(ready, seconds);
    lane.Add(start, seconds);
    end_[index] = start + seconds;
  }

  int Best(const StepModel::Kernel& kernel) {
    const StepModel::Unit& unit = model_.units[kernel.unit];
    int best = FirstWithRoom(unit);
    double earliest = std::numeric_limits<double>::infinity();
    for (const int device : unit.candidates) {
      if (!HasRoom(unit, device)) continue;
      const double seconds = kernel.seconds[device], ready = Ready(kernel, device);
      double end = EarliestLane(device, ready, seconds).Earliest(ready, seconds);
      for (const int member : unit.kernels) end += model_.kernels[member].seconds[device];
      if (end >= earliest) continue;
      earliest = end;
      best = device;
    }
    return best;
  }

  const StepModel& model_;
  const ClusterCosts& costs_;
  UnitPlacement placement_;
  std::vector<double> end_;                   // by kernel
  std::vector<int64_t> state_;                // by device
  std::vector<std::vector<Timeline>> lanes_;  // by device
};

}  // namespace

UnitPlacement ScheduleByRank(const StepModel& model, const ClusterCosts& costs) {
  return Scheduler(model, costs).Run();
}

}  // namespace weir
