#include "core/files/remote/scripted_server_testing.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace weir {
namespace {

bool SendAll(int socket, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(sent);
  }
  return true;
}

// The next request of the connection; `rest` has bytes that came after it.
std::optional<ScriptedServer::Request> Receive(int socket, std::string* rest) {
  const auto more = [&] {
    char piece[64 << 10];
    const ssize_t received = recv(socket, piece, sizeof(piece), 0);
    if (received > 0) rest->append(piece, received);
    return received > 0;
  };
  size_t head = 0;
  while ((head = rest->find("\r\n\r\n")) == std::string::npos) {
    if (!more()) return std::nullopt;
  }
  ScriptedServer::Request request;
  const std::vector<std::string> lines = absl::StrSplit(rest->substr(0, head), "\r\n");
  const std::vector<std::string> words = absl::StrSplit(lines[0], ' ');
  if (words.size() < 2) return std::nullopt;
  request.method = words[0];
  request.target = words[1];
  for (const std::string& line : lines) {
    const size_t colon = line.find(": ");
    if (colon != std::string::npos)
      request.headers[absl::AsciiStrToLower(line.substr(0, colon))] = line.substr(colon + 2);
  }
  size_t size = 0;
  if (request.headers.count("content-length") > 0 && !absl::SimpleAtoi(request.headers["content-length"], &size)) {
    return std::nullopt;
  }
  rest->erase(0, head + 4);
  while (rest->size() < size) {
    if (!more()) return std::nullopt;
  }
  request.body = rest->substr(0, size);
  rest->erase(0, size);
  return request;
}

}  // namespace

ScriptedServer::ScriptedServer(Script script) : script_(std::move(script)) {
  setenv("no_proxy", "127.0.0.1", 1);  // whatever proxy the machine uses
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(listen(listener_, 64), 0);
  EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { Accept(); });
}

ScriptedServer::~ScriptedServer() {
  std::vector<std::thread> threads;
  {
    MutexLock lock(mu_);
    stopped_ = true;
    for (int socket : sockets_) shutdown(socket, SHUT_RDWR);
  }
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  {
    MutexLock lock(mu_);
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
  close(listener_);
}

std::string ScriptedServer::url() const { return absl::StrCat("http://127.0.0.1:", port_); }

std::vector<std::string> ScriptedServer::requests() const {
  MutexLock lock(mu_);
  return requests_;
}

std::string ScriptedServer::Text(int status, absl::string_view body, absl::string_view headers) {
  return absl::StrCat("HTTP/1.1 ", status, " Status\r\nContent-Length: ", body.size(), "\r\n", headers, "\r\n", body);
}

void ScriptedServer::Accept() {
  for (;;) {
    const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    MutexLock lock(mu_);
    if (stopped_ || socket < 0) {
      if (socket >= 0) close(socket);
      return;
    }
    sockets_.push_back(socket);
    threads_.emplace_back([this, socket] { Serve(socket); });
  }
}

void ScriptedServer::Serve(int socket) {
  std::string rest;
  for (Then then = Then::kGoOn; then == Then::kGoOn;) {
    const std::optional<Request> request = Receive(socket, &rest);
    if (!request.has_value()) break;
    {
      MutexLock lock(mu_);
      requests_.push_back(absl::StrCat(request->method, " ", request->target));
    }
    const Reply reply = script_(*request);
    then = SendAll(socket, reply.bytes) ? reply.then : Then::kClose;
    while (then == Then::kRepeat && SendAll(socket, reply.bytes)) continue;
    if (then == Then::kReset) {
      const linger now = {.l_onoff = 1, .l_linger = 0};
      setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    }
    char ignored;
    while (then == Then::kHang && recv(socket, &ignored, 1, 0) > 0) continue;
  }
  MutexLock lock(mu_);
  sockets_.erase(std::find(sockets_.begin(), sockets_.end(), socket));
  close(socket);
}

}  // namespace weir
