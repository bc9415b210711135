// CUPTI's activity API, of which a process has one.
#pragma once

#include <set>

#include "core/cuda/cupti/cupti_functions.h"
#include "core/cuda/cupti/cupti_records.h"
#include "core/mutex.h"

namespace weir {

// Records while somebody wants it to. Thread-safe. CUPTI asks for buffers, and gives them back full, on threads of its
// own.
class CuptiTracer {
 public:
  // The process's. UNAVAILABLE where there is no CUPTI.
  static absl::StatusOr<CuptiTracer*> Get();
  // For tests: others than the library's functions.
  explicit CuptiTracer(const CuptiFunctions& cupti) : cupti_(cupti) {}

  // A recording of one device; the first one switches CUPTI on, the last one off. UNAVAILABLE, with the reason, where
  // it refuses.
  absl::StatusOr<std::unique_ptr<GpuActivityRecording>> Record(int device);
  // A buffer that CUPTI has filled: `bytes` of it.
  void Parse(uint8_t* buffer, size_t bytes);

 private:
  class Recording;
  absl::Status Begin(int64_t* begin_nanos);
  absl::StatusOr<std::vector<GpuActivity>> End(int device, int64_t begin_nanos);
  absl::Status SwitchOn() REQUIRES(mu_);
  void SwitchOff() REQUIRES(mu_);
  absl::StatusOr<int64_t> Now() const;

  const CuptiFunctions& cupti_;
  Mutex mu_;  // held while CUPTI is switched on and off, not while it flushes
  bool is_ready_ GUARDED_BY(mu_) = false;
  std::multiset<int64_t> begins_ GUARDED_BY(mu_);  // of recordings under way
  Mutex records_mu_;
  CuptiRecords records_ GUARDED_BY(records_mu_);
};

}  // namespace weir
