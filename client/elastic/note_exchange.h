// The notes of the workers of a training, read by one of them.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "core/mutex.h"
#include "core/threads/cancellation.h"
#include "distribute/membership/cluster_view.h"
#include "distribute/membership/regrouping.h"

namespace weir {

// Puts this worker's note at its own task, and reads those of all others again and again. Thread-safe. Owns a thread,
// and one for each other task.
class NoteExchange {
 public:
  struct Options {
    std::string training;
    std::string address;            // of this worker's server
    std::string task;               // its name
    std::vector<std::string> jobs;  // whose tasks train
    // A task that does not answer for this long is lost. Time in which this process itself was suspended does not
    // count.
    absl::Duration hang_timeout = absl::Seconds(5);
    // Called, with no lock held, when something has changed.
    std::function<void()> on_change;
  };

  explicit NoteExchange(Options options);
  ~NoteExchange();

  void Publish(TrainingNote note);
  RegroupPeers Peers() const;
  // Of what is known now nothing counts until it has been read again.
  void Doubt();
  // Reads every few milliseconds instead of some tens.
  void SetUrgent(bool urgent);
  // Whether this task drains, or is removed.
  bool draining() const;
  // Waits until the note that was published last is at the task; gives up after `timeout`.
  void AwaitPublished(absl::Duration timeout);

 private:
  struct Peer {
    std::string address;
    RegroupPeer known;
    uint64_t doubt = 0;  // of the last doubt when it was read
    std::thread thread;
    std::unique_ptr<CancellationManager> cancellation;
  };

  void Home();
  void ReadPeer(std::string task, std::string address, CancellationManager* cancellation);
  void Learn(const std::string& task, RegroupPeer known, uint64_t doubt);
  // Peers follow the view of the cluster.
  void Follow(const ClusterView& view);
  void Sleep(absl::Duration duration, CancellationManager* cancellation);

  const Options options_;
  mutable Mutex mu_;
  std::condition_variable changed_;
  TrainingNote note_ GUARDED_BY(mu_);
  int64_t published_ GUARDED_BY(mu_) = 0, put_ GUARDED_BY(mu_) = 0;
  bool urgent_ GUARDED_BY(mu_) = true;
  bool draining_ GUARDED_BY(mu_) = false;
  bool has_view_ GUARDED_BY(mu_) = false;
  bool stopping_ GUARDED_BY(mu_) = false;
  uint64_t doubts_ GUARDED_BY(mu_) = 1;
  std::map<std::string, std::unique_ptr<Peer>> peers_ GUARDED_BY(mu_);
  std::set<std::string> gone_ GUARDED_BY(mu_);  // tasks that have left the cluster
  CancellationManager cancellation_;
  std::thread home_;
};

}  // namespace weir
