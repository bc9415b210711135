#include "distribute/transport/clients/open_connections.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace weir {
namespace {

constexpr char kUnixPeer[] = "unix";

uint64_t CookieOf(int socket) {
  uint64_t cookie = 0;
  socklen_t size = sizeof(cookie);
  return getsockopt(socket, SOL_SOCKET, SO_COOKIE, &cookie, &size) == 0 ? cookie : 0;
}

std::string IPv4(const in_addr& address, in_port_t port) {
  char text[INET_ADDRSTRLEN] = {};
  inet_ntop(AF_INET, &address, text, sizeof(text));
  return absl::StrCat(text, ":", ntohs(port));
}

std::string PeerOf(int socket) {
  sockaddr_storage name = {};
  socklen_t size = sizeof(name);
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&name), &size) != 0) return "";
  if (name.ss_family == AF_UNIX) return kUnixPeer;
  if (name.ss_family == AF_INET) {
    const auto& ipv4 = reinterpret_cast<const sockaddr_in&>(name);
    return IPv4(ipv4.sin_addr, ipv4.sin_port);
  }
  if (name.ss_family != AF_INET6) return "";
  const auto& ipv6 = reinterpret_cast<const sockaddr_in6&>(name);
  if (IN6_IS_ADDR_V4MAPPED(&ipv6.sin6_addr)) {
    in_addr mapped;
    std::copy_n(ipv6.sin6_addr.s6_addr + 12, 4, reinterpret_cast<uint8_t*>(&mapped));
    return IPv4(mapped, ipv6.sin6_port);
  }
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(AF_INET6, &ipv6.sin6_addr, text, sizeof(text));
  return absl::StrCat("[", text, "]:", ntohs(ipv6.sin6_port));
}

std::string PercentDecoded(absl::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16).ptr == text.data() + i + 3) {
      decoded.push_back(static_cast<char>(byte));
      i += 2;
    } else {
      decoded.push_back(text[i]);
    }
  }
  return decoded;
}

// gRPC writes "ipv4:1.2.3.4:5", "ipv6:%5B::1%5D:5" and "unix:". A scope ("%25eth0") is not part of PeerOf's names.
std::string NameOf(absl::string_view connection) {
  if (absl::StartsWith(connection, kUnixPeer)) return kUnixPeer;
  if (!absl::ConsumePrefix(&connection, "ipv4:")) absl::ConsumePrefix(&connection, "ipv6:");
  std::string name = PercentDecoded(connection);
  const size_t scope = name.find('%'), end = name.find(']');
  if (scope < end && end != std::string::npos) name.erase(scope, end - scope);
  return name;
}

}  // namespace

bool OpenConnections::IsOpen(const Socket& socket) { return CookieOf(socket.file) == socket.cookie; }

void OpenConnections::Add(int socket) {
  const Socket added{.file = socket, .cookie = CookieOf(socket)};
  std::string peer = PeerOf(socket);
  if (peer.empty() || added.cookie == 0) return;
  MutexLock lock(mu_);
  if (num_sockets_ >= remove_at_) RemoveClosed();
  sockets_[std::move(peer)].push_back(added);
  ++num_sockets_;
}

bool OpenConnections::IsOpen(absl::string_view connection) const {
  const std::string name = NameOf(connection);
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
