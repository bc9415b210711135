// One leader among those that campaign, and what proves it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "distribute/coordination/store.h"

namespace weir::coordination {

struct Leader {
  std::string key;
  std::string value;  // what it campaigned with
  // The fencing token: of two leaders, the later one's is greater.
  int64_t revision = 0;
};

// `name` is a prefix of keys that nothing else uses. Who came first leads, until its lease is lost or it resigns.
// Keys are laid out as those of etcd's own elections, so that its tools may look and take part.
class Election {
 public:
  Election(Store& store, std::string name) : store_(store), name_(std::move(name)) {}

  // Waits until the lease's holder leads: until all who came before it are gone. One campaign a lease, whose loss is
  // FAILED_PRECONDITION. When it ends with an error, the campaign is withdrawn. A leader that lost its lease may not
  // have heard of it yet: what it writes should be conditional on StillLeads.
  absl::StatusOr<Leader> Campaign(Lease& lease, const std::string& value, const CallOptions& options);
  // Gives up `leader`; nothing when that is over already.
  absl::Status Resign(const Leader& leader, const CallOptions& options);
  // NOT_FOUND when nobody leads.
  absl::StatusOr<Leader> Current(const CallOptions& options);

  static Condition StillLeads(const Leader& leader) { return Condition::CreatedAt(leader.key, leader.revision); }

 private:
  absl::StatusOr<Leader> Enter(const std::string& key, Lease& lease, const std::string& value,
                               const CallOptions& options);
  absl::Status AwaitTurn(const Leader& candidate, const CallOptions& options);

  Store& store_;
  const std::string name_;
};

// Follows an election. For one thread at a time.
class LeaderObserver {
 public:
  LeaderObserver(Store& store, absl::string_view name) : store_(store), prefix_(absl::StrCat(name, "/")) {}

  // The leader of now at first; then waits until another one leads, or nobody (nullopt). Leaders come in order and none
  // is left out, unless the store was compacted meanwhile.
  absl::StatusOr<std::optional<Leader>> Next(const CallOptions& options);

 private:
  absl::Status Read(const CallOptions& options);
  absl::Status Follow(const CallOptions& options);
  std::optional<Leader> First() const;

  Store& store_;
  const std::string prefix_;
  std::map<int64_t, KeyValue> candidates_;  // by the revision at which they came
  std::vector<Event> events_;               // that are yet to be taken, last first
  std::unique_ptr<Watch> watch_;
  int64_t told_ = -1;  // the revision of the leader last told; 0: nobody; -1: nothing was
};

}  // namespace weir::coordination
