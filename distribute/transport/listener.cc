#include "distribute/transport/listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "core/files/open_file_limit.h"
#include "core/logging.h"

namespace weir {
namespace {

// The most files that are reserved for other uses than connections.
constexpr rlim_t kReserve = 256;
constexpr int kAtOnce = 64;
constexpr int kTries = 16;
// The pause before accepting again if even those are used up.
constexpr int kPauseMillis = 100;
// A peer that does not answer is considered dead after about two minutes.
constexpr int kIdleSeconds = 60, kProbeSeconds = 10, kProbes = 6;

std::string Reason(int error) { return std::generic_category().message(error); }

absl::Status ListenError(const Address& address, int error) {
  const std::string message = absl::StrCat("Cannot listen on ", address.ToString(), ": ", Reason(error));
  if (error == EADDRINUSE) return errors::AlreadyExists(message, "; choose another port, or 0 for any");
  if (error == EACCES) return errors::PermissionDenied(message);
  if (error == EAGAIN) return errors::ResourceExhausted(message, "; the thread limit is reached");
  if (IsOpenFileLimit(error)) return errors::ResourceExhausted(message, ": ", OpenFileLimitReached());
  return errors::InvalidArgument(message);
}

absl::StatusOr<int> ListenOn(const Address& address, const sockaddr* name, socklen_t size) {
  const int fd = socket(name->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return ListenError(address, errno);
  if (!address.is_unix()) {
    const auto set = [fd](int level, int option, int value) {
      setsockopt(fd, level, option, &value, sizeof(value));  // accepted connections inherit it
    };
    set(SOL_SOCKET, SO_REUSEADDR, 1);  // a port in TIME_WAIT may be reused, one with a listener may not
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_NODELAY, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, kIdleSeconds);
    set(IPPROTO_TCP, TCP_KEEPINTVL, kProbeSeconds);
    set(IPPROTO_TCP, TCP_KEEPCNT, kProbes);
    if (name->sa_family == AF_INET6) set(IPPROTO_IPV6, IPV6_V6ONLY, 0);  // regardless of the system's setting
  }
  if (bind(fd, name, size) == 0 && listen(fd, SOMAXCONN) == 0) return fd;
  const int error = errno;
  close(fd);
  return ListenError(address, error);
}

int PortOf(int fd) {
  sockaddr_storage name = {};
  socklen_t size = sizeof(name);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size) != 0) return 0;
  return ntohs(name.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(name).sin6_port
                                          : reinterpret_cast<const sockaddr_in&>(name).sin_port);
}

void SetPort(int port, sockaddr* name) {
  (name->sa_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(name)->sin6_port
                               : reinterpret_cast<sockaddr_in*>(name)->sin_port) = htons(static_cast<uint16_t>(port));
}

// The system returns the lowest free number.
bool LeavesRoom(int fd) {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return true;
  return static_cast<rlim_t>(fd) + std::min(kReserve, limit.rlim_cur / 4) < limit.rlim_cur;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Listener>> Listener::Open(const Address& address) {
  std::unique_ptr<Listener> listener(new Listener(address));
  RETURN_IF_ERROR(address.is_unix() ? listener->OpenUnix() : listener->OpenInternet());
  return listener;
}

absl::Status Listener::OpenUnix() {
  sockaddr_un name = {.sun_family = AF_UNIX};
  address_.host().copy(name.sun_path, sizeof(name.sun_path) - 1);
  struct stat known;
  if (stat(name.sun_path, &known) == 0 && S_ISSOCK(known.st_mode)) {
    const int peer = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (peer < 0) return ListenError(address_, errno);
    const bool is_left_over =
        connect(peer, reinterpret_cast<sockaddr*>(&name), sizeof(name)) != 0 && errno == ECONNREFUSED;
    close(peer);
    if (!is_left_over) return ListenError(address_, EADDRINUSE);
    unlink(name.sun_path);
  }
  ASSIGN_OR_RETURN(const int fd, ListenOn(address_, reinterpret_cast<sockaddr*>(&name), sizeof(name)));
  sockets_.push_back(fd);
  return absl::OkStatus();
}

// Listens on IPv4 and IPv6 for "0.0.0.0", as gRPC does, if the machine has both.
absl::Status Listener::OpenInternet() {
  if (address_.host() == "0.0.0.0") {
    const absl::Status status = OpenHost("::");
    if (status.ok() || absl::IsAlreadyExists(status)) return status;
  }
  return OpenHost(address_.host());
}

absl::Status Listener::OpenHost(const std::string& host) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port = absl::StrCat(address_.port());
  if (const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); error != 0) {
    return errors::InvalidArgument("Cannot listen on ", address_.ToString(), ": ", std::string(gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  // The port that the system chose for the first address of a name may be taken on the second.
  absl::Status status;
  for (int i = 0; i < kTries; ++i) {
    status = ListenOnAll(*found);
    if (address_.port() != 0 || !absl::IsAlreadyExists(status)) break;
  }
  return status;
}

// A name may resolve to several addresses ("localhost": IPv4 and IPv6), of which the machine may lack some.
absl::Status Listener::ListenOnAll(const addrinfo& found) {
  absl::Status first_error;
  Address address = address_;
  std::vector<std::string> seen;
  for (const addrinfo* info = &found; info != nullptr; info = info->ai_next) {
    std::string name(reinterpret_cast<const char*>(info->ai_addr), info->ai_addrlen);
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) continue;
    seen.push_back(name);
    SetPort(address.port(), reinterpret_cast<sockaddr*>(name.data()));
    const auto fd = ListenOn(address, reinterpret_cast<const sockaddr*>(name.data()), info->ai_addrlen);
    if (absl::IsAlreadyExists(fd.status())) {
      CloseSockets();
      return fd.status();
    }
    first_error.Update(fd.status());
    if (!fd.ok()) continue;
    sockets_.push_back(*fd);
    address = address.WithPort(PortOf(*fd));
  }
  if (sockets_.empty()) return first_error;
  address_ = address;
  return absl::OkStatus();
}

void Listener::CloseSockets() {
  for (const int fd : sockets_) close(fd);
  sockets_.clear();
}

Listener::~Listener() {
  if (thread_.joinable()) {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(stop_, &one, sizeof(one));
    thread_.join();
  }
  if (address_.is_unix() && !sockets_.empty()) unlink(address_.host().c_str());
  CloseSockets();
  if (stop_ >= 0) close(stop_);
}

absl::Status Listener::Start(Handler handler) {
  handler_ = std::move(handler);
  stop_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (stop_ < 0) return ListenError(address_, errno);
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (const std::system_error& error) {
    return ListenError(address_, error.code().value());
  }
  return absl::OkStatus();
}

void Listener::Run() {
  std::vector<pollfd> files = {{.fd = stop_, .events = POLLIN}};
  for (const int fd : sockets_) files.push_back({.fd = fd, .events = POLLIN});
  while (true) {
    if (poll(files.data(), files.size(), -1) < 0) continue;
    if (files[0].revents != 0) return;
    for (const pollfd& file : files) {
      if (file.revents != 0) AcceptAll(file.fd);
    }
  }
}

void Listener::AcceptAll(int listener) {
  for (int i = 0; i < kAtOnce; ++i) {
    const int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (connection < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
      WEIR_LOG_EVERY(WARNING, absl::Seconds(10))
          << "connections wait to be accepted: " << Reason(errno)
          << (IsOpenFileLimit(errno) ? absl::StrCat(": ", OpenFileLimitReached()) : "");
      pollfd stop = {.fd = stop_, .events = POLLIN};
      poll(&stop, 1, kPauseMillis);
      return;
    }
    if (connection < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (connection < 0) return;
    if (!LeavesRoom(connection)) {
      WEIR_LOG_EVERY(WARNING, absl::Seconds(10))
          << "connections are closed, so that other work has files left: " << OpenFileLimitReached();
      close(connection);
      continue;
    }
    handler_(listener, connection);
  }
}

}  // namespace weir
