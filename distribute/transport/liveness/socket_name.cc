#include "distribute/transport/liveness/socket_name.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/files/remote/url_text.h"

namespace weir {
namespace {

constexpr char kUnixPeer[] = "unix";

std::string IPv4(const in_addr& address, in_port_t port) {
  char text[INET_ADDRSTRLEN] = {};
  inet_ntop(AF_INET, &address, text, sizeof(text));
  return absl::StrCat(text, ":", ntohs(port));
}

}  // namespace

std::string PeerOfSocket(int socket) {
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

// gRPC writes "ipv4:1.2.3.4:5", "ipv6:%5B::1%5D:5" and "unix:".
std::string PeerOfConnection(absl::string_view connection) {
  if (absl::StartsWith(connection, kUnixPeer)) return kUnixPeer;
  if (!absl::ConsumePrefix(&connection, "ipv4:")) absl::ConsumePrefix(&connection, "ipv6:");
  std::string name = PercentDecoded(connection, /*plus_is_space=*/false);
  const size_t scope = name.find('%'), end = name.find(']');
  if (scope < end && end != std::string::npos) name.erase(scope, end - scope);
  return name;
}

}  // namespace weir
