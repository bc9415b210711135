// Joins CUPTI's activity records.
#pragma once

#include <cupti.h>

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/gpu/gpu_activities.h"

namespace weir {

// A device activity is one record; the call that enqueued it is in others (runtime API and driver API). A correlation
// number joins them. Records arrive in any order. Times are CUPTI's own.
class CuptiRecords {
 public:
  struct Activity {
    GpuActivity activity;  // all except when and where it was enqueued
    uint32_t device = 0;
    uint32_t correlation = 0;
  };
  struct Call {
    int64_t start_nanos = 0;
    uint32_t thread = 0;
  };

  // Other kinds of records are ignored.
  void Add(const CUpti_Activity& record);
  // Removes and returns the activities of `device` that started between two points in time and whose enqueuing call is
  // known; `offset` is added to all times.
  std::vector<GpuActivity> Take(uint32_t device, int64_t from_nanos, int64_t to_nanos, int64_t offset) const;
  // Drops activities that ended before, and unmatched calls made before.
  void Forget(int64_t before_nanos);
  size_t size() const { return activities_.size() + calls_.size(); }

 private:
  std::vector<Activity> activities_;
  absl::flat_hash_map<uint32_t, Call> calls_;  // by correlation; the outermost call
};

}  // namespace weir
