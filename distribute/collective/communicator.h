// Ranked peers that hand each other chunks of bytes: what algorithms run over, and transports implement.
#pragma once

#include <cstdint>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/types/span.h"
#include "core/status.h"
#include "distribute/collective/call_signature.h"
#include "distribute/collective/topology.h"
#include "distribute/transport/received_bytes.h"

namespace weir {

// Tells the messages from one rank to another apart; each is sent once.
struct MessageTag {
  int64_t sequence = 0;  // of the call
  int32_t lane = 0;
  int32_t round = 0;
  friend bool operator==(const MessageTag&, const MessageTag&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const MessageTag& t) {
    return H::combine(std::move(h), t.sequence, t.lane, t.round);
  }
};

// Thread-safe. Neither call blocks. Callbacks run exactly once, with no lock held, perhaps before the call returns, on
// any thread. Messages of one pair of ranks may overtake each other: tags match them. A receive whose message has
// another length is an error.
class Communicator {
 public:
  using SentCallback = absl::AnyInvocable<void(absl::Status)>;
  using ReceivedCallback = absl::AnyInvocable<void(absl::StatusOr<ReceivedBytes>)>;

  virtual ~Communicator() = default;
  virtual const Topology& topology() const = 0;
  virtual int rank() const = 0;
  int size() const { return topology().size(); }

  // Before the messages of a call. A peer that makes another call under this number is an error of both.
  virtual void Begin(int64_t sequence, const CallSignature& signature) = 0;
  // `bytes` stay as they are until `sent`: by then the peer has taken them.
  virtual void Send(int peer, const MessageTag& tag, absl::Span<const char> bytes, SentCallback sent) = 0;
  virtual void Receive(int peer, const MessageTag& tag, int64_t num_bytes, ReceivedCallback received) = 0;
  // After the last message of a call, whatever its end: the number is not used again.
  virtual void End(int64_t sequence) = 0;
  // Ends what is pending of the call, and what comes later, with `status`, here and, where they wait for this rank, on
  // the peers. The first status stays.
  virtual void Abort(int64_t sequence, const absl::Status& status) = 0;
};

}  // namespace weir
