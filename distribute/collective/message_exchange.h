// Matches messages between ranks of one process, and messages that other processes fetch.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/mutex.h"
#include "core/threads/cancellation.h"
#include "distribute/collective/communicator.h"

namespace weir {

// Thread-safe. No call blocks. Callbacks run exactly once, with no lock held. The receiver reads a message in the
// sender's memory, without a copy.
class MessageExchange : public std::enable_shared_from_this<MessageExchange> {
 public:
  struct Key {
    int from = 0, to = 0;
    MessageTag tag;
    friend bool operator==(const Key&, const Key&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Key& k) {
      return H::combine(std::move(h), k.from, k.to, k.tag);
    }
  };

  // `members`: names of the ranks, for messages.
  explicit MessageExchange(std::vector<std::string> members) : members_(std::move(members)) {}
  // For one call, whose members become known later.
  explicit MessageExchange(int64_t instance) : instance_(instance) {}
  void NameMembers(std::vector<std::string> members);

  // A rank of this process has begun a call.
  void Begin(int rank, int64_t sequence, const CallSignature& signature);
  // A rank has ended the call. Once all ranks have, the call is forgotten.
  void End(int64_t sequence);
  void Offer(const Key& key, absl::Span<const char> bytes, Communicator::SentCallback sent);
  // `signature` is that of the receiver's call. A cancelled wait ends with CANCELLED; `cancellation` (may be null)
  // lives until `received`.
  void Take(const Key& key, const CallSignature& signature, int64_t num_bytes, CancellationManager* cancellation,
            Communicator::ReceivedCallback received);
  // Ends pending and later messages of the call. The first status stays.
  void Abort(int64_t sequence, const absl::Status& status);
  // Abort for all calls.
  void AbortAll(const absl::Status& status);

 private:
  struct Offered {
    absl::Span<const char> bytes;
    Communicator::SentCallback sent;
  };
  struct Wanted {
    CallSignature signature;
    int64_t num_bytes = 0;
    Communicator::ReceivedCallback received;
    CancellationManager* cancellation = nullptr;
    CancellationManager::Token token = CancellationManager::kInvalidToken;
  };
  struct Call {
    absl::Status status;
    size_t num_ended = 0;
    absl::flat_hash_map<int, CallSignature> begun;
    absl::flat_hash_map<Key, Offered> offered;
    absl::flat_hash_map<Key, Wanted> wanted;
  };

  absl::Status StatusOf(int64_t sequence) const REQUIRES(mu_);
  void Deliver(const Key& key, Offered offered, Wanted wanted);
  size_t num_members() const EXCLUDES(names_mu_);
  static void Fail(Call call, const absl::Status& status);
  static void Fail(Wanted wanted, const absl::Status& status);
  void Forget(const Key& key);

  std::string NameOf(int rank) const EXCLUDES(names_mu_);

  const int64_t instance_ = 0;
  mutable Mutex names_mu_;
  std::vector<std::string> members_ GUARDED_BY(names_mu_);
  mutable Mutex mu_;
  absl::Status status_ GUARDED_BY(mu_);
  absl::flat_hash_map<int64_t, Call> calls_ GUARDED_BY(mu_);
};

}  // namespace weir
