#include "graph/placement/simulator.h"

#include <algorithm>

namespace weir {
namespace {

constexpr double kCheapSeconds = 3e-6;

}  // namespace

Simulator::Simulator(const StepModel& model, const ClusterCosts& costs) : model_(model), costs_(costs) {}

void Simulator::Push(double time, Event::Kind kind, int index, int device) {
  events_.push_back({time, next_order_++, kind, index, device});
  std::push_heap(events_.begin(), events_.end());
}

void Simulator::Allocate(int device, int64_t bytes) {
  live_bytes_[device] += bytes;
  result_.peak_bytes[device] = std::max(result_.peak_bytes[device], live_bytes_[device]);
}

void Simulator::Release(int tensor, int device) {
  if (--Holders(tensor, device) == 0) live_bytes_[device] -= model_.tensors[tensor].memory;
}

void Simulator::Deliver(int tensor, int device) {
  for (const int consumer : model_.tensors[tensor].consumers) {
    if (DeviceOf(consumer) == device && --missing_[consumer] == 0) ready_.push_back(consumer);
  }
}

void Simulator::MakeReady(int kernel) {
  const int device = DeviceOf(kernel);
  Queue& queue = queues_[device];
  (model_.kernels[kernel].seconds[device] <= kCheapSeconds ? queue.cheap : queue.costly).push_back(kernel);
}

void Simulator::StartKernels(double now) {
  for (int device = 0; device < model_.num_devices; ++device) {
    Queue& queue = queues_[device];
    while (queue.free > 0) {
      int kernel;
      if (!queue.cheap.empty()) {
        kernel = queue.cheap.back();
        queue.cheap.pop_back();
      } else if (queue.next_costly < queue.costly.size()) {
        kernel = queue.costly[queue.next_costly++];
      } else {
        break;
      }
      --queue.free;
      const double seconds = model_.kernels[kernel].seconds[device];
      result_.busy[device] += seconds;
      for (const int tensor : model_.kernels[kernel].outputs) Allocate(device, model_.tensors[tensor].memory);
      Push(now + seconds, Event::kKernelEnded, kernel, device);
    }
  }
}

void Simulator::Send(int tensor, int from, double now) {
  const StepModel::Tensor& sent = model_.tensors[tensor];
  for (int to = 0; to < model_.num_devices; ++to) {
    if (to == from || Holders(tensor, to) == 0) continue;
    const TransferCost& cost = costs_.link(from, to);
    double& free = link_free_[from * model_.num_devices + to];
    free = std::max(free, now) + sent.times * static_cast<double>(sent.bytes) * cost.seconds_per_byte;
    Allocate(to, sent.memory);
    Push(free + sent.times * cost.latency, Event::kArrived, tensor, to);
    ++result_.transfers;
    result_.transferred_bytes += static_cast<int64_t>(sent.times * static_cast<double>(sent.bytes));
  }
}

void Simulator::KernelEnded(const Event& event) {
  ++queues_[event.device].free;
  const StepModel::Kernel& kernel = model_.kernels[event.index];
  for (const int tensor : kernel.outputs) {
    Send(tensor, event.device, event.time);
    Deliver(tensor, event.device);
    Release(tensor, event.device);  // the kernel's own hold
  }
  for (const int tensor : kernel.inputs) Release(tensor, event.device);
}

StepPrediction Simulator::Run(const UnitPlacement& placement, double limit) {
  const int devices = model_.num_devices;
  placement_ = &placement;
  result_ = StepPrediction();
  result_.busy.assign(devices, 0);
  live_bytes_.assign(devices, 0);
  for (size_t i = 0; i < model_.units.size(); ++i) live_bytes_[placement[i]] += model_.units[i].state;
  result_.peak_bytes = live_bytes_;
  queues_.resize(devices);
  for (int i = 0; i < devices; ++i) {
    queues_[i].cheap.clear();
    queues_[i].costly.clear();
    queues_[i].next_costly = 0;
    queues_[i].free = costs_.device(i).kernels_at_once;
  }
  link_free_.assign(static_cast<size_t>(devices) * devices, 0);
  events_.clear();
  next_order_ = 0;
  ready_.clear();
  missing_.resize(model_.kernels.size());
  for (size_t i = 0; i < model_.kernels.size(); ++i) {
    missing_[i] = static_cast<int>(model_.kernels[i].inputs.size());
    if (missing_[i] == 0) ready_.push_back(static_cast<int>(i));
  }
  holders_.assign(model_.tensors.size() * devices, 0);
  for (size_t i = 0; i < model_.tensors.size(); ++i) {
    const int tensor = static_cast<int>(i), home = DeviceOf(model_.tensors[i].producer);
    ++Holders(tensor, home);
    for (const int consumer : model_.tensors[i].consumers) ++Holders(tensor, DeviceOf(consumer));
    for (int device = 0; device < devices; ++device) {
      if (device != home && Holders(tensor, device) > 0) ++Holders(tensor, home);  // until it is sent
    }
  }

  double now = 0;
  while (true) {
    std::sort(ready_.begin(), ready_.end());
    for (const int kernel : ready_) MakeReady(kernel);
    ready_.clear();
    StartKernels(now);
    if (events_.empty()) break;
    now = events_.front().time;
    if (now > limit) break;
    while (!events_.empty() && events_.front().time == now) {
      const Event event = events_.front();
      std::pop_heap(events_.begin(), events_.end());
      events_.pop_back();
      if (event.kind == Event::kKernelEnded) {
        KernelEnded(event);
      } else {
        Deliver(event.index, event.device);
        Release(event.index, DeviceOf(model_.tensors[event.index].producer));
      }
    }
  }
  result_.seconds = now;
  return result_;
}

}  // namespace weir
