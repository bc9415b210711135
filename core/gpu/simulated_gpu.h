// A simulated GPU: tests users of core/gpu/gpu_runtime.h for ordering, lifetimes, capture and failures on any machine.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/gpu/gpu_error.h"
#include "core/gpu/gpu_runtime.h"
#include "core/gpu/race_checker.h"
#include "core/gpu/simulated_program.h"
#include "core/mutex.h"

namespace weir {

// Device memory is host memory, filled with a pattern on allocation; kernels run their host version. Thread-safe. For
// tests: servers offer it only on request.
//
// Schedules:
// - kThreads gives each stream a thread.
// - kSeeded has no threads: host threads run operations while they enqueue, query or wait, in an order that the seed
//   chooses among those that streams and events allow. Callbacks run only during waits. A wait that can never end fails
//   at once with DEADLINE_EXCEEDED and names the blocking operation.
//
// Checks:
// - An operation on memory that is not allocated when it runs breaks the device, like hardware
//   (cudaErrorIllegalAddress, sticky).
// - Races() lists unordered operations on the same memory.
// - Copies require pinned memory. Capture rules are CUDA's.
class SimulatedGpu : public GpuRuntime {
 public:
  enum class Schedule { kSeeded, kThreads };
  struct Options {
    Schedule schedule = Schedule::kSeeded;
    uint64_t seed = 1;
    size_t memory_bytes = size_t{1} << 30;
    std::string name = "Simulated GPU";
    std::string pci_bus_id = "0000:00:00.0";
    int compute_major = 9, compute_minor = 0;
    double bytes_per_second = 1e9;
  };

  explicit SimulatedGpu(Options options);
  ~SimulatedGpu() override;

  const GpuProperties& properties() const override { return properties_; }
  absl::StatusOr<GpuMemoryInfo> MemoryInfo() override;
  absl::StatusOr<void*> AllocateDevice(size_t bytes) override;
  absl::StatusOr<void*> AllocateManaged(size_t bytes) override;
  absl::Status FreeDevice(void* data) override;
  absl::StatusOr<void*> AllocatePinned(size_t bytes) override;
  absl::Status FreePinned(void* data) override;
  absl::StatusOr<std::unique_ptr<GpuStream>> CreateStream(absl::string_view name) override;
  absl::StatusOr<std::unique_ptr<GpuEvent>> CreateEvent() override;
  // Measures host time, unless SetElapsedTime set a value.
  absl::StatusOr<std::unique_ptr<GpuTimer>> CreateTimer() override;
  bool Reaches(const GpuRuntime& peer) override { return dynamic_cast<const SimulatedGpu*>(&peer) != nullptr; }
  void HostAccess(absl::string_view what, const GpuAccess& access) override;

  // Sets the value that timers return from now on; nullopt: host time.
  void SetElapsedTime(std::optional<absl::Duration> elapsed);
  // Makes the next `count` allocations of device or pinned memory fail.
  void FailAllocations(int count);
  // Makes the next operation that runs break the device with a sticky error.
  void FailNextOperation(GpuError error);
  // Makes a stream hang until it is released.
  void Hang(GpuStream* stream);
  void Release(GpuStream* stream);
  // Makes all streams of that name hang, including ones created later.
  void HangStreams(std::string name);
  // Releases all streams that hang.
  void ReleaseStreams();
  // Whether operations are enqueued on a hanging stream.
  bool HoldsWork() const;
  // A two-part operation whose second part waits for something outside of the device, such as a peer in a collective.
  // Neither part blocks. The returned function is called once, on any thread, while the device exists, and allows the
  // second part to run.
  struct Exchange {
    std::string name;
    std::function<void()> begin, end;
    std::vector<GpuAccess> reads, writes;  // of both `begin` and `end`
  };
  absl::StatusOr<std::function<void()>> EnqueueExchange(GpuStream* stream, Exchange exchange);
  // Runs one operation that is ready to run (kSeeded); false if there is none.
  bool Advance() { return RunOne(/*callbacks=*/true, nullptr); }

  std::vector<std::string> Races() const;
  // The number of operations of that name enqueued so far, such as "copy to host".
  int64_t NumEnqueued(absl::string_view name) const;
  size_t num_allocations() const;
  size_t bytes_allocated() const;

 private:
  friend class SimulatedStream;
  friend class SimulatedEvent;
  friend class SimulatedTimer;
  enum class MemoryKind { kDevice, kManaged, kPinned };
  struct Allocation {
    size_t bytes = 0;
    MemoryKind kind = MemoryKind::kDevice;
  };
  struct Taken;

  absl::Status Enter(absl::string_view what) REQUIRES(mu_);
  // Fails for calls that are forbidden while a stream captures, and invalidates those captures.
  absl::Status CheckNoCapture(absl::string_view what) REQUIRES(mu_);
  absl::StatusOr<void*> Allocate(size_t bytes, MemoryKind kind, absl::string_view what);
  absl::Status Free(void* data, bool pinned, absl::string_view what);
  bool IsAllocated(const void* data, size_t bytes, std::optional<bool> pinned) const REQUIRES(mu_);
  absl::Status Enqueue(SimulatedStream* stream, SimulatedStep step);

  SimulatedIssue Issue(int actor, const SimulatedStep& step) REQUIRES(mu_);
  SimulatedIssue IssueProgram(int actor, const SimulatedProgram& program) REQUIRES(mu_);
  bool CanRun(const SimulatedStream& stream, bool callbacks) const REQUIRES(mu_);
  bool Take(bool callbacks, SimulatedStream* only, Taken* taken) REQUIRES(mu_);
  // Runs one operation of any stream, or of `only`.
  bool RunOne(bool callbacks, SimulatedStream* only);
  void RunStep(const SimulatedStep& step, const SimulatedIssue& issue);
  void RunProgram(const SimulatedProgram& program, const SimulatedIssue& issue);
  void RunSome();
  void RunStream(SimulatedStream* stream);
  void Break(GpuError error, absl::string_view what) REQUIRES(mu_);
  // Blocks until `done`, which is called with the lock held, while running operations that are ready.
  absl::Status WaitUntil(absl::Time deadline, absl::string_view what, absl::FunctionRef<bool()> done);
  std::string Obstacle() const REQUIRES(mu_);
  size_t Random(size_t below) REQUIRES(mu_);

  const Options options_;
  const GpuProperties properties_;
  mutable Mutex mu_;
  std::condition_variable changed_;
  std::mt19937_64 random_ GUARDED_BY(mu_);
  RaceChecker checker_ GUARDED_BY(mu_);
  std::map<uintptr_t, Allocation> allocations_ GUARDED_BY(mu_);
  size_t device_bytes_ GUARDED_BY(mu_) = 0;
  std::vector<SimulatedStream*> streams_ GUARDED_BY(mu_);
  std::vector<std::weak_ptr<SimulatedCapture>> captures_ GUARDED_BY(mu_);
  std::optional<absl::Duration> told_time_ GUARDED_BY(mu_);
  int failing_allocations_ GUARDED_BY(mu_) = 0;
  std::optional<GpuError> failing_operation_ GUARDED_BY(mu_);
  std::optional<std::string> hanging_name_ GUARDED_BY(mu_);
  int pending_exchanges_ GUARDED_BY(mu_) = 0;
  std::map<std::string, int64_t, std::less<>> num_enqueued_ GUARDED_BY(mu_);  // by name
  absl::Status broken_ GUARDED_BY(mu_);
};

}  // namespace weir
