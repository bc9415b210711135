// A client whose steps leave a record on two servers, which shows afterwards what became of each.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "client/session.h"
#include "core/status.h"

namespace weir::chaos {

struct LedgerCount {
  int64_t steps = 0;   // that succeeded
  int64_t failed = 0;  // that failed; the client then read what had become of them
  int64_t lost = 0, twice = 0, disordered = 0;
  int64_t late = 0;   // had not happened when the client read, and have now
  int64_t split = 0;  // happened on one server and not on the other

  bool IsClean() const { return lost + twice + disordered + late + split == 0; }
  std::string ToString() const;
  LedgerCount& operator+=(const LedgerCount& other);
};

// Steps all the time, on a thread of its own. Each step carries a new id, computed on a worker, to both parameter
// servers: it appends the id to the client's ledger there and adds it to a sum beside. After a failure the client reads
// both ledgers, until it gets an answer, and goes on with the next id.
class LedgerClient {
 public:
  struct Options {
    std::string target;  // of the master
    int client = 0;      // unique
    int worker = 0;      // computes the steps
    int servers = 2;
  };
  // Returns when the ledgers are empty on the servers.
  static absl::StatusOr<std::unique_ptr<LedgerClient>> Start(const Options& options);
  ~LedgerClient();
  LedgerClient(const LedgerClient&) = delete;

  int64_t steps() const { return steps_; }
  int64_t failures() const { return failures_; }
  // The longest time between the ends of two successive steps that succeeded since the last call.
  absl::Duration TakeLongestPause() { return absl::Nanoseconds(longest_nanos_.exchange(0)); }
  // Ends the steps and compares the ledgers with what the client saw; says on the standard error what differs. An error
  // if the ledgers cannot be read within a minute.
  absl::StatusOr<LedgerCount> Finish();

 private:
  enum class Outcome : char { kMade, kAbsent };
  struct Server {
    Output entries, sum;
  };

  LedgerClient() = default;
  absl::Status Build(const Options& options);
  void Run();
  // The ledgers of all servers. Asks until they answer or `stop` is set; not after a minute.
  absl::StatusOr<std::vector<std::vector<int64_t>>> Read();
  void Stop();

  Scope scope_ = Scope::NewRoot();
  Output id_;
  Operation step_, initialize_;
  std::vector<Server> servers_;
  std::string name_;
  std::unique_ptr<Session> session_;

  std::atomic<bool> stopped_{false};
  std::atomic<int64_t> steps_{0}, failures_{0}, longest_nanos_{0};
  // Of the thread until it has ended.
  std::vector<Outcome> outcomes_;  // of ids 1, 2, …
  LedgerCount count_;
  absl::Status error_;
  std::thread thread_;
};

// Returns once the client has made so many more steps; an error after `patience`.
absl::Status AwaitSteps(const LedgerClient& client, int64_t steps, absl::Duration patience);
// The longest of the clients' TakeLongestPause.
absl::Duration TakeLongestPause(const std::vector<std::unique_ptr<LedgerClient>>& clients);

}  // namespace weir::chaos
