#include "core/cuda/cupti/cupti_records.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace weir {
namespace {

std::string Written(const char* name) {
  if (name == nullptr) return "kernel";
  int status = 0;
  char* const written = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string text = status == 0 ? written : name;
  std::free(written);
  return text;
}

const char* KindOf(uint8_t copy) {
  switch (copy) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
      return "copy to device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
      return "copy to host";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
      return "copy on device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
      return "copy to peer";
    default:
      return "copy";
  }
}

template <typename Record>
CuptiRecords::Activity Make(const Record& record, std::string name) {
  CuptiRecords::Activity made;
  made.activity.name = std::move(name);
  made.activity.start_nanos = static_cast<int64_t>(record.start);
  made.activity.end_nanos = static_cast<int64_t>(record.end);
  made.activity.stream = record.streamId;
  made.device = record.deviceId;
  made.correlation = record.correlationId;
  return made;
}

}  // namespace

void CuptiRecords::Add(const CUpti_Activity& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& kernel = reinterpret_cast<const CUpti_ActivityKernel10&>(record);
      activities_.push_back(Make(kernel, Written(kernel.name)));
      return;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& copy = reinterpret_cast<const CUpti_ActivityMemcpy6&>(record);
      activities_.push_back(Make(copy, absl::StrCat(KindOf(copy.copyKind), " ", copy.bytes, " bytes")));
      return;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& fill = reinterpret_cast<const CUpti_ActivityMemset4&>(record);
      activities_.push_back(Make(fill, absl::StrCat("fill ", fill.bytes, " bytes")));
      return;
    }
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER: {
      const auto& api = reinterpret_cast<const CUpti_ActivityAPI&>(record);
      const Call call{static_cast<int64_t>(api.start), api.threadId};
      const auto [found, is_new] = calls_.try_emplace(api.correlationId, call);
      if (!is_new && call.start_nanos < found->second.start_nanos) found->second = call;
      return;
    }
    default:
      return;
  }
}

std::vector<GpuActivity> CuptiRecords::Take(uint32_t device, int64_t from_nanos, int64_t to_nanos,
                                            int64_t offset) const {
  std::vector<GpuActivity> taken;
  for (const Activity& each : activities_) {
    if (each.device != device || each.activity.start_nanos < from_nanos || each.activity.end_nanos > to_nanos) continue;
    const auto call = calls_.find(each.correlation);
    if (call == calls_.end()) continue;
    GpuActivity& activity = taken.emplace_back(each.activity);
    activity.start_nanos += offset;
    activity.end_nanos += offset;
    activity.enqueued_nanos = call->second.start_nanos + offset;
    activity.thread = call->second.thread;
  }
  std::sort(taken.begin(), taken.end(),
            [](const GpuActivity& a, const GpuActivity& b) { return a.start_nanos < b.start_nanos; });
  return taken;
}

void CuptiRecords::Forget(int64_t before_nanos) {
  std::erase_if(activities_, [&](const Activity& each) { return each.activity.end_nanos < before_nanos; });
  absl::erase_if(calls_, [&](const auto& call) { return call.second.start_nanos < before_nanos; });
}

}  // namespace weir
