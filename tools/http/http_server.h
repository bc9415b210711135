// A small HTTP server for a task's status.
#pragma once

#include <poll.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "core/metrics/counter.h"
#include "core/mutex.h"
#include "core/status.h"
#include "distribute/transport/listener.h"
#include "tools/http/http_message.h"
#include "tools/http/http_parser.h"

namespace weir {

// Thread-safe.
struct HttpMetrics {
  EventCounter answered;  // requests
  EventCounter dropped;   // connections that were closed although a request or its answer was under way
};

// Answers GET and HEAD; each connection carries one request (tools/http/http_parser.h). Thread-safe.
// - One thread accepts, one moves bytes of all connections, and a few run `handle`. They have a low priority.
// - Slow, idle and huge requests occupy none of the handlers: a request is handled once it is complete, and has
//   `timeout` to arrive. Peers that do not read their answer are dropped after the same time.
// - Memory is bounded: by max_connections, max_request_bytes, and max_pending_bytes of answers.
// - If there are too many connections, the one whose request has been incomplete for longest is closed for a new one.
class HttpServer {
 public:
  struct Options {
    std::string bind_address = "127.0.0.1:0";  // port 0: the system chooses
    HttpParser::Handler handle;                // may block for a moment
    absl::Duration timeout = absl::Seconds(10);
    size_t max_connections = 128;
    size_t max_request_bytes = 16 << 10;
    size_t max_pending_bytes = 64 << 20;
    HttpMetrics* metrics = nullptr;  // outlives the server; null: nothing is counted
  };

  // The listener's errors: AlreadyExists for a port in use. ResourceExhausted if there are no threads.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(Options options);
  ~HttpServer() { Stop(); }
  HttpServer(const HttpServer&) = delete;

  // As bound, "127.0.0.1:9090".
  const std::string& address() const { return address_; }

  // Closes all connections and waits for handlers. Later calls do nothing.
  void Stop();

 private:
  struct Connection;
  using Connections = std::list<std::shared_ptr<Connection>>;

  explicit HttpServer(Options options) : options_(std::move(options)) {}
  absl::Status StartThreads();
  void Accepted(int socket);
  void Wake() const;
  // The thread that moves bytes.
  void Loop();
  void TakeAccepted();
  void TakeAnswers();
  void MakeRoom();
  void Poll(std::vector<pollfd>* files) const;
  void Serve(const std::shared_ptr<Connection>& connection, int events, absl::Time now);
  void Move(const std::shared_ptr<Connection>& connection);
  void Read(const std::shared_ptr<Connection>& connection);
  void Begin(Connection* connection, std::string answer);
  void Write(Connection* connection);
  void Discard(Connection* connection);
  void Expire(Connection* connection);
  void Close(Connection* connection);
  void CountDropped() const {
    if (options_.metrics != nullptr) options_.metrics->dropped.Add();
  }
  // A thread that runs `handle`.
  void Handle();

  const Options options_;
  std::string address_;
  std::unique_ptr<HttpParser> parser_;
  std::unique_ptr<Listener> listener_;
  int wake_ = -1;  // an eventfd

  // For the loop's thread.
  Connections connections_;
  size_t pending_bytes_ = 0;

  Mutex mu_;
  std::condition_variable work_;
  bool stopping_ GUARDED_BY(mu_) = false;
  std::vector<int> accepted_ GUARDED_BY(mu_);
  std::deque<std::shared_ptr<Connection>> requests_ GUARDED_BY(mu_);
  std::vector<std::shared_ptr<Connection>> answers_ GUARDED_BY(mu_);
  std::vector<std::thread> threads_;
};

}  // namespace weir
