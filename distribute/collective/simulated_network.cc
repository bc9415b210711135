#include "distribute/collective/simulated_network.h"

#include <algorithm>
#include <utility>

namespace weir {

class SimulatedNetwork::Member : public Communicator {
 public:
  Member(SimulatedNetwork* network, int rank) : network_(network), rank_(rank) {}

  const Topology& topology() const override { return network_->topology_; }
  int rank() const override { return rank_; }
  void Begin(int64_t, const CallSignature&) override {}
  void End(int64_t) override {}

  void Send(int peer, const MessageTag& tag, absl::Span<const char> bytes, SentCallback sent) override {
    const MessageExchange::Key key{rank_, peer, tag};
    if (const auto it = network_->aborted_.find(tag.sequence); it != network_->aborted_.end()) return sent(it->second);
    Side& side = network_->Find(key)->sender;
    side.is_there = true;
    side.bytes = bytes;
    side.sent = std::move(sent);
    network_->StartIfBoth(key);
  }

  void Receive(int peer, const MessageTag& tag, int64_t num_bytes, ReceivedCallback received) override {
    const MessageExchange::Key key{peer, rank_, tag};
    if (const auto it = network_->aborted_.find(tag.sequence); it != network_->aborted_.end()) {
      return received(it->second);
    }
    Side& side = network_->Find(key)->receiver;
    side.is_there = true;
    side.num_bytes = num_bytes;
    side.received = std::move(received);
    network_->StartIfBoth(key);
  }

  void Abort(int64_t sequence, const absl::Status& status) override { network_->Abort(sequence, status); }

 private:
  SimulatedNetwork* const network_;
  const int rank_;
};

SimulatedNetwork::SimulatedNetwork(Topology topology)
    : topology_(std::move(topology)),
      rank_out_(topology_.size()),
      rank_in_(topology_.size()),
      host_out_(topology_.num_hosts()),
      host_in_(topology_.num_hosts()),
      consumer_(topology_.size()),
      dead_(topology_.size()) {
  for (int rank = 0; rank < topology_.size(); ++rank) members_.push_back(std::make_shared<Member>(this, rank));
}

SimulatedNetwork::~SimulatedNetwork() = default;

void SimulatedNetwork::At(double time, std::function<void()> run) {
  events_.push({time, num_events_++, std::move(run)});
}

SimulatedNetwork::Message* SimulatedNetwork::Find(const MessageExchange::Key& key) {
  std::unique_ptr<Message>& message = waiting_[key];
  if (message == nullptr) message = std::make_unique<Message>();
  return message.get();
}

void SimulatedNetwork::StartIfBoth(const MessageExchange::Key& key) {
  const auto it = waiting_.find(key);
  Message& message = *it->second;
  if (!message.sender.is_there || !message.receiver.is_there || dead_[key.from] || dead_[key.to]) return;
  const std::shared_ptr<Message> started = std::move(it->second);
  waiting_.erase(it);
  ++num_messages_;
  const int from = topology_.host_of(key.from), to = topology_.host_of(key.to);
  const LinkCosts& costs = topology_.costs();
  const LinkCost& cost = from == to ? costs.within_host : costs.between_hosts;
  double& out = from == to ? rank_out_[key.from] : host_out_[from];
  double& in = from == to ? rank_in_[key.to] : host_in_[to];
  const auto bytes = static_cast<double>(started->sender.bytes.size());
  const double begin = std::max({now_, out, in});
  out = in = begin + bytes * cost.seconds_per_byte;
  At(out + cost.latency, [this, key, started, bytes] {
    double& consumer = consumer_[key.to];
    consumer = std::max(consumer, now_) + bytes * topology_.costs().consume_seconds_per_byte;
    At(consumer, [started] {
      Side& receiver = started->receiver;
      if (started->sender.bytes.size() != receiver.num_bytes) {
        const absl::Status status = errors::Internal("A message of another length than its receiver expects");
        started->sender.sent(status);
        return receiver.received(status);
      }
      receiver.received(ReceivedBytes(started->sender.bytes, [started] { started->sender.sent(absl::OkStatus()); }));
    });
  });
}

void SimulatedNetwork::Run() {
  while (!events_.empty()) {
    const Event event = events_.top();
    events_.pop();
    now_ = event.time;
    event.run();
  }
}

void SimulatedNetwork::Kill(int rank, double seconds) {
  dead_[rank] = true;
  At(now_ + seconds, [this, rank] {
    std::vector<int64_t> sequences;
    for (const auto& [key, message] : waiting_) {
      if (key.from == rank || key.to == rank) sequences.push_back(key.tag.sequence);
    }
    for (const int64_t sequence : sequences) Abort(sequence, errors::Unavailable("rank ", rank, " is gone"));
  });
}

void SimulatedNetwork::Abort(int64_t sequence, const absl::Status& status) {
  if (!aborted_.try_emplace(sequence, status).second) return;
  std::vector<std::unique_ptr<Message>> ended;
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    const auto current = it++;
    if (current->first.tag.sequence != sequence) continue;
    ended.push_back(std::move(current->second));
    waiting_.erase(current);
  }
  for (const auto& message : ended) {
    if (message->sender.is_there) message->sender.sent(status);
    if (message->receiver.is_there) message->receiver.received(status);
  }
}

}  // namespace weir
