#include "tests/cluster/slow_proxy.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace weir {
namespace {

constexpr int kBufferBytes = 16 << 10;
constexpr absl::Duration kTick = absl::Milliseconds(20);

sockaddr_in Loopback(int port) {
  return {.sin_family = AF_INET, .sin_port = htons(static_cast<uint16_t>(port)), .sin_addr = {htonl(INADDR_LOOPBACK)}};
}

int NewSocket() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  for (const int option : {SO_SNDBUF, SO_RCVBUF}) {
    setsockopt(fd, SOL_SOCKET, option, &kBufferBytes, sizeof(kBufferBytes));  // accepted sockets inherit it
  }
  return fd;
}

bool SendAll(int fd, const char* bytes, ssize_t size) {
  while (size > 0) {
    const ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes += sent;
    size -= sent;
  }
  return true;
}

}  // namespace

absl::StatusOr<std::unique_ptr<SlowProxy>> SlowProxy::Listen() {
  const int listener = NewSocket();
  sockaddr_in name = Loopback(0);
  if (bind(listener, reinterpret_cast<sockaddr*>(&name), sizeof(name)) != 0 || listen(listener, SOMAXCONN) != 0) {
    close(listener);
    return errors::Unavailable("The proxy cannot listen");
  }
  std::unique_ptr<SlowProxy> proxy(new SlowProxy(listener));
  proxy->acceptor_ = std::thread([p = proxy.get()] { p->Accept(); });
  return proxy;
}

SlowProxy::~SlowProxy() {
  stopping_ = true;
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  std::list<std::thread> relays;
  {
    MutexLock lock(mu_);
    for (const int fd : sockets_) shutdown(fd, SHUT_RDWR);
    relays.swap(relays_);
  }
  for (std::thread& relay : relays) relay.join();
  MutexLock lock(mu_);
  for (const int fd : sockets_) close(fd);
  close(listener_);
}

std::string SlowProxy::address() const {
  sockaddr_in name = {};
  socklen_t size = sizeof(name);
  getsockname(listener_, reinterpret_cast<sockaddr*>(&name), &size);
  return absl::StrCat("127.0.0.1:", ntohs(name.sin_port));
}

void SlowProxy::RelayTo(int port) { port_ = port; }

void SlowProxy::Accept() {
  while (!stopping_) {
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) continue;
    const int server = NewSocket();
    const sockaddr_in name = Loopback(port_);
    const bool connected = connect(server, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0;
    MutexLock lock(mu_);
    sockets_.insert(sockets_.end(), {client, server});
    if (!connected) {
      shutdown(client, SHUT_RDWR);
      continue;
    }
    relays_.emplace_back([this, client, server] { Relay(client, server); });
    relays_.emplace_back([this, client, server] { Relay(server, client); });
  }
}

void SlowProxy::Relay(int from, int to) const {
  std::vector<char> buffer(kBufferBytes);
  while (!stopping_) {
    const auto allowed = std::min<int64_t>(kBufferBytes, rate_ * absl::ToInt64Milliseconds(kTick) / 1000);
    if (allowed < kBufferBytes) absl::SleepFor(kTick);
    if (allowed == 0) continue;
    const ssize_t received = recv(from, buffer.data(), allowed, 0);
    if (received <= 0 || !SendAll(to, buffer.data(), received)) break;
  }
  shutdown(from, SHUT_RDWR);
  shutdown(to, SHUT_RDWR);
}

}  // namespace weir
