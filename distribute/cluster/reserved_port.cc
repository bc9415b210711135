#include "distribute/cluster/reserved_port.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace weir {
namespace {

absl::Status SystemError(absl::string_view call) {
  return errors::Unavailable("Cannot reserve a port: ", call, ": ", std::string(std::strerror(errno)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ReservedPort>> ReservedPort::Create(const std::string& host) {
  const addrinfo hints = {.ai_flags = AI_PASSIVE, .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found); error != 0) {
    return errors::InvalidArgument("Cannot reserve a port of ", host, ": ", gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> address(found, &freeaddrinfo);
  // The socket does not listen, so servers that set SO_REUSEADDR can bind its port explicitly.
  const int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return SystemError("socket");
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_storage name = {};
  socklen_t size = sizeof(name);
  if (bind(fd, address->ai_addr, address->ai_addrlen) != 0 ||
      getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size) != 0) {
    const absl::Status status = SystemError("bind");
    close(fd);
    return status;
  }
  const bool is_ipv6 = name.ss_family == AF_INET6;
  const in_port_t port = is_ipv6 ? reinterpret_cast<const sockaddr_in6*>(&name)->sin6_port
                                 : reinterpret_cast<const sockaddr_in*>(&name)->sin_port;
  const std::string shown = is_ipv6 && host.find(':') != std::string::npos ? absl::StrCat("[", host, "]") : host;
  return std::unique_ptr<ReservedPort>(new ReservedPort(fd, absl::StrCat(shown, ":", ntohs(port))));
}

ReservedPort::~ReservedPort() { close(fd_); }

}  // namespace weir
