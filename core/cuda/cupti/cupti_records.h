// CUPTI's records of activities, brought together.
#pragma once

#include <cupti.h>

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/gpu/gpu_activities.h"

namespace weir {

// What the device did comes in one record, the call that asked for it in others, of the runtime's API and the driver's:
// a number, the correlation, joins them. They come in any order. Times are CUPTI's own.
class CuptiRecords {
 public:
  struct Activity {
    GpuActivity activity;  // but for when, and where, it was asked for
    uint32_t device = 0;
    uint32_t correlation = 0;
  };
  struct Call {
    int64_t start_nanos = 0;
    uint32_t thread = 0;
  };

  // Kinds that are not looked for are left out.
  void Add(const CUpti_Activity& record);
  // What `device` did between two points in time, by start, as far as the call that asked for it is known; `offset` is
  // added to all times.
  std::vector<GpuActivity> Take(uint32_t device, int64_t from_nanos, int64_t to_nanos, int64_t offset) const;
  // What ended before goes, and what was called for before, if nothing joins it.
  void Forget(int64_t before_nanos);
  size_t size() const { return activities_.size() + calls_.size(); }

 private:
  std::vector<Activity> activities_;
  absl::flat_hash_map<uint32_t, Call> calls_;  // by correlation; the outermost
};

}  // namespace weir
