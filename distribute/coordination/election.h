// Elections: one leader among the candidates, with a fencing token.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "distribute/coordination/store.h"

namespace weir::coordination {

struct Leader {
  std::string key;
  std::string value;  // the value of its campaign
  // The fencing token; greater for later leaders.
  int64_t revision = 0;
};

// `name` is a key prefix with no other use. The first candidate leads until its lease is lost or it resigns. The key
// layout is that of etcd's elections, so that its tools can observe and take part.
class Election {
 public:
  Election(Store& store, std::string name) : store_(store), name_(std::move(name)) {}

  // Waits until the lease's holder leads, that is, until all earlier candidates are gone. One campaign per lease; the
  // lease's loss is FAILED_PRECONDITION. An error withdraws the campaign. A leader may learn late that it has lost its
  // lease, so its writes should be conditional on StillLeads.
  absl::StatusOr<Leader> Campaign(Lease& lease, const std::string& value, const CallOptions& options);
  // Gives up `leader`; no effect if it no longer leads.
  absl::Status Resign(const Leader& leader, const CallOptions& options);
  // NOT_FOUND if there is no leader.
  absl::StatusOr<Leader> Current(const CallOptions& options);

  static Condition StillLeads(const Leader& leader) { return Condition::CreatedAt(leader.key, leader.revision); }

 private:
  absl::StatusOr<Leader> Enter(const std::string& key, Lease& lease, const std::string& value,
                               const CallOptions& options);
  absl::Status AwaitTurn(const Leader& candidate, const CallOptions& options);

  Store& store_;
  const std::string name_;
};

// Reports the leaders of an election in order. For one thread at a time.
class LeaderObserver {
 public:
  LeaderObserver(Store& store, absl::string_view name) : store_(store), prefix_(absl::StrCat(name, "/")) {}

  // First returns the current leader; then waits for a change and returns the new leader, or nullopt if there is none.
  // Skips no leader unless the store was compacted meanwhile.
  absl::StatusOr<std::optional<Leader>> Next(const CallOptions& options);

 private:
  absl::Status Read(const CallOptions& options);
  absl::Status Follow(const CallOptions& options);
  std::optional<Leader> First() const;

  Store& store_;
  const std::string prefix_;
  std::map<int64_t, KeyValue> candidates_;  // by the revision at which they appeared
  std::vector<Event> events_;               // pending, last first
  std::unique_ptr<Watch> watch_;
  int64_t reported_ = -1;  // the revision of the last reported leader; 0: none; -1: nothing was reported
};

}  // namespace weir::coordination
