#include "distribute/transport/clients/open_connections.h"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "distribute/transport/liveness/socket_name.h"

namespace weir {
namespace {

uint64_t CookieOf(int socket) {
  uint64_t cookie = 0;
  socklen_t size = sizeof(cookie);
  return getsockopt(socket, SOL_SOCKET, SO_COOKIE, &cookie, &size) == 0 ? cookie : 0;
}

}  // namespace

bool OpenConnections::IsOpen(const Socket& socket) { return CookieOf(socket.file) == socket.cookie; }

void OpenConnections::Add(int socket) {
  const Socket added{.file = socket, .cookie = CookieOf(socket)};
  std::string peer = PeerOfSocket(socket);
  if (peer.empty() || added.cookie == 0) return;
  MutexLock lock(mu_);
  if (num_sockets_ >= remove_at_) RemoveClosed();
  sockets_[std::move(peer)].push_back(added);
  ++num_sockets_;
}

bool OpenConnections::IsOpen(absl::string_view connection) const {
  const std::string name = PeerOfConnection(connection);
  MutexLock lock(mu_);
  const auto it = sockets_.find(name);
  return it != sockets_.end() &&
         std::any_of(it->second.begin(), it->second.end(), [](const Socket& socket) { return IsOpen(socket); });
}

void OpenConnections::RemoveClosed() {
  num_sockets_ = 0;
  for (auto it = sockets_.begin(); it != sockets_.end();) {
    const auto current = it++;
    std::vector<Socket>& sockets = current->second;
    sockets.erase(std::remove_if(sockets.begin(), sockets.end(), [](const Socket& socket) { return !IsOpen(socket); }),
                  sockets.end());
    num_sockets_ += sockets.size();
    if (sockets.empty()) sockets_.erase(current);
  }
  remove_at_ = std::max<size_t>(64, 2 * num_sockets_);
}

}  // namespace weir
