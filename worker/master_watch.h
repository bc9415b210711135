// Detects that the master of a worker's session is gone.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/mutex.h"
#include "core/threads/cancellation.h"
#include "distribute/transport/worker_interface.h"

namespace weir {

// Asks the masters of open sessions for their status. Owns one thread.
// - A master is gone if its task answers with another incarnation, or does not answer for the time of the lease, nor
//   to at least two questions in a row.
// - Masters that `find` does not find, such as those of other clusters, are not watched.
// - Destruction cancels the calls under way and waits for them.
class MasterWatch {
 public:
  static constexpr absl::Duration kDefaultLease = absl::Minutes(2);

  struct Master {
    std::string task;
    uint64_t incarnation = 0;  // of one of the task's devices; 0: unknown
    friend bool operator==(const Master&, const Master&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Master& master) {
      return H::combine(std::move(h), master.task, master.incarnation);
    }
  };
  struct Options {
    absl::Duration lease = kDefaultLease;
    std::function<absl::StatusOr<std::shared_ptr<WorkerInterface>>(absl::string_view task)> find;
    std::function<std::vector<Master>()> masters;
    // Runs on the thread that brings the answer; `reason` is a clause.
    std::function<void(const Master& master, const std::string& reason)> gone;
  };

  explicit MasterWatch(Options options);
  ~MasterWatch();
  MasterWatch(const MasterWatch&) = delete;

 private:
  struct Question;
  void Loop();
  void AskAll();
  void Ask(const Master& master);
  // Empty: it is not gone.
  std::string Judge(const Question& question, const absl::Status& status);

  const Options options_;
  CancellationManager cancellation_;
  Mutex mu_;
  std::condition_variable changed_;
  bool stopping_ GUARDED_BY(mu_) = false;
  struct Contact {
    absl::Time last_answer;  // or when it was first asked
    int failures = 0;        // questions since then that were not answered
  };
  absl::flat_hash_map<Master, Contact> contacts_ GUARDED_BY(mu_);
  absl::flat_hash_set<Master> asked_ GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace weir
