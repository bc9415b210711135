// The health of a task's peers.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
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
    // Task and address of each peer. They may change.
    std::function<std::vector<std::pair<std::string, std::string>>()> peers;
    WorkerPool* workers = nullptr;              // outlives this
    absl::Duration timeout = absl::Seconds(3);  // for an answer
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
    std::string task, address;
    tensorflow::GetStatusRequest request;
    tensorflow::GetStatusResponse response;
    std::shared_ptr<WorkerInterface> worker;
  };
  // Forgets peers that are gone, and adds new ones.
  void Update() REQUIRES(mu_);
  Peer* Find(const std::string& task, const std::string& address) REQUIRES(mu_);
  void AskOne(const std::shared_ptr<Question>& question);
  void Answered(const Question& question, const absl::Status& status);

  const Options options_;
  CancellationManager cancellation_;
  mutable Mutex mu_;
  std::condition_variable answered_;
  std::vector<Peer> peers_ GUARDED_BY(mu_);
  absl::flat_hash_set<std::string> asked_ GUARDED_BY(mu_);  // tasks whose answer is awaited
  size_t pending_ GUARDED_BY(mu_) = 0;
  absl::Time last_asked_ GUARDED_BY(mu_) = absl::InfinitePast();
  bool stopped_ GUARDED_BY(mu_) = false;
};

}  // namespace weir
