// The leader's table of collectives: which members have declared an op, and which one broadcasts.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/mutex.h"
#include "core/threads/timer_queue.h"
#include "distribute/collective/group_table.h"
#include "distribute/collective/waiting_call.h"
#include "distribute/transport/worker_interface.h"

namespace weir {

// Thread-safe. No call blocks. An instance exists from its first member's call until all its members are answered or
// gone.
class InstanceTable {
 public:
  using DoneCallback = std::function<void(absl::Status)>;
  struct Options {
    const GroupTable* groups = nullptr;  // outlives the table
    TimerQueue* timers = nullptr;        // outlives the table; null: deadlines are not enforced
  };
  explicit InstanceTable(Options options) : options_(std::move(options)) {}

  // `done` runs exactly once, with no lock held: when all members of the group have called, or disagree, or shortly
  // before the deadline. `response` lives until then. If a member calls again, its earlier call is ABORTED.
  void Declare(const CallOptions& options, const tensorflow::CompleteInstanceRequest& request,
               tensorflow::CompleteInstanceResponse* response, DoneCallback done);
  // The group forms again: waits for members of that formation end with `status`.
  void EndFormation(const std::string& formation, const absl::Status& status);

 private:
  using Key = std::tuple<int32_t, std::string, int32_t, int64_t>;  // group, its formation, instance, step
  using InstanceWaiter = Waiter<tensorflow::CompleteInstanceResponse>;
  using InstanceAnswer = Answer<tensorflow::CompleteInstanceResponse>;
  struct Instance {
    tensorflow::CompleteInstanceRequest first;
    int size = 0;
    int source_rank = -1;
    absl::flat_hash_map<std::string, InstanceWaiter> waiters;  // by device
  };

  static Key KeyOf(const tensorflow::CompleteInstanceRequest& request, const GroupTable::Membership& member);
  static absl::Status CheckFits(const Instance& instance, const tensorflow::CompleteInstanceRequest& request, int rank);
  static absl::Status CheckComplete(const Instance& instance);
  static absl::Status TooLate(const Instance& instance);
  // Takes all waiters of the instance.
  InstanceAnswer Take(const Key& key, absl::Status status) REQUIRES(mu_);
  std::vector<InstanceAnswer> Admit(const CallOptions& options, const tensorflow::CompleteInstanceRequest& request,
                                    const GroupTable::Membership& member, InstanceWaiter waiter) REQUIRES(mu_);
  void GiveUp(const Key& key, int64_t id, const std::optional<absl::Status>& cancelled);

  const Options options_;
  Mutex mu_;
  int64_t num_calls_ GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<Key, Instance> instances_ GUARDED_BY(mu_);
};

}  // namespace weir
