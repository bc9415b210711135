#include "tools/http/http_server.h"

#include <atomic>
#include <future>
#include <list>
#include <stdexcept>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "core/testing.h"
#include "tools/http/http_client_testing.h"

namespace weir {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

// More than the system buffers.
constexpr size_t kHuge = 20 << 20;

HttpResponse Echo(const HttpRequest& request) {
  if (request.path == "/throw") throw std::runtime_error("no luck");
  if (request.path == "/large") return {.body = std::string(4 << 20, 'x')};
  if (request.path == "/huge") return {.body = std::string(kHuge, 'x')};
  if (request.path == "/none") return {.status = 404, .body = "nothing\n"};
  return {.body = absl::StrCat(request.method, " ", request.path), .headers = {{"X-Test", "yes"}}};
}

std::unique_ptr<HttpServer> StartServer(HttpServer::Options options = {}) {
  if (!options.handle) options.handle = Echo;
  auto server = HttpServer::Start(std::move(options));
  EXPECT_THAT(server.status(), IsOk());
  return *std::move(server);
}

std::string Send(const HttpServer& server, absl::string_view request) {
  HttpTestConnection connection(server.address());
  connection.Send(request);
  return connection.ReadAll();
}

TEST(HttpServerTest, AnswersGetAndHead) {
  const auto server = StartServer();
  const std::string answer = HttpGet(server->address(), "/a%20b?c=d");
  EXPECT_EQ(StatusOf(answer), 200);
  EXPECT_EQ(BodyOf(answer), "GET /a b");
  EXPECT_THAT(answer, HasSubstr("X-Test: yes\r\n"));
  EXPECT_THAT(answer, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(answer, HasSubstr("X-Content-Type-Options: nosniff\r\n"));
  const std::string head = Send(*server, "HEAD /a HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(StatusOf(head), 200);
  EXPECT_THAT(head, HasSubstr("Content-Length: 7\r\n"));
  EXPECT_EQ(BodyOf(head), "");
  EXPECT_EQ(StatusOf(HttpGet(server->address(), "/none")), 404);
  EXPECT_EQ(BodyOf(HttpGet(server->address(), "/large")).size(), 4 << 20);
}

TEST(HttpServerTest, RejectsOtherMethods) {
  const auto server = StartServer();
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"}) {
    const std::string answer = Send(*server, absl::StrCat(method, " / HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi"));
    EXPECT_EQ(StatusOf(answer), 405) << method;
    EXPECT_THAT(answer, HasSubstr("Allow: GET, HEAD\r\n")) << method;
  }
}

TEST(HttpServerTest, NonsenseIsABadRequest) {
  const auto server = StartServer();
  for (const std::string& request :
       {std::string("\r\n\r\n"), std::string("nonsense\r\n\r\n"), std::string("GET / HTTP/7.7\r\n\r\n"),
        std::string("GET\r\n\r\n"), std::string("\0\x01\x02\r\n\r\n", 7), std::string("BREW / HTTP/1.1\r\n\r\n"),
        absl::StrCat("GET /", std::string(10000, 'a'), " HTTP/1.1\r\n\r\n")}) {
    const int status = StatusOf(Send(*server, request));
    EXPECT_TRUE(status == 400 || status == 414) << request.substr(0, 20) << ": " << status;
  }
  EXPECT_EQ(BodyOf(HttpGet(server->address(), "/still")), "GET /still");
}

TEST(HttpServerTest, RangesAndEncodingsAreIgnored) {
  const auto server = StartServer();
  for (const char* header : {"Range: bytes=0-1,0-1,0-1,0-1", "Range: bytes=0-0", "Accept-Encoding: gzip, br"}) {
    const std::string answer = Send(*server, absl::StrCat("GET /abc HTTP/1.1\r\n", header, "\r\n\r\n"));
    EXPECT_EQ(StatusOf(answer), 200) << header;
    EXPECT_EQ(BodyOf(answer), "GET /abc") << header;
  }
}

TEST(HttpServerTest, OnALoopbackAddressOtherHostsNamesAreRejected) {
  const auto server = StartServer();
  const auto status = [&](const std::string& host) {
    return StatusOf(Send(*server, absl::StrCat("GET / HTTP/1.1\r\nHost: ", host, "\r\n\r\n")));
  };
  for (const char* host : {"localhost", "localhost:80", "127.0.0.1:9", "127.1.2.3", "[::1]", "[::1]:80"}) {
    EXPECT_EQ(status(host), 200) << host;
  }
  for (const char* host : {"example.com", "127.0.0.1.example.com:80", "10.0.0.1", "[::2]", "[", "unix:/x"}) {
    EXPECT_EQ(status(host), 403) << host;
  }
}

TEST(HttpServerTest, AnExceptionIsAnError) {
  const auto server = StartServer();
  const std::string answer = HttpGet(server->address(), "/throw");
  EXPECT_EQ(StatusOf(answer), 500);
  EXPECT_THAT(answer, HasSubstr("no luck"));
}

TEST(HttpServerTest, HugeHeadersAreRejected) {
  const auto server = StartServer();
  HttpTestConnection connection(server->address());
  // The connection may break before all is sent.
  connection.Send("GET / HTTP/1.1\r\n");
  for (int i = 0; i < 1000 && connection.Send(absl::StrCat("X-", i, ": ", std::string(1000, 'y'), "\r\n")); ++i) {
  }
  EXPECT_THAT(StatusOf(connection.ReadAll()), AnyOf(431, 0));
  // A request just over the limit arrives in one piece, so that the answer can be read.
  const std::string answer = Send(*server, absl::StrCat("GET / HTTP/1.1\r\nX: ", std::string(17 << 10, 'y')));
  EXPECT_EQ(StatusOf(answer), 431);
}

TEST(HttpServerTest, ABodyIsNotRead) {
  const auto server = StartServer();
  HttpTestConnection connection(server->address());
  connection.Send("POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n");
  connection.Send(std::string(500 << 10, 'z'));
  EXPECT_EQ(StatusOf(connection.ReadAll()), 405);
}

TEST(HttpServerTest, SlowRequestsEndAndKeepNobodyWaiting) {
  const auto server = StartServer({.timeout = absl::Milliseconds(300)});
  std::list<HttpTestConnection> silent, slow;
  for (int i = 0; i < 40; ++i) silent.emplace_back(server->address());
  for (int i = 0; i < 40; ++i) slow.emplace_back(server->address()).Send("GET / HT");
  // On a busy machine even these may be too slow.
  while (BodyOf(HttpGet(server->address(), "/now")) != "GET /now") {
  }
  const auto status_of_slow = [&server] {
    HttpTestConnection connection(server->address());
    connection.Send("GET / HT");
    return StatusOf(connection.ReadAll());
  };
  while (status_of_slow() != 408) {
  }
  for (HttpTestConnection& connection : slow) EXPECT_THAT(StatusOf(connection.ReadAll()), AnyOf(408, 0));
  for (HttpTestConnection& connection : silent) EXPECT_EQ(connection.ReadAll(), "");
}

TEST(HttpServerTest, ADrippingRequestEnds) {
  const auto server = StartServer({.timeout = absl::Milliseconds(300)});
  HttpTestConnection dripping(server->address());
  int sent = 0;
  while (dripping.Send("x")) {
    ++sent;
    absl::SleepFor(absl::Milliseconds(5));
    ASSERT_LT(sent, 15000);
  }
}

TEST(HttpServerTest, ANewConnectionReplacesTheOldestIdleOne) {
  const auto server = StartServer({.timeout = absl::Hours(1), .max_connections = 8});
  std::vector<HttpTestConnection> idle;
  for (int i = 0; i < 8; ++i) idle.emplace_back(server->address());
  for (int i = 0; i < 4; ++i) EXPECT_EQ(BodyOf(HttpGet(server->address(), "/new")), "GET /new");
  EXPECT_EQ(idle.front().ReadAll(), "");
}

TEST(HttpServerTest, TooManyRequestsAtOnceGetAnError) {
  absl::Notification may_end;
  std::atomic<int> begun{0};
  HttpMetrics metrics;
  HttpServer::Options options{.max_connections = 4, .metrics = &metrics};
  options.handle = [&](const HttpRequest&) {
    ++begun;
    may_end.WaitForNotification();
    return HttpResponse();
  };
  const auto server = StartServer(std::move(options));
  std::list<HttpTestConnection> waiting;
  // Four requests wait; the next connection is over the limit.
  while (metrics.answered.value() == 0) {
    waiting.emplace_back(server->address()).Send("GET / HTTP/1.1\r\n\r\n");
    std::this_thread::yield();
  }
  EXPECT_LE(begun.load(), 4);
  may_end.Notify();
  int rejected = 0;
  for (HttpTestConnection& connection : waiting) rejected += StatusOf(connection.ReadAll()) == 503 ? 1 : 0;
  EXPECT_GE(rejected, 1);
}

TEST(HttpServerTest, ClientsThatGoAwayAreForgotten) {
  const auto server = StartServer();
  for (int i = 0; i < 50; ++i) {
    HttpTestConnection asks(server->address()), leaves_early(server->address());
    asks.Send("GET /large HTTP/1.1\r\n\r\n");
    leaves_early.Send("GET /");
  }
  EXPECT_EQ(BodyOf(HttpGet(server->address(), "/later")), "GET /later");
}

TEST(HttpServerTest, AReaderThatDoesNotReadIsDropped) {
  HttpMetrics metrics;
  const auto server = StartServer({.timeout = absl::Milliseconds(300), .metrics = &metrics});
  std::list<HttpTestConnection> lazy;
  while (metrics.dropped.value() == 0) {
    if (lazy.size() < 3) lazy.emplace_back(server->address()).Send("GET /huge HTTP/1.1\r\n\r\n");
    absl::SleepFor(absl::Milliseconds(100));
  }
  EXPECT_LT(lazy.front().ReadAll().size(), kHuge);
}

TEST(HttpServerTest, AnswersThatWaitAreBounded) {
  const auto server = StartServer({.max_pending_bytes = 1 << 20});
  const std::string answer = HttpGet(server->address(), "/large");
  EXPECT_EQ(StatusOf(answer), 503);
  EXPECT_EQ(BodyOf(HttpGet(server->address(), "/small")), "GET /small");
}

TEST(HttpServerTest, ThousandsOfRequestsLeaveNothingBehind) {
  const auto server = StartServer();
  std::vector<std::future<int>> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::async(std::launch::async, [&server] {
      int good = 0;
      for (int request = 0; request < 500; ++request) good += StatusOf(HttpGet(server->address(), "/")) == 200 ? 1 : 0;
      return good;
    }));
  }
  for (auto& client : clients) EXPECT_EQ(client.get(), 500);
}

TEST(HttpServerTest, StopsWhileRequestsArePending) {
  auto server = StartServer();
  HttpTestConnection idle(server->address()), slow(server->address());
  slow.Send("GET / HTTP");
  server->Stop();
  EXPECT_EQ(idle.ReadAll(), "");
  EXPECT_EQ(slow.ReadAll(), "");
}

TEST(HttpServerTest, APortInUseIsAnError) {
  const auto server = StartServer();
  EXPECT_THAT(HttpServer::Start({.bind_address = server->address(), .handle = Echo}).status(),
              StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_THAT(HttpServer::Start({.bind_address = "nowhere", .handle = Echo}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace weir
