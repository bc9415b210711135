// CUPTI's activity API, a process-wide resource.
#pragma once

#include <set>

#include "core/cuda/cupti/cupti_functions.h"
#include "core/cuda/cupti/cupti_records.h"
#include "core/mutex.h"

namespace weir {

// Enables CUPTI while at least one recording exists. Thread-safe. CUPTI requests buffers, and returns full ones, on its
// own threads.
class CuptiTracer {
 public:
  // The process's tracer. UNAVAILABLE without CUPTI.
  static absl::StatusOr<CuptiTracer*> Get();
  // For tests: uses the given functions.
  explicit CuptiTracer(const CuptiFunctions& cupti) : cupti_(cupti) {}

  // Starts recording one device; the first recording enables CUPTI, the last one disables it. UNAVAILABLE, with the
  // reason, if it fails.
  absl::StatusOr<std::unique_ptr<GpuActivityRecording>> Record(int device);
  // Parses `bytes` of a buffer that CUPTI has filled.
  void Parse(uint8_t* buffer, size_t bytes);

 private:
  class Recording;
  absl::Status Begin(int64_t* begin_nanos);
  absl::StatusOr<std::vector<GpuActivity>> End(int device, int64_t begin_nanos);
  absl::Status SwitchOn() REQUIRES(mu_);
  void SwitchOff() REQUIRES(mu_);
  absl::StatusOr<int64_t> Now() const;

  const CuptiFunctions& cupti_;
  Mutex mu_;  // held while enabling and disabling CUPTI, not while flushing
  bool is_ready_ GUARDED_BY(mu_) = false;
  std::multiset<int64_t> begins_ GUARDED_BY(mu_);  // of recordings under way
  Mutex records_mu_;
  CuptiRecords records_ GUARDED_BY(records_mu_);
};

}  // namespace weir
