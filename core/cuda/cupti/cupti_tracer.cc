#include "core/cuda/cupti/cupti_tracer.h"

#include <chrono>
#include <cstdlib>

namespace weir {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr size_t kBufferAlignment = 8;
constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                         CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_RUNTIME,
                                         CUPTI_ACTIVITY_KIND_DRIVER};

int64_t SteadyNanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// CUPTI's callbacks take no user argument, so only one tracer can register them.
CuptiTracer* registered = nullptr;

void CUPTIAPI NewBuffer(uint8_t** buffer, size_t* bytes, size_t* most_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(kBufferAlignment, kBufferBytes));
  *bytes = *buffer == nullptr ? 0 : kBufferBytes;  // without a buffer CUPTI drops records
  *most_records = 0;                               // as many as fit
}

void CUPTIAPI FullBuffer(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid_bytes) {
  registered->Parse(buffer, valid_bytes);
  std::free(buffer);
}

}  // namespace

class CuptiTracer::Recording : public GpuActivityRecording {
 public:
  Recording(CuptiTracer* tracer, int device, int64_t begin_nanos)
      : tracer_(tracer), device_(device), begin_nanos_(begin_nanos) {}
  ~Recording() override {
    if (tracer_ != nullptr) Stop().IgnoreError();
  }
  absl::StatusOr<std::vector<GpuActivity>> Stop() override {
    return std::exchange(tracer_, nullptr)->End(device_, begin_nanos_);
  }

 private:
  CuptiTracer* tracer_;  // null once stopped
  const int device_;
  const int64_t begin_nanos_;
};

absl::StatusOr<CuptiTracer*> CuptiTracer::Get() {
  ASSIGN_OR_RETURN(const CuptiFunctions* const cupti, LoadCupti());
  static auto* const tracer = new CuptiTracer(*cupti);
  return tracer;
}

absl::StatusOr<std::unique_ptr<GpuActivityRecording>> CuptiTracer::Record(int device) {
  int64_t begin_nanos = 0;
  RETURN_IF_ERROR(Begin(&begin_nanos));
  return std::make_unique<Recording>(this, device, begin_nanos);
}

absl::Status CuptiTracer::Begin(int64_t* begin_nanos) {
  MutexLock lock(mu_);
  if (begins_.empty()) RETURN_IF_ERROR(SwitchOn());
  absl::StatusOr<int64_t> now = Now();
  if (!now.ok()) {
    if (begins_.empty()) SwitchOff();
    return now.status();
  }
  *begin_nanos = *now;
  begins_.insert(*now);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<GpuActivity>> CuptiTracer::End(int device, int64_t begin_nanos) {
  // Calls FullBuffer, on this thread or another, before it returns.
  const absl::Status flushed = cupti_.StatusOf(cupti_.FlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "flushing records");
  MutexLock lock(mu_);
  const absl::StatusOr<int64_t> now = Now();
  const int64_t offset = SteadyNanos() - now.value_or(0);
  begins_.erase(begins_.find(begin_nanos));
  if (begins_.empty()) SwitchOff();
  MutexLock records_lock(records_mu_);
  std::vector<GpuActivity> taken;
  if (now.ok()) taken = records_.Take(static_cast<uint32_t>(device), begin_nanos, *now, offset);
  records_.Forget(begins_.empty() ? now.value_or(0) : *begins_.begin());
  RETURN_IF_ERROR(flushed);
  RETURN_IF_ERROR(now.status());
  return taken;
}

absl::Status CuptiTracer::SwitchOn() {
  if (!is_ready_) {
    registered = this;
    RETURN_IF_ERROR(cupti_.StatusOf(cupti_.SetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM), "naming threads"));
    RETURN_IF_ERROR(cupti_.StatusOf(cupti_.RegisterCallbacks(&NewBuffer, &FullBuffer), "offering buffers"));
    is_ready_ = true;
  }
  for (const CUpti_ActivityKind kind : kKinds) {
    const absl::Status status = cupti_.StatusOf(cupti_.Enable(kind), absl::StrCat("recording kind ", kind));
    if (status.ok()) continue;
    SwitchOff();
    return status;
  }
  return absl::OkStatus();
}

void CuptiTracer::SwitchOff() {
  // Disabling a kind that was never enabled fails harmlessly.
  for (const CUpti_ActivityKind kind : kKinds) cupti_.Disable(kind);
}

absl::StatusOr<int64_t> CuptiTracer::Now() const {
  uint64_t now = 0;
  RETURN_IF_ERROR(cupti_.StatusOf(cupti_.GetTimestamp(&now), "reading the clock"));
  return static_cast<int64_t>(now);
}

void CuptiTracer::Parse(uint8_t* buffer, size_t bytes) {
  MutexLock lock(records_mu_);
  CUpti_Activity* record = nullptr;
  while (bytes > 0 && cupti_.GetNextRecord(buffer, bytes, &record) == CUPTI_SUCCESS) records_.Add(*record);
}

}  // namespace weir
