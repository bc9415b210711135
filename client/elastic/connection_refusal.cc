#include "client/elastic/connection_refusal.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "distribute/cluster/address.h"

namespace weir {
namespace {

bool IsRefused(const addrinfo& to, absl::Duration timeout) {
  const int fd = socket(to.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  int error = connect(fd, to.ai_addr, to.ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    pollfd poller{.fd = fd, .events = POLLOUT, .revents = 0};
    socklen_t size = sizeof(error);
    if (poll(&poller, 1, static_cast<int>(absl::ToInt64Milliseconds(timeout))) == 1) {
      getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    }
  }
  close(fd);
  return error == ECONNREFUSED;
}

}  // namespace

bool RefusesConnections(const std::string& address, absl::Duration timeout) {
  const auto parsed = Address::Parse(address);
  if (!parsed.ok() || parsed->is_unix()) return false;
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(parsed->host().c_str(), absl::StrCat(parsed->port()).c_str(), &hints, &found) != 0) return false;
  bool refuses = found != nullptr;
  for (const addrinfo* each = found; each != nullptr && refuses; each = each->ai_next) {
    refuses = IsRefused(*each, timeout);
  }
  freeaddrinfo(found);
  return refuses;
}

}  // namespace weir
