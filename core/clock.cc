#include "core/clock.h"

#include <algorithm>

namespace weir {
namespace {

using std::chrono::steady_clock;

// The same instant on both clocks.
struct Origin {
  absl::Time wall = absl::Now();
  steady_clock::time_point steady = steady_clock::now();
};

const Origin& ProcessStart() {
  static const Origin origin;
  return origin;
}

constexpr absl::Duration kYear = absl::Hours(24 * 365);

}  // namespace

absl::Time MonotonicNow() {
  const Origin& origin = ProcessStart();
  return origin.wall + absl::FromChrono(steady_clock::now() - origin.steady);
}

steady_clock::time_point ToSteady(absl::Time time) {
  const absl::Duration left = std::clamp(time - MonotonicNow(), -kYear, kYear);
  return steady_clock::now() + absl::ToChronoNanoseconds(left);
}

}  // namespace weir
