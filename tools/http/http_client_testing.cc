#include "tools/http/http_client_testing.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "distribute/cluster/address.h"

namespace weir {

HttpTestConnection::HttpTestConnection(const std::string& address) {
  const auto parsed = Address::Parse(address);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in name = {};
  name.sin_family = AF_INET;
  name.sin_port = htons(static_cast<uint16_t>(parsed.ok() ? parsed->port() : 0));
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval patience = {.tv_sec = 60};
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  if (connect(socket_, reinterpret_cast<sockaddr*>(&name), sizeof(name)) != 0) Close();
}

HttpTestConnection::~HttpTestConnection() { Close(); }

HttpTestConnection::HttpTestConnection(HttpTestConnection&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)) {}

bool HttpTestConnection::Send(absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

std::string HttpTestConnection::ReadAll() {
  std::string all;
  char buffer[4096];
  while (true) {
    const ssize_t got = recv(socket_, buffer, sizeof(buffer), 0);
    if (got <= 0) return all;
    all.append(buffer, static_cast<size_t>(got));
  }
}

void HttpTestConnection::Close() {
  if (socket_ >= 0) close(std::exchange(socket_, -1));
}

std::string HttpGet(const std::string& address, const std::string& path) {
  HttpTestConnection connection(address);
  connection.Send(absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: ", address, "\r\n\r\n"));
  return connection.ReadAll();
}

std::string BodyOf(const std::string& answer) {
  const size_t end = answer.find("\r\n\r\n");
  return end == std::string::npos ? "" : answer.substr(end + 4);
}

int StatusOf(const std::string& answer) {
  absl::string_view text = answer;
  int status = 0;
  return absl::ConsumePrefix(&text, "HTTP/1.1 ") && absl::SimpleAtoi(text.substr(0, 3), &status) ? status : 0;
}

}  // namespace weir
