#include "tools/http/http_server.h"

#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "core/clock.h"
#include "core/logging.h"
#include "core/threads/compute_pool.h"
#include "distribute/cluster/address.h"

namespace weir {
namespace {

constexpr int kHandlers = 2;
constexpr int kNice = 10;
constexpr size_t kMaxAccepted = 256;
// A client may still send a body that nobody reads; closing at once would make the system discard the answer.
constexpr size_t kMaxDiscarded = 1 << 20;
constexpr absl::Duration kDiscardFor = absl::Seconds(1);

// Scrapes must not take the processor from steps.
void LowerPriority() { setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kNice); }

bool IsComplete(const std::string& request) {
  return absl::StrContains(request, "\r\n\r\n") || absl::StrContains(request, "\n\n");
}

bool WouldBlock(ssize_t result) { return result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR); }

}  // namespace

struct HttpServer::Connection {
  enum class State { kReading, kHandling, kWriting, kDiscarding, kClosed };

  int socket = -1;
  State state = State::kReading;
  absl::Time deadline;
  std::string bytes;  // of the request, then of the answer
  size_t moved = 0;   // of the answer written, then of bytes discarded
};

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(Options options) {
  ASSIGN_OR_RETURN(const Address address, Address::Parse(options.bind_address));
  std::unique_ptr<HttpServer> server(new HttpServer(std::move(options)));
  server->parser_ = std::make_unique<HttpParser>(server->options_.handle, address.IsLoopback());
  ASSIGN_OR_RETURN(server->listener_, Listener::Open(address));
  server->address_ = server->listener_->address().ToString();
  RETURN_IF_ERROR(Annotate(server->StartThreads(), "HTTP server"));
  return server;
}

absl::Status HttpServer::StartThreads() {
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_ < 0) return errors::ResourceExhausted("Cannot create an eventfd: the limit of open files is reached");
  try {
    threads_.emplace_back([this] { Loop(); });
    for (int i = 0; i < kHandlers; ++i) threads_.emplace_back([this] { Handle(); });
  } catch (const std::system_error& error) {
    return errors::ResourceExhausted("Cannot create a thread: ", error.what());
  }
  return listener_->Start([this](int, int socket) { Accepted(socket); });
}

void HttpServer::Stop() {
  listener_.reset();
  {
    MutexLock lock(mu_);
    stopping_ = true;
  }
  work_.notify_all();
  Wake();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  std::vector<int> accepted;
  {
    MutexLock lock(mu_);
    accepted.swap(accepted_);
  }
  for (const int socket : accepted) close(socket);
  if (wake_ >= 0) close(std::exchange(wake_, -1));
}

void HttpServer::Wake() const {
  if (wake_ < 0) return;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof(one));
}

void HttpServer::Accepted(int socket) {
  {
    MutexLock lock(mu_);
    if (accepted_.size() < kMaxAccepted) {
      accepted_.push_back(socket);
      socket = -1;
    }
  }
  Wake();
  if (socket < 0) return;
  close(socket);
  CountDropped();
}

void HttpServer::Loop() {
  SetThreadName("weir-http");
  LowerPriority();
  std::vector<pollfd> files;
  while (true) {
    TakeAccepted();
    TakeAnswers();
    {
      MutexLock lock(mu_);
      if (stopping_) break;
    }
    Poll(&files);
    const absl::Time now = MonotonicNow();
    size_t i = 1;
    for (const auto& connection : connections_) Serve(connection, files[i++].revents, now);
    connections_.remove_if([](const auto& connection) { return connection->state == Connection::State::kClosed; });
  }
  for (const auto& connection : connections_) Close(connection.get());
}

void HttpServer::Poll(std::vector<pollfd>* files) const {
  files->assign(1, {.fd = wake_, .events = POLLIN});
  absl::Time next = MonotonicNow() + absl::Seconds(60);
  for (const auto& connection : connections_) {
    const bool is_handled = connection->state == Connection::State::kHandling;
    const bool is_written = connection->state == Connection::State::kWriting;
    // poll ignores a negative file. A connection whose request is handled shows its errors when it is written to.
    files->push_back(
        {.fd = is_handled ? -1 : connection->socket, .events = static_cast<short>(is_written ? POLLOUT : POLLIN)});
    if (!is_handled) next = std::min(next, connection->deadline);
  }
  const absl::Duration wait = std::max(next - MonotonicNow(), absl::ZeroDuration());
  poll(files->data(), files->size(), static_cast<int>(absl::ToInt64Milliseconds(wait)) + 1);
  uint64_t count;
  [[maybe_unused]] const ssize_t got = read(wake_, &count, sizeof(count));
}

void HttpServer::Serve(const std::shared_ptr<Connection>& connection, int events, absl::Time now) {
  const auto is_moving = [&] {
    return connection->state != Connection::State::kHandling && connection->state != Connection::State::kClosed;
  };
  if (events != 0 && is_moving()) Move(connection);
  // After the bytes that have come: a process that was suspended does not blame its clients.
  if (is_moving() && now >= connection->deadline) Expire(connection.get());
}

void HttpServer::Move(const std::shared_ptr<Connection>& connection) {
  switch (connection->state) {
    case Connection::State::kReading:
      return Read(connection);
    case Connection::State::kWriting:
      return Write(connection.get());
    case Connection::State::kDiscarding:
      return Discard(connection.get());
    case Connection::State::kHandling:
    case Connection::State::kClosed:
      return;
  }
}

void HttpServer::TakeAccepted() {
  std::vector<int> accepted;
  {
    MutexLock lock(mu_);
    accepted.swap(accepted_);
  }
  for (const int socket : accepted) {
    if (connections_.size() >= options_.max_connections) MakeRoom();
    auto connection = std::make_shared<Connection>();
    connection->socket = socket;
    connection->deadline = MonotonicNow() + options_.timeout;
    connections_.push_back(connection);
    if (connections_.size() > 2 * options_.max_connections) {
      CountDropped();
      Close(connection.get());
      connections_.pop_back();
    } else if (connections_.size() > options_.max_connections) {
      Begin(connection.get(), HttpParser::Format(503, "Too many connections; try again later"));
      Write(connection.get());
    }
  }
}

void HttpServer::MakeRoom() {
  // The oldest come first.
  const auto idle = std::find_if(connections_.begin(), connections_.end(), [](const auto& connection) {
    return connection->state == Connection::State::kReading || connection->state == Connection::State::kDiscarding;
  });
  if (idle == connections_.end()) return;
  if ((*idle)->state == Connection::State::kReading) CountDropped();
  Close(idle->get());
  connections_.erase(idle);
}

void HttpServer::TakeAnswers() {
  std::vector<std::shared_ptr<Connection>> answers;
  {
    MutexLock lock(mu_);
    answers.swap(answers_);
  }
  for (const auto& connection : answers) {
    Begin(connection.get(), std::move(connection->bytes));
    Write(connection.get());
  }
}

void HttpServer::Read(const std::shared_ptr<Connection>& connection) {
  char buffer[4096];
  const ssize_t got = recv(connection->socket, buffer, sizeof(buffer), 0);
  if (WouldBlock(got)) return;
  if (got <= 0) {
    if (!connection->bytes.empty()) CountDropped();
    return Close(connection.get());
  }
  connection->bytes.append(buffer, static_cast<size_t>(got));
  if (IsComplete(connection->bytes)) {
    connection->state = Connection::State::kHandling;
    MutexLock lock(mu_);
    requests_.push_back(connection);
    work_.notify_one();
  } else if (connection->bytes.size() > options_.max_request_bytes) {
    Begin(connection.get(),
          HttpParser::Format(431, absl::StrCat("The request's headers exceed ", options_.max_request_bytes, " bytes")));
  }
}

void HttpServer::Begin(Connection* connection, std::string answer) {
  if (pending_bytes_ + answer.size() > options_.max_pending_bytes) {
    answer = HttpParser::Format(503, "Too many answers wait to be read; try again later");
  }
  connection->bytes = std::move(answer);
  pending_bytes_ += connection->bytes.size();
  connection->moved = 0;
  connection->state = Connection::State::kWriting;
  connection->deadline = MonotonicNow() + options_.timeout;
}

void HttpServer::Write(Connection* connection) {
  const ssize_t sent = send(connection->socket, connection->bytes.data() + connection->moved,
                            connection->bytes.size() - connection->moved, MSG_NOSIGNAL);
  if (WouldBlock(sent)) return;
  if (sent < 0) {
    CountDropped();
    return Close(connection);
  }
  connection->moved += static_cast<size_t>(sent);
  if (connection->moved < connection->bytes.size()) return;
  if (options_.metrics != nullptr) options_.metrics->answered.Add();
  pending_bytes_ -= connection->bytes.size();
  connection->bytes = std::string();
  connection->moved = 0;
  connection->state = Connection::State::kDiscarding;
  connection->deadline = MonotonicNow() + kDiscardFor;
  shutdown(connection->socket, SHUT_WR);
}

void HttpServer::Discard(Connection* connection) {
  char buffer[4096];
  const ssize_t got = recv(connection->socket, buffer, sizeof(buffer), 0);
  if (WouldBlock(got)) return;
  if (got > 0) connection->moved += static_cast<size_t>(got);
  if (got <= 0 || connection->moved > kMaxDiscarded) Close(connection);
}

void HttpServer::Expire(Connection* connection) {
  if (connection->state == Connection::State::kReading && !connection->bytes.empty()) {
    Begin(connection, HttpParser::Format(408, "The request did not arrive in time"));
    return Write(connection);
  }
  if (connection->state == Connection::State::kWriting) CountDropped();
  Close(connection);
}

void HttpServer::Close(Connection* connection) {
  if (connection->state == Connection::State::kWriting) pending_bytes_ -= connection->bytes.size();
  close(connection->socket);
  connection->state = Connection::State::kClosed;
}

void HttpServer::Handle() {
  SetThreadName("weir-http-serve");
  LowerPriority();
  while (true) {
    std::shared_ptr<Connection> connection;
    {
      MutexLock lock(mu_);
      while (requests_.empty() && !stopping_) lock.Wait(work_);
      if (stopping_) return;
      connection = std::move(requests_.front());
      requests_.pop_front();
    }
    connection->bytes = parser_->Answer(connection->bytes);
    {
      MutexLock lock(mu_);
      answers_.push_back(std::move(connection));
    }
    Wake();
  }
}

}  // namespace weir
