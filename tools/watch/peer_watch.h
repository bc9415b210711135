// The health of a task's peers.
#pragma once

#include <condition_variable>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "core/mutex.h"
#include "core/threads/cancellation.h"
#include "distribute/transport/worker_interface.h"
#include "tensorflow/core/protobuf/worker.pb.h"

namespace weir {

// Asks other tasks for their status and remembers what they answered. Thread-safe.
class PeerWatch {
 public:
  struct Options {
    std::vector<std::pair<std::string, std::string>> peers;  // task and address
    WorkerPool* workers = nullptr;                           // outlives this
    absl::Duration timeout = absl::Seconds(3);               // for an answer
  };
  enum class Health { kUnknown, kUp, kDown };
  struct Peer {
    std::string task, address;
    Health health = Health::kUnknown;
    uint64_t incarnation = 0;  // of its first device; 0 until it has answered
    absl::Time since;          // it is up or down
    uint64_t restarts = 0;
    uint64_t losses = 0;  // it was up and then did not answer, or had restarted
    std::string reason;   // why it is down
  };

  explicit PeerWatch(Options options);
  ~PeerWatch() { Stop(); }

  // Asks every peer whose answer is not awaited. Does not block.
  void Ask();
  // Asks if nobody has for `max_age`. Returns once all peers have answered or the timeout is over.
  void Refresh(absl::Duration max_age);
  std::vector<Peer> Peers() const;
  // Ends pending calls; later ones do nothing.
  void Stop();

 private:
  struct Question {
    tensorflow::GetStatusRequest request;
    tensorflow::GetStatusResponse response;
    std::shared_ptr<WorkerInterface> worker;
  };
  void AskOne(size_t peer);
  void Answered(size_t peer, const Question& question, const absl::Status& status);

  const Options options_;
  CancellationManager cancellation_;
  mutable Mutex mu_;
  std::condition_variable answered_;
  std::vector<Peer> peers_ GUARDED_BY(mu_);
  std::vector<bool> is_asked_ GUARDED_BY(mu_);  // by peer
  size_t pending_ GUARDED_BY(mu_) = 0;
  absl::Time last_asked_ GUARDED_BY(mu_) = absl::InfinitePast();
  bool stopped_ GUARDED_BY(mu_) = false;
};

}  // namespace weir
