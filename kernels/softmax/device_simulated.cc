// The bodies of device.inc for the simulated device.
#include "kernels/device/gpu/run_bodies_simulated.h"
#include "kernels/softmax/device.h"
// Needs what is above.
#include "kernels/softmax/device.inc"

namespace weir {

BodyTable SimulatedSoftmaxBodies() { return TableOf(kSoftmaxEntries); }

}  // namespace weir
