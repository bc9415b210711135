// The members of one collective of one step, on this task and on others.
#pragma once

#include <memory>
#include <string>
#include <vector>

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
  void End(int64_t sequence) override {}
  void Abort(int64_t sequence, const absl::Status& status) override;

  // The members from whom something is awaited.
  std::vector<std::string> Awaited() const;

 private:
  void ReceiveFrom(const FormedGroup::Member& member, BufferKey key, int64_t num_bytes, ReceivedCallback received);
  void Arrived(int peer);

  const Options options_;
  CancellationManager calls_;  // RecvBufs under way
  mutable Mutex mu_;
  CallSignature signature_ GUARDED_BY(mu_);
  std::vector<int> awaited_ GUARDED_BY(mu_);  // messages by rank
};

}  // namespace weir
