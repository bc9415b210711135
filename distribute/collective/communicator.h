// Exchanges bytes between ranked peers: the interface between algorithms and transports.
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

// Identifies a message from one rank to another; each is sent once.
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

// Thread-safe. No call blocks.
// - Callbacks run exactly once, with no lock held, on any thread, perhaps before the call returns.
// - Messages between two ranks may overtake each other: tags match them.
// - A receive with another length than its message is an error.
class Communicator {
 public:
  using SentCallback = absl::AnyInvocable<void(absl::Status)>;
  using ReceivedCallback = absl::AnyInvocable<void(absl::StatusOr<ReceivedBytes>)>;

  virtual ~Communicator() = default;
  virtual const Topology& topology() const = 0;
  virtual int rank() const = 0;
  int size() const { return topology().size(); }

  // Precedes the messages of a call. If a peer makes another call under this number, both fail.
  virtual void Begin(int64_t sequence, const CallSignature& signature) = 0;
  // `bytes` must not change until `sent`; by then the peer has read them.
  virtual void Send(int peer, const MessageTag& tag, absl::Span<const char> bytes, SentCallback sent) = 0;
  virtual void Receive(int peer, const MessageTag& tag, int64_t num_bytes, ReceivedCallback received) = 0;
  // Follows the last message of a call, successful or not; the number is not reused.
  virtual void End(int64_t sequence) = 0;
  // Ends pending and later messages of the call with `status`, here and on peers that wait for this rank. The first
  // status stays.
  virtual void Abort(int64_t sequence, const absl::Status& status) = 0;
};

}  // namespace weir
