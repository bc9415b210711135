// A network in virtual time: runs the real algorithms, with thousands of ranks, on one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "distribute/collective/communicator.h"
#include "distribute/collective/message_exchange.h"

namespace weir {

// Deterministic; not thread-safe. A message starts when both sides are ready and their links are free: a rank has one
// link in each direction within its host, a host one in each direction to others. It occupies them for bytes *
// seconds_per_byte, arrives after the latency, and is then consumed by the receiver, one message at a time.
class SimulatedNetwork {
 public:
  explicit SimulatedNetwork(Topology topology);
  ~SimulatedNetwork();

  std::vector<std::shared_ptr<Communicator>> Group() const { return members_; }
  // Processes events until there are none. Pending waits then never end.
  void Run();
  double now() const { return now_; }
  int64_t num_messages() const { return num_messages_; }
  // Drops all further messages of `rank`; its peers are notified after `seconds`.
  void Kill(int rank, double seconds);

 private:
  class Member;
  struct Side {
    bool is_there = false;
    absl::Span<const char> bytes;
    Communicator::SentCallback sent;
    int64_t num_bytes = 0;
    Communicator::ReceivedCallback received;
  };
  struct Message {
    Side sender, receiver;
  };
  struct Event {
    double time = 0;
    int64_t order = 0;
    std::function<void()> run;
    bool operator<(const Event& other) const {
      return time != other.time ? time > other.time : order > other.order;  // the earliest is on top
    }
  };

  void At(double time, std::function<void()> run);
  Message* Find(const MessageExchange::Key& key);
  void StartIfBoth(const MessageExchange::Key& key);
  void Abort(int64_t sequence, const absl::Status& status);

  const Topology topology_;
  double now_ = 0;
  int64_t num_events_ = 0, num_messages_ = 0;
  std::priority_queue<Event> events_;
  std::vector<double> rank_out_, rank_in_, host_out_, host_in_, consumer_;  // when they are free
  absl::flat_hash_map<MessageExchange::Key, std::unique_ptr<Message>> waiting_;
  absl::flat_hash_map<int64_t, absl::Status> aborted_;
  std::vector<bool> dead_;
  std::vector<std::shared_ptr<Communicator>> members_;
};

}  // namespace weir
