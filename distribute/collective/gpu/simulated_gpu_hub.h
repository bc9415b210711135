// The hub that connects simulated GPUs of one or several processes on a host. For the simulated_*.cc files only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/status.h"
#include "distribute/collective/gpu/gpu_collective_library.h"

namespace weir {

// A stream socket on this host, closed on destruction.
class HostSocket {
 public:
  HostSocket() = default;
  explicit HostSocket(int fd) : fd_(fd) {}
  HostSocket(HostSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  HostSocket& operator=(HostSocket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~HostSocket();

  int fd() const { return fd_; }
  // Makes all further reads and writes fail. May be called from any thread.
  void Shutdown() const;

 private:
  int fd_ = -1;
};

// A message between a rank and the hub.
struct HubMessage {
  enum class Kind : uint32_t { kHello, kWelcome, kGroup, kResult, kFailure };
  Kind kind = Kind::kHello;
  std::string payload;  // for kFailure: the reason
};
struct HubHello {
  int32_t rank = 0, size = 0;
};

absl::StatusOr<HostSocket> ConnectToHub(const GpuCollectiveId& id);
// Both block. UNAVAILABLE if the other end has closed.
absl::Status WriteMessage(const HostSocket& socket, HubMessage::Kind kind, absl::string_view payload);
absl::StatusOr<HubMessage> ReadMessage(const HostSocket& socket);

// The ranks of one id. Its thread collects their groups and sends the outputs. If a rank disconnects, or groups do not
// match, the hub ends and sends the reason to the other ranks.
class SimulatedGpuHub {
 public:
  static absl::StatusOr<std::unique_ptr<SimulatedGpuHub>> Create();
  ~SimulatedGpuHub();

  const GpuCollectiveId& id() const { return id_; }

 private:
  struct Rank {
    HostSocket socket;
    std::string group;
    bool has_group = false;
  };

  SimulatedGpuHub(GpuCollectiveId id, HostSocket listener, HostSocket stop, HostSocket stopped);
  void Run();
  absl::Status Accept();
  absl::Status TakeFrom(int rank);
  // Waits for the next rank or the next message.
  absl::Status Next();
  bool IsComplete() const;

  const GpuCollectiveId id_;
  HostSocket listener_, stop_, stopped_;
  std::vector<std::optional<Rank>> ranks_;
  std::thread thread_;
};

}  // namespace weir
