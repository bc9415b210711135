#include "distribute/cluster/reserved_port.h"

#include <arpa/inet.h>
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

absl::StatusOr<std::unique_ptr<ReservedPort>> ReservedPort::Create() {
  // The socket does not listen, so servers that set SO_REUSEADDR can bind its port explicitly.
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return SystemError("socket");
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in name = {};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(name);
  if (bind(fd, reinterpret_cast<sockaddr*>(&name), size) != 0 ||
      getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size) != 0) {
    const absl::Status status = SystemError("bind");
    close(fd);
    return status;
  }
  return std::unique_ptr<ReservedPort>(new ReservedPort(fd, absl::StrCat("127.0.0.1:", ntohs(name.sin_port))));
}

ReservedPort::~ReservedPort() { close(fd_); }

}  // namespace weir
