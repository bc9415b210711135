#include "distribute/collective/gpu/simulated_gpu_hub.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "core/random_bits.h"
#include "distribute/collective/gpu/simulated_group.h"

namespace weir {
namespace {

constexpr int kMaxRanks = 1 << 10;
constexpr uint64_t kMaxMessage = uint64_t{1} << 34;
// How long a rank may pause within a message before it fails.
constexpr timeval kPatience = {.tv_sec = 10};

struct Header {
  HubMessage::Kind kind;
  uint64_t length;
};

absl::Status SystemError(absl::string_view what) {
  return errors::Unavailable(what, " of simulated GPUs: ", std::strerror(errno));
}

// An abstract socket name: the kernel releases it with the socket.
sockaddr_un AddressOf(const GpuCollectiveId& id, socklen_t* length) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const size_t name = std::min(strnlen(id.bytes.data(), id.bytes.size()), sizeof(address.sun_path) - 1);
  std::memcpy(address.sun_path + 1, id.bytes.data(), name);
  *length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name);
  return address;
}

absl::StatusOr<HostSocket> NewSocket() {
  HostSocket socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.fd() < 0) return SystemError("a socket");
  return socket;
}

absl::Status WriteAll(const HostSocket& socket, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t sent = ::send(socket.fd(), data, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return SystemError("writing to a peer");
    data += sent;
    size -= sent;
  }
  return absl::OkStatus();
}

absl::Status ReadAll(const HostSocket& socket, char* data, size_t size) {
  while (size > 0) {
    const ssize_t got = ::recv(socket.fd(), data, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) return errors::Unavailable("a peer of simulated GPUs has gone");
    if (got < 0) return SystemError("reading from a peer");
    data += got;
    size -= got;
  }
  return absl::OkStatus();
}

}  // namespace

HostSocket::~HostSocket() {
  if (fd_ >= 0) ::close(fd_);
}

void HostSocket::Shutdown() const { ::shutdown(fd_, SHUT_RDWR); }

absl::StatusOr<HostSocket> ConnectToHub(const GpuCollectiveId& id) {
  ASSIGN_OR_RETURN(HostSocket socket, NewSocket());
  socklen_t length;
  const sockaddr_un address = AddressOf(id, &length);
  if (::connect(socket.fd(), reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    return SystemError("connecting to the first rank");
  }
  return socket;
}

absl::Status WriteMessage(const HostSocket& socket, HubMessage::Kind kind, absl::string_view payload) {
  const Header header{kind, payload.size()};
  RETURN_IF_ERROR(WriteAll(socket, reinterpret_cast<const char*>(&header), sizeof(header)));
  return WriteAll(socket, payload.data(), payload.size());
}

absl::StatusOr<HubMessage> ReadMessage(const HostSocket& socket) {
  Header header;
  RETURN_IF_ERROR(ReadAll(socket, reinterpret_cast<char*>(&header), sizeof(header)));
  if (header.length > kMaxMessage) return errors::Unavailable("a peer of simulated GPUs sent a malformed message");
  HubMessage message{header.kind, std::string(header.length, '\0')};
  RETURN_IF_ERROR(ReadAll(socket, message.payload.data(), message.payload.size()));
  return message;
}

absl::StatusOr<std::unique_ptr<SimulatedGpuHub>> SimulatedGpuHub::Create() {
  GpuCollectiveId id;
  const std::string name = absl::StrCat("weir-simulated-gpus-", absl::Hex(RandomBits(), absl::kZeroPad16));
  std::memcpy(id.bytes.data(), name.data(), name.size());
  ASSIGN_OR_RETURN(HostSocket listener, NewSocket());
  socklen_t length;
  const sockaddr_un address = AddressOf(id, &length);
  if (::bind(listener.fd(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      ::listen(listener.fd(), kMaxRanks) != 0) {
    return SystemError("listening for ranks");
  }
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return SystemError("a pair of sockets");
  return std::unique_ptr<SimulatedGpuHub>(
      new SimulatedGpuHub(id, std::move(listener), HostSocket(ends[0]), HostSocket(ends[1])));
}

SimulatedGpuHub::SimulatedGpuHub(GpuCollectiveId id, HostSocket listener, HostSocket stop, HostSocket stopped)
    : id_(id), listener_(std::move(listener)), stop_(std::move(stop)), stopped_(std::move(stopped)) {
  thread_ = std::thread([this] { Run(); });
}

SimulatedGpuHub::~SimulatedGpuHub() {
  stop_.Shutdown();
  thread_.join();
}

void SimulatedGpuHub::Run() {
  absl::Status status;
  while (status.ok()) status = Next();
  for (const auto& rank : ranks_) {
    if (rank) WriteMessage(rank->socket, HubMessage::Kind::kFailure, status.message()).IgnoreError();
  }
  ranks_.clear();
  listener_ = HostSocket();  // later connections are rejected
}

bool SimulatedGpuHub::IsComplete() const {
  return !ranks_.empty() &&
         std::all_of(ranks_.begin(), ranks_.end(), [](const auto& rank) { return rank.has_value(); });
}

absl::Status SimulatedGpuHub::Accept() {
  Rank rank{.socket = HostSocket(::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC))};
  if (rank.socket.fd() < 0) return SystemError("accepting a rank");
  for (const int limit : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    ::setsockopt(rank.socket.fd(), SOL_SOCKET, limit, &kPatience, sizeof(kPatience));
  }
  ASSIGN_OR_RETURN(const HubMessage message, ReadMessage(rank.socket));
  HubHello hello;
  if (message.kind != HubMessage::Kind::kHello || message.payload.size() != sizeof(hello)) {
    return errors::InvalidArgument("a rank of simulated GPUs did not identify itself");
  }
  std::memcpy(&hello, message.payload.data(), sizeof(hello));
  if (ranks_.empty() && hello.size > 0 && hello.size <= kMaxRanks) ranks_.resize(hello.size);
  if (hello.size != ranks_.size() || hello.rank < 0 || hello.rank >= hello.size || ranks_[hello.rank]) {
    return errors::InvalidArgument("rank ", hello.rank, " of ", hello.size, " does not belong to these ", ranks_.size(),
                                   " simulated GPUs");
  }
  ranks_[hello.rank] = std::move(rank);
  if (!IsComplete()) return absl::OkStatus();
  for (const auto& known : ranks_) RETURN_IF_ERROR(WriteMessage(known->socket, HubMessage::Kind::kWelcome, ""));
  return absl::OkStatus();
}

absl::Status SimulatedGpuHub::TakeFrom(int rank) {
  absl::StatusOr<HubMessage> message = ReadMessage(ranks_[rank]->socket);
  if (!message.ok()) {
    ranks_[rank].reset();
    return errors::Unavailable("rank ", rank, " of ", ranks_.size(), " simulated GPUs has gone");
  }
  ranks_[rank]->group = std::move(message->payload);
  ranks_[rank]->has_group = true;
  std::vector<std::string> groups;
  for (const auto& other : ranks_) {
    if (!other || !other->has_group) return absl::OkStatus();
  }
  for (auto& other : ranks_) {
    groups.push_back(std::move(other->group));
    other->has_group = false;
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> results, RunGroups(groups));
  for (size_t i = 0; i < ranks_.size(); ++i) {
    RETURN_IF_ERROR(WriteMessage(ranks_[i]->socket, HubMessage::Kind::kResult, results[i]));
  }
  return absl::OkStatus();
}

absl::Status SimulatedGpuHub::Next() {
  std::vector<pollfd> polled = {{.fd = stopped_.fd(), .events = POLLIN}, {.fd = listener_.fd(), .events = POLLIN}};
  std::vector<int> of_rank;
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (!ranks_[rank]) continue;
    // A rank that has sent its group is only checked for a hang-up.
    const short events = ranks_[rank]->has_group ? POLLRDHUP : POLLIN | POLLRDHUP;
    polled.push_back({.fd = ranks_[rank]->socket.fd(), .events = events});
    of_rank.push_back(static_cast<int>(rank));
  }
  if (::poll(polled.data(), polled.size(), -1) < 0) {
    return errno == EINTR ? absl::OkStatus() : SystemError("waiting for ranks");
  }
  if (polled[0].revents != 0) return errors::Unavailable("rank 0 of these simulated GPUs has gone");
  if (polled[1].revents != 0) return Accept();
  for (size_t i = 0; i < of_rank.size(); ++i) {
    const short events = polled[i + 2].revents;
    if (events == 0) continue;
    if ((events & POLLIN) == 0 || ranks_[of_rank[i]]->has_group) {
      ranks_[of_rank[i]].reset();
      return errors::Unavailable("rank ", of_rank[i], " of ", ranks_.size(), " simulated GPUs has gone");
    }
    return TakeFrom(of_rank[i]);
  }
  return absl::OkStatus();
}

}  // namespace weir
