// The members of one collective of one step, on this task and on others.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/cancellation.h"
#include "core/mutex.h"
#include "distribute/collective/buffer_key.h"
#include "distribute/collective/collective_group.h"
#include "distribute/collective/communicator.h"
#include "distribute/transport/worker_interface.h"

namespace weir {

// One member, for one call. Messages are offered here, and fetched from where the peer is: from the same exchange for a
// member of this task, by RecvBuf for others. Thread-safe.
class TaskCommunicator : public Communicator, public std::enable_shared_from_this<TaskCommunicator> {
 public:
  struct Options {
    int64_t step_id = 0;
    InstanceKey instance;
    int rank = 0;
    std::shared_ptr<const FormedGroup> group;
    std::string local_task;
    std::shared_ptr<MessageExchange> exchange;  // of the instance on this task
    WorkerPool* workers = nullptr;              // outlives all calls
  };
  explicit TaskCommunicator(Options options);

  const Topology& topology() const override { return *options_.group->topology; }
  int rank() const override { return options_.rank; }
  void Begin(int64_t sequence, const CallSignature& signature) override;
  void Send(int peer, const MessageTag& tag, absl::Span<const char> bytes, SentCallback sent) override;
  void Receive(int peer, const MessageTag& tag, int64_t num_bytes, ReceivedCallback received) override;
  void End(int64_t sequence) override;
  void Abort(int64_t sequence, const absl::Status& status) override;

  // The members from whom something is awaited.
  std::vector<std::string> Awaited() const;
  // Who waits to be fetched from hears nothing of a peer that fails, or is gone, before that. Called now and then, this
  // asks peers that have not fetched yet for a message that never comes: the answer is how their step ended. A peer
  // that has ended its step, and does not fetch after all within some seconds, ends the call with that.
  void WatchReceivers();

 private:
  struct Receiver {
    int untaken = 0;  // messages
    bool is_watched = false;
    absl::Status ended;  // what its step has ended with, once it has
    absl::Time ended_at;
  };

  void ReceiveFrom(const FormedGroup::Member& member, BufferKey key, int64_t num_bytes, ReceivedCallback received);
  void Arrived(int peer);
  void Taken(int peer);
  void Watch(int peer);

  const Options options_;
  CancellationManager calls_;  // RecvBufs under way
  mutable Mutex mu_;
  CallSignature signature_ GUARDED_BY(mu_);
  std::vector<int> awaited_ GUARDED_BY(mu_);         // messages by rank
  std::vector<Receiver> receivers_ GUARDED_BY(mu_);  // by rank
};

}  // namespace weir
