// The time of a step, simulated.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "graph/placement/cluster_costs.h"
#include "graph/placement/step_model.h"

namespace weir {

struct StepPrediction {
  double seconds = 0;
  std::vector<double> busy;         // seconds of kernels, by device
  std::vector<int64_t> peak_bytes;  // state and live tensors, by device
  int64_t transfers = 0;
  int64_t transferred_bytes = 0;
};

// Runs steps in virtual time; the result depends on the arguments alone.
//
// - A device runs DeviceCosts::kernels_at_once kernels at a time. Its order is the executor's: of the ready kernels,
// cheap ones (up to
//   3 µs) last in, first out, then costly ones first in, first out. Kernels that become ready at the same time count in
//   the model's order.
// - A tensor is sent once to each device that needs it, as soon as it exists, while kernels go on. A link from one
// device to another
//   carries one tensor's bytes at a time, in the order in which they were sent; latency adds to that, and does not
//   occupy the link.
// - An output takes memory on its device from the start of its kernel until the last consumer there, and the last
// transfer, has ended;
//   the receiver holds it from the start of the transfer until its last consumer there has ended.
//
// Not thread-safe: it keeps its buffers. The arguments outlive it.
class Simulator {
 public:
  Simulator(const StepModel& model, const ClusterCosts& costs);

  // Stops once the step takes longer than `limit`: `seconds` is then beyond it, and the rest incomplete.
  StepPrediction Run(const UnitPlacement& placement, double limit = std::numeric_limits<double>::infinity());

 private:
  struct Event {
    double time;
    int64_t order;  // of events at one time
    enum Kind { kKernelEnded, kArrived } kind;
    int index;   // of the kernel or tensor
    int device;  // where
    // The earliest on top of a heap.
    friend bool operator<(const Event& a, const Event& b) {
      return a.time != b.time ? a.time > b.time : a.order > b.order;
    }
  };
  struct Queue {
    std::vector<int> cheap, costly;
    size_t next_costly = 0;
    int free = 0;
  };

  void Push(double time, Event::Kind kind, int index, int device);
  void MakeReady(int kernel);
  void Deliver(int tensor, int device);
  void StartKernels(double now);
  void KernelEnded(const Event& event);
  void Send(int tensor, int from, double now);
  void Allocate(int device, int64_t bytes);
  void Release(int tensor, int device);
  int& Holders(int tensor, int device) { return holders_[tensor * model_.num_devices + device]; }
  int DeviceOf(int kernel) const { return (*placement_)[model_.kernels[kernel].unit]; }

  const StepModel& model_;
  const ClusterCosts& costs_;
  const UnitPlacement* placement_ = nullptr;
  StepPrediction result_;
  std::vector<Event> events_;  // a heap
  int64_t next_order_ = 0;
  std::vector<Queue> queues_;        // by device
  std::vector<int> missing_;         // inputs, by kernel
  std::vector<int> holders_;         // uses that are left of a tensor, by tensor and device
  std::vector<double> link_free_;    // by pair of devices
  std::vector<int64_t> live_bytes_;  // by device
  std::vector<int> ready_;           // kernels that became ready at the current time
};

}  // namespace weir
