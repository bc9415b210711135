// Streams, events and graphs of the simulated device. Private to the simulated_*.cc files.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "core/gpu/simulated_gpu.h"

namespace weir {

class SimulatedEvent : public GpuEvent {
 public:
  explicit SimulatedEvent(SimulatedGpu* gpu) : gpu_(gpu) {}
  absl::StatusOr<bool> IsDone() override;
  absl::Status Synchronize(absl::Time deadline) override;

 private:
  friend class SimulatedStream;
  absl::Status CheckNotCaptured(absl::string_view what);

  SimulatedGpu* const gpu_;
  // The last Record, outside of a capture or within one.
  std::shared_ptr<SimulatedMark> mark_;
  std::shared_ptr<SimulatedCapture> capture_;
  int signal_ = -1;
};

class SimulatedTimer : public GpuTimer {
 public:
  explicit SimulatedTimer(SimulatedGpu* gpu) : gpu_(gpu) {}
  absl::Status Start(GpuStream* stream) override { return Mark(stream, &Times::start); }
  absl::Status Stop(GpuStream* stream) override { return Mark(stream, &Times::stop); }
  absl::StatusOr<std::optional<absl::Duration>> Elapsed() override;

 private:
  using Clock = std::chrono::steady_clock;
  // Shared, because enqueued operations may run after the timer is destroyed.
  struct Times {
    Mutex mu;
    std::optional<Clock::time_point> start GUARDED_BY(mu), stop GUARDED_BY(mu);
  };
  absl::Status Mark(GpuStream* stream, std::optional<Clock::time_point> Times::*time);

  SimulatedGpu* const gpu_;
  const std::shared_ptr<Times> times_ = std::make_shared<Times>();
};

class SimulatedGraph : public GpuGraph {
 public:
  SimulatedGraph(SimulatedGpu* gpu, std::shared_ptr<const SimulatedProgram> program)
      : gpu_(gpu), program_(std::move(program)) {}
  size_t num_operations() const override;

 private:
  friend class SimulatedStream;
  SimulatedGpu* const gpu_;
  const std::shared_ptr<const SimulatedProgram> program_;
};

class SimulatedStream : public GpuStream {
 public:
  SimulatedStream(SimulatedGpu* gpu, std::string name, int actor);
  ~SimulatedStream() override;
  const std::string& name() const override { return name_; }
  GpuRuntime* runtime() const override { return gpu_; }

  absl::Status CopyToDevice(void* device, const void* pinned, size_t bytes) override;
  absl::Status CopyToHost(void* pinned, const void* device, size_t bytes) override;
  absl::Status CopyOnDevice(void* to, const void* from, size_t bytes) override;
  absl::Status CopyToPeer(GpuStream* theirs, void* to, const void* from, size_t bytes) override;
  absl::Status Fill(void* device, uint8_t value, size_t bytes) override;
  absl::Status Launch(const GpuKernel& kernel, absl::Span<const char> args,
                      absl::Span<const GpuAccess> accesses) override;
  absl::Status Call(absl::AnyInvocable<void()> callback) override;
  absl::Status Record(GpuEvent* event) override;
  absl::Status Wait(const GpuEvent& event) override;
  absl::StatusOr<bool> IsIdle() override;
  absl::Status Synchronize(absl::Time deadline) override;
  absl::Status BeginCapture(GpuCaptureMode mode) override;
  absl::StatusOr<std::unique_ptr<GpuGraph>> EndCapture() override;
  bool IsCapturing() const override;
  absl::Status LaunchGraph(GpuGraph* graph) override;

 private:
  friend class SimulatedGpu;
  friend class SimulatedTimer;
  absl::Status Copy(absl::string_view what, void* to, const void* from, size_t bytes, bool to_pinned, bool from_pinned);
  absl::Status WaitInCapture(const SimulatedEvent& event);
  absl::Status CheckNotCapturing(absl::string_view what);
  bool Idle() const { return queue_.empty() && !busy_; }

  SimulatedGpu* const gpu_;
  const std::string name_;
  const int actor_;
  // Guarded by the device's mutex.
  struct Queued {
    SimulatedStep step;
    SimulatedIssue issue;
  };
  std::deque<Queued> queue_;
  bool busy_ = false;
  bool hung_ = false;
  bool stopping_ = false;
  std::shared_ptr<SimulatedCapture> capture_;
  int lane_ = -1;
  std::thread thread_;  // Schedule::kThreads
};

}  // namespace weir
