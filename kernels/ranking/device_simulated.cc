// The bodies of device.inc for the simulated device.
#include <cstring>

#include "kernels/device/gpu/run_bodies_simulated.h"
#include "kernels/ranking/device.h"
// Needs what is above.
#include "kernels/ranking/device.inc"

namespace weir {

BodyTable SimulatedRankingBodies() { return TableOf(kRankingEntries); }

}  // namespace weir
