// The members of a step's collective, on this task and on others.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/mutex.h"
#include "core/threads/cancellation.h"
#include "distribute/collective/buffer_key.h"
#include "distribute/collective/collective_group.h"
#include "distribute/collective/communicator.h"
#include "distribute/transport/worker_interface.h"

namespace weir {

// One member, for one call. Messages are offered locally, and fetched from the peer: from the same exchange for a
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

  // The members whose messages are awaited.
  std::vector<std::string> Awaited() const;
  // A sender is not notified when a peer fails before it fetches. So this, called regularly, asks peers that have not
  // fetched yet for a message that never comes: the answer is their step's final status. If such a peer does not fetch
  // within some seconds after its step's end, the call ends with that status.
  void WatchReceivers();

 private:
  struct Receiver {
    int untaken = 0;  // messages
    bool is_watched = false;
    absl::Status ended;  // the step's final status, once it has ended
    absl::Time ended_at;
  };

  void ReceiveFrom(const FormedGroup::Member& member, BufferKey key, int64_t num_bytes, ReceivedCallback received);
  void Arrived(int peer);
  void Taken(int peer);
  void Watch(int peer);

  const Options options_;
  CancellationManager calls_;  // of pending RecvBufs
  mutable Mutex mu_;
  CallSignature signature_ GUARDED_BY(mu_);
  std::vector<int> awaited_ GUARDED_BY(mu_);         // messages by rank
  std::vector<Receiver> receivers_ GUARDED_BY(mu_);  // by rank
};

}  // namespace weir
