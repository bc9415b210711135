// One GPU's place in a group, for as long as the group stands: its communicator, which is made when it is first needed
// and again after a failure.
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

// Ranks of a communicator have to enqueue the same operations in the same order. So rank 0 gives each operation its
// turn when all ranks are there for it (gpu_collective.h), and each rank takes the turns one by one.
//
// A communicator is of a generation. When anything goes wrong with it, on whatever rank, it is aborted, and never used
// again: ranks say how far the generations are that they know to be broken, and rank 0 begins a new one where those
// reach its own. Nobody waits for a broken one: what has a turn of it ends with the reason.
//
// Thread-safe. A thread of its own brings ranks together, enqueues, and looks after what is under way, since NCCL has
// to be asked; it blocks for nobody.
class GpuGroupMember {
 public:
  // The stream on which a device's collectives run.
  static constexpr char kStream[] = "collectives";
  struct Options {
    GpuDevice* device = nullptr;  // outlives the member
    std::shared_ptr<GpuCollectiveLibrary> library;
    int rank = 0, size = 1;
    absl::Duration setup_limit = absl::Minutes(2);  // for the ranks to come together
    // When the library reports an error, how long to wait for somebody who knows more, as which task has died.
    absl::Duration reason_limit = absl::Seconds(1);
  };
  // What rank 0 gives to all. Plain bytes.
  struct Turn {
    int64_t generation = 0;
    int64_t number = 0;
    GpuCollectiveId id;
  };
  using DoneCallback = std::function<void(absl::Status)>;

  static absl::StatusOr<std::unique_ptr<GpuGroupMember>> Create(Options options);
  // Ends what is under way with ABORTED.
  ~GpuGroupMember();

  const Options& options() const { return options_; }
  // Of the generations from the first on, the last that this rank knows to be of no use.
  int64_t broken() const;
  // On rank 0, for an operation for which all ranks are there: `broken` is the most that any of them says.
  absl::StatusOr<Turn> NextTurn(int64_t broken);
  // Enqueues `group` in its turn, behind `ready`. `done` runs once, on any thread: with OK when the stream is through
  // with it; with the reason when the generation broke, and then the memory is the stream's until it has come so far.
  void Run(const Turn& turn, std::vector<GpuTransfer> group, std::unique_ptr<GpuEvent> ready, DoneCallback done);
  // The generation, and those before it, are of no use any more; those under way end with `reason`. 0: the one that is
  // known last.
  void Break(int64_t generation, const absl::Status& reason);

 private:
  // One turn. Its `done` belongs to whoever takes it.
  struct Work {
    std::vector<GpuTransfer> group;
    std::unique_ptr<GpuEvent> ready;
    DoneCallback done;
  };
  // What completions reach when the member may be gone.
  struct State {
    mutable Mutex mu;
    std::condition_variable changed;
    bool stopping GUARDED_BY(mu) = false;
    int64_t generation GUARDED_BY(mu) = 0;  // the last that is known
    int64_t broken GUARDED_BY(mu) = 0;
    absl::Status reason GUARDED_BY(mu);  // of what is broken
    GpuCollectiveId id GUARDED_BY(mu);   // of `generation`
    int64_t next_turn GUARDED_BY(mu) = 0;
    int64_t turns_given GUARDED_BY(mu) = 0;
    std::map<int64_t, Work> waiting GUARDED_BY(mu);            // by turn, of `generation`
    std::map<int64_t, DoneCallback> under_way GUARDED_BY(mu);  // by turn
    std::vector<int64_t> through GUARDED_BY(mu);               // of those, the turns with which the stream is through

    bool IsBroken() const REQUIRES(mu) { return broken >= generation; }
    void Break(int64_t up_to, const absl::Status& why) REQUIRES(mu);
    // All that has a turn of a generation that is of no use.
    std::vector<DoneCallback> TakeAll() REQUIRES(mu);
    // Another generation: what the ones before have under way is to end with `reason`.
    std::vector<DoneCallback> Begin(int64_t next, const GpuCollectiveId& next_id) REQUIRES(mu);
  };

  GpuGroupMember(Options options, std::shared_ptr<GpuStream> stream);
  void Loop();
  absl::Status Connect(int64_t generation, const GpuCollectiveId& id);
  // Until the communicator is ready, or the generation is of no use.
  absl::Status AwaitReady(int64_t generation, absl::Time deadline, absl::string_view what);
  // Of the work that was taken to be enqueued. False, and it has ended: another generation began meanwhile, whose turns
  // have the same numbers.
  bool PutUnderWay(int64_t generation, int64_t turn, DoneCallback done);
  absl::Status Enqueue(int64_t generation, int64_t turn, const Work& work);
  // The stream is through with a turn, or with what is left of it: the library knows.
  void EndTurns(int64_t generation);
  // The library says `error`: somebody may know better.
  void Suspect(int64_t generation, const absl::Status& error);
  bool Stands(int64_t generation) const;

  const Options options_;
  const std::shared_ptr<GpuStream> stream_;
  const std::shared_ptr<State> state_ = std::make_shared<State>();
  std::unique_ptr<GpuCommunicator> communicator_;  // the thread's
  int64_t connected_ = 0;                          // its generation
  std::thread thread_;
};

}  // namespace weir
