#include "distribute/collective/in_process_communicator.h"

#include "absl/strings/str_cat.h"

namespace weir {

std::vector<std::shared_ptr<Communicator>> InProcessCommunicator::Group(const Topology& topology) {
  std::vector<std::string> names;
  for (int rank = 0; rank < topology.size(); ++rank) names.push_back(absl::StrCat("rank ", rank));
  auto exchange = std::make_shared<MessageExchange>(std::move(names));
  auto shared = std::make_shared<const Topology>(topology);
  std::vector<std::shared_ptr<Communicator>> group;
  for (int rank = 0; rank < topology.size(); ++rank) {
    group.push_back(std::make_shared<InProcessCommunicator>(rank, shared, exchange));
  }
  return group;
}

void InProcessCommunicator::Begin(int64_t sequence, const CallSignature& signature) {
  {
    MutexLock lock(mu_);
    signatures_[sequence] = signature;
  }
  exchange_->Begin(rank_, sequence, signature);
}

void InProcessCommunicator::End(int64_t sequence) {
  {
    MutexLock lock(mu_);
    signatures_.erase(sequence);
  }
  exchange_->End(sequence);
}

void InProcessCommunicator::Send(int peer, const MessageTag& tag, absl::Span<const char> bytes, SentCallback sent) {
  exchange_->Offer({rank_, peer, tag}, bytes, std::move(sent));
}

void InProcessCommunicator::Receive(int peer, const MessageTag& tag, int64_t num_bytes, ReceivedCallback received) {
  CallSignature signature;
  {
    MutexLock lock(mu_);
    signature = signatures_[tag.sequence];
  }
  exchange_->Take({peer, rank_, tag}, signature, num_bytes, nullptr, std::move(received));
}

}  // namespace weir
