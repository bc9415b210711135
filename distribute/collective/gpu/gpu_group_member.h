// One GPU's membership in a group, with its communicator, which is created when first needed and again after a failure.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/gpu/gpu_device.h"
#include "core/mutex.h"
#include "distribute/collective/gpu/gpu_collective_library.h"

namespace weir {

// Ranks of a communicator must enqueue the same operations in the same order. So rank 0 assigns a turn to each
// operation once all ranks are present (gpu_collective.h), and each rank enqueues in order of turns.
//
// Each communicator has a generation. If it fails on any rank, it is aborted and never used again: ranks report the
// latest generation that they know to be broken, and rank 0 starts a new one if that is its current one. Nothing waits
// for a broken generation; pending turns of it end with the reason.
//
// Thread-safe. Its own thread connects ranks, enqueues, and polls pending work, because NCCL has to be polled; it never
// blocks.
class GpuGroupMember {
 public:
  // The stream on which a device's collectives run.
  static constexpr char kStream[] = "collectives";
  struct Options {
    GpuDevice* device = nullptr;  // outlives the member
    std::shared_ptr<GpuCollectiveLibrary> library;
    int rank = 0, size = 1;
    int64_t broken = 0;                             // generations up to this one belong to an earlier member
    absl::Duration setup_limit = absl::Minutes(2);  // for the ranks to connect
    // After an error from the library, how long to wait for a more specific one, such as which task has died.
    absl::Duration reason_limit = absl::Seconds(1);
  };
  // Rank 0 sends it to all ranks. Plain bytes.
  struct Turn {
    int64_t generation = 0;
    int64_t number = 0;
    GpuCollectiveId id;
  };
  using DoneCallback = std::function<void(absl::Status)>;

  static absl::StatusOr<std::unique_ptr<GpuGroupMember>> Create(Options options);
  // Ends pending work with ABORTED.
  ~GpuGroupMember();

  const Options& options() const { return options_; }
  // The latest generation that this rank knows.
  int64_t generation() const;
  // The latest one that it knows to be broken.
  int64_t broken() const;
  // On rank 0, once all ranks are present for an operation; `broken` is the maximum that any of them reports.
  absl::StatusOr<Turn> NextTurn(int64_t broken);
  // Enqueues `group` in its turn, after `ready`. `done` runs once, on any thread: with OK when the stream has completed
  // it; with the reason if the generation broke, in which case the stream uses the memory until it has come that far.
  void Run(const Turn& turn, std::vector<GpuTransfer> group, std::unique_ptr<GpuEvent> ready, DoneCallback done);
  // Marks the generation and earlier ones as broken; their pending work ends with `reason`. 0: the latest known one.
  void Break(int64_t generation, const absl::Status& reason);

 private:
  // One turn. Its `done` is called by the thread that takes it.
  struct Work {
    std::vector<GpuTransfer> group;
    std::unique_ptr<GpuEvent> ready;
    DoneCallback done;
  };
  // State that completions may reach after the member is destroyed.
  struct State {
    mutable Mutex mu;
    std::condition_variable changed;
    bool stopping GUARDED_BY(mu) = false;
    int64_t generation GUARDED_BY(mu) = 0;  // the latest known
    int64_t broken GUARDED_BY(mu) = 0;
    absl::Status reason GUARDED_BY(mu);  // why generations are broken
    GpuCollectiveId id GUARDED_BY(mu);   // of `generation`
    int64_t next_turn GUARDED_BY(mu) = 0;
    int64_t turns_given GUARDED_BY(mu) = 0;
    std::map<int64_t, Work> waiting GUARDED_BY(mu);            // by turn, of `generation`
    std::map<int64_t, DoneCallback> under_way GUARDED_BY(mu);  // by turn
    std::vector<int64_t> through GUARDED_BY(mu);               // turns among them that the stream has completed

    bool IsBroken() const REQUIRES(mu) { return broken >= generation; }
    void Break(int64_t up_to, const absl::Status& why) REQUIRES(mu);
    // Takes all work with turns of a broken generation.
    std::vector<DoneCallback> TakeAll() REQUIRES(mu);
    // Starts another generation: pending work of earlier ones ends with `reason`.
    std::vector<DoneCallback> Begin(int64_t next, const GpuCollectiveId& next_id) REQUIRES(mu);
  };

  GpuGroupMember(Options options, std::shared_ptr<GpuStream> stream);
  void Loop();
  absl::Status Connect(int64_t generation, const GpuCollectiveId& id);
  // Waits until the communicator is ready or the generation is broken.
  absl::Status AwaitReady(int64_t generation, absl::Time deadline, absl::string_view what);
  // Records enqueued work. False if another generation, whose turns have the same numbers, began meanwhile: the work
  // has ended then.
  bool PutUnderWay(int64_t generation, int64_t turn, DoneCallback done);
  absl::Status Enqueue(int64_t generation, int64_t turn, const Work& work);
  // The stream has completed a turn, or what is left of it; the library knows the result.
  void EndTurns(int64_t generation);
  // The library reports `error`. Breaks the generation with that of this rank's device if it has failed, otherwise
  // waits for a more specific one.
  void Suspect(int64_t generation, const absl::Status& error);
  bool Stands(int64_t generation) const;

  const Options options_;
  const std::shared_ptr<GpuStream> stream_;
  const std::shared_ptr<State> state_ = std::make_shared<State>();
  std::unique_ptr<GpuCommunicator> communicator_;  // used by the thread only
  int64_t connected_ = 0;                          // its generation
  std::thread thread_;
};

}  // namespace weir
