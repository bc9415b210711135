#include "core/device/incarnation.h"

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace weir {
namespace {

constexpr uint64_t kMark = 0xA7;
constexpr int kTimeBits = 56;                     // units of 32 ns: 73 years
constexpr int64_t kEpochSeconds = 1'577'836'800;  // 2020
constexpr int kUnitBits = 5;

}  // namespace

uint64_t NewIncarnation() {
  const int64_t nanos = absl::ToUnixNanos(absl::Now()) - kEpochSeconds * 1'000'000'000;
  return kMark << kTimeBits | ((static_cast<uint64_t>(nanos) >> kUnitBits) & ((uint64_t{1} << kTimeBits) - 1));
}

bool IsEarlierIncarnation(uint64_t a, uint64_t b) {
  return a >> kTimeBits == kMark && b >> kTimeBits == kMark && a < b;
}

}  // namespace weir
