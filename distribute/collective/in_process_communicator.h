// Ranks within one process.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "distribute/collective/message_exchange.h"

namespace weir {

// One rank of a group whose ranks share `exchange`. Thread-safe.
class InProcessCommunicator : public Communicator {
 public:
  // Creates one communicator for each rank of `topology`.
  static std::vector<std::shared_ptr<Communicator>> Group(const Topology& topology);

  InProcessCommunicator(int rank, std::shared_ptr<const Topology> topology, std::shared_ptr<MessageExchange> exchange)
      : rank_(rank), topology_(std::move(topology)), exchange_(std::move(exchange)) {}

  const Topology& topology() const override { return *topology_; }
  int rank() const override { return rank_; }
  void Begin(int64_t sequence, const CallSignature& signature) override;
  void End(int64_t sequence) override;
  void Send(int peer, const MessageTag& tag, absl::Span<const char> bytes, SentCallback sent) override;
  void Receive(int peer, const MessageTag& tag, int64_t num_bytes, ReceivedCallback received) override;
  void Abort(int64_t sequence, const absl::Status& status) override { exchange_->Abort(sequence, status); }

 private:
  const int rank_;
  const std::shared_ptr<const Topology> topology_;
  const std::shared_ptr<MessageExchange> exchange_;
  Mutex mu_;
  absl::flat_hash_map<int64_t, CallSignature> signatures_ GUARDED_BY(mu_);
};

}  // namespace weir
