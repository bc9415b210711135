// Bytes that this process exchanges with its peers, as the system counts them.
#pragma once

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "core/status.h"

namespace weir {

// Of the TCP connections with a peer, those of incomplete messages included.
struct PeerBytes {
  uint64_t received = 0;
  uint64_t acknowledged = 0;  // sent, and received by the peer's system
  bool is_sending = false;    // there are bytes that it has not acknowledged
};

// Of every peer that has a TCP connection with this process, by PeerOfConnection's name, where the system counts bytes.
// Looks at every open file of the process: for rare use.
absl::flat_hash_map<std::string, PeerBytes> BytesOfPeers();
// Those received over a connection's peer, in gRPC's words ("ipv4:1.2.3.4:5"). 0 if there is none, as for Unix sockets.
uint64_t BytesFromPeer(absl::string_view connection);

// Marks the error of a call that ended by its deadline while some kilobytes passed between the process and the peer:
// the answer may be waiting behind them.
absl::Status MarkTransferring(absl::Status status);
bool IsTransferring(const absl::Status& status);

}  // namespace weir
