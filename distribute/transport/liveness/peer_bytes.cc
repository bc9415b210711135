#include "distribute/transport/liveness/peer_bytes.h"

#include <dirent.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <charconv>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>

#include "distribute/transport/liveness/socket_name.h"

namespace weir {
namespace {

constexpr char kTransferring[] = "type.googleapis.com/weir.Transferring";

// The start of the system's tcp_info (linux/tcp.h), of which the C library's ends earlier.
struct TcpInfo {
  char earlier_fields[24];
  uint32_t unacknowledged_segments;
  char more_fields[92];
  uint64_t bytes_acknowledged;
  uint64_t bytes_received;
  uint32_t segments_sent, segments_received;
  uint32_t bytes_not_sent;
};
static_assert(offsetof(TcpInfo, bytes_acknowledged) == 120);

std::optional<PeerBytes> BytesOf(int socket) {
  TcpInfo info = {};
  socklen_t size = sizeof(info);
  constexpr size_t kNeeded = offsetof(TcpInfo, bytes_not_sent) + sizeof(info.bytes_not_sent);
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 || size < kNeeded) return std::nullopt;
  // gRPC's ends greet each other, so a system that reports zeros does not count.
  if (info.bytes_received == 0) return std::nullopt;
  return PeerBytes{.received = info.bytes_received,
                   .acknowledged = info.bytes_acknowledged,
                   .is_sending = info.unacknowledged_segments > 0 || info.bytes_not_sent > 0};
}

}  // namespace

absl::flat_hash_map<std::string, PeerBytes> BytesOfPeers() {
  absl::flat_hash_map<std::string, PeerBytes> peers;
  const std::unique_ptr<DIR, int (*)(DIR*)> files(opendir("/proc/self/fd"), closedir);
  if (files == nullptr) return peers;
  while (const dirent* const file = readdir(files.get())) {
    int fd = -1;
    if (std::from_chars(file->d_name, file->d_name + std::strlen(file->d_name), fd).ec != std::errc()) continue;
    const std::optional<PeerBytes> bytes = BytesOf(fd);
    if (!bytes.has_value()) continue;
    PeerBytes& peer = peers[PeerOfSocket(fd)];
    peer.received += bytes->received;
    peer.acknowledged += bytes->acknowledged;
    peer.is_sending |= bytes->is_sending;
  }
  return peers;
}

absl::Status MarkTransferring(absl::Status status) {
  status.SetPayload(kTransferring, absl::Cord());
  return status;
}

bool IsTransferring(const absl::Status& status) { return status.GetPayload(kTransferring).has_value(); }

uint64_t BytesFromPeer(absl::string_view connection) {
  const auto peers = BytesOfPeers();
  const auto peer = peers.find(PeerOfConnection(connection));
  return peer == peers.end() ? 0 : peer->second.received;
}

}  // namespace weir
