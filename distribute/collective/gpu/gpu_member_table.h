// The memberships of a task's GPUs in collective groups.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/mutex.h"
#include "distribute/collective/gpu/gpu_group_member.h"

namespace weir {

// Thread-safe. A membership has a thread and a communicator, with memory of the GPU: it is released
// - when its group has formed again and no call uses it;
// - when it is unused for longest and there are more than `max_members`. The group's next call creates it again, with
//   another generation of the communicator.
class GpuMemberTable {
 public:
  struct Key {
    std::string leader;
    int32_t group = 0;
    std::string device;
  };

  explicit GpuMemberTable(size_t max_members = 64) : max_members_(max_members) {}

  // Creates the membership by `options` unless it is there. Callers keep it no longer than their call.
  absl::StatusOr<std::shared_ptr<GpuGroupMember>> Find(const Key& key, uint64_t formation,
                                                       GpuGroupMember::Options options);
  size_t size() const;

 private:
  using Members = std::vector<std::shared_ptr<GpuGroupMember>>;
  struct Place {
    uint64_t formation = 0;
    std::shared_ptr<GpuGroupMember> member;  // null: released
    int64_t generation = 0;                  // its last one, then
    int64_t last_use = 0;
  };

  // Moves members that may be destroyed to `unused`.
  void Release(Members* unused) REQUIRES(mu_);
  // Takes the member unused for longest; null: all are in use.
  std::shared_ptr<GpuGroupMember> TakeIdle() REQUIRES(mu_);

  const size_t max_members_;
  mutable Mutex mu_;
  int64_t num_uses_ GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<std::tuple<std::string, int32_t, std::string>, Place> places_ GUARDED_BY(mu_);
  size_t num_members_ GUARDED_BY(mu_) = 0;  // of places_
  Members retired_ GUARDED_BY(mu_);         // of groups that have formed again, until they are unused
};

}  // namespace weir
