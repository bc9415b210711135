// What the leader knows of single collectives: who has declared which op, and who broadcasts.
#pragma once

#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/mutex.h"
#include "distribute/collective/group_table.h"
#include "distribute/transport/worker_interface.h"

namespace weir {

// Thread-safe. No call blocks. An instance is there from its first member's call until all of its members have their
// answer, or have gone.
class InstanceTable {
 public:
  using DoneCallback = std::function<void(absl::Status)>;
  // `groups` outlives the table.
  explicit InstanceTable(const GroupTable* groups) : groups_(groups) {}

  // `response` lives until `done`, which runs exactly once, with no lock held: when all members of the group have
  // called, or disagree.
  void Declare(const CallOptions& options, const tensorflow::CompleteInstanceRequest& request,
               tensorflow::CompleteInstanceResponse* response, DoneCallback done);

 private:
  using Key = std::tuple<int32_t, int32_t, int64_t>;  // group, instance, step
  struct Waiter {
    tensorflow::CompleteInstanceResponse* response = nullptr;
    DoneCallback done;
    CancellationManager* cancellation = nullptr;
    CancellationManager::Token token = CancellationManager::kInvalidToken;
  };
  struct Instance {
    tensorflow::CompleteInstanceRequest first;
    int source_rank = -1;
    absl::flat_hash_map<std::string, Waiter> waiters;  // by device
  };

  static absl::Status Compare(const Instance& instance, const tensorflow::CompleteInstanceRequest& request);
  static void Answer(Instance instance, const absl::Status& status);
  void GiveUp(const Key& key, const std::string& device, const absl::Status& status);

  const GroupTable* const groups_;
  Mutex mu_;
  absl::flat_hash_map<Key, Instance> instances_ GUARDED_BY(mu_);
};

}  // namespace weir
