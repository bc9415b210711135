#include "tools/service_notification.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "absl/cleanup/cleanup.h"

namespace weir {

absl::Status NotifyServiceManager(const std::string& socket_name, absl::string_view state) {
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  if (socket_name.size() < 2 || socket_name.size() >= sizeof(name.sun_path) ||
      (socket_name[0] != '/' && socket_name[0] != '@')) {
    return errors::InvalidArgument("NOTIFY_SOCKET='", socket_name.substr(0, sizeof(name.sun_path)),
                                   "' is not a path or '@' and a name");
  }
  std::memcpy(name.sun_path, socket_name.data(), socket_name.size());
  if (socket_name[0] == '@') name.sun_path[0] = '\0';
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errors::Unavailable("NOTIFY_SOCKET: ", std::strerror(errno));
  const absl::Cleanup close_fd = [fd] { close(fd); };
  const socklen_t size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_name.size());
  if (sendto(fd, state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&name), size) <
      0) {
    return errors::Unavailable("NOTIFY_SOCKET='", socket_name, "': ", std::strerror(errno));
  }
  return absl::OkStatus();
}

}  // namespace weir
