// The bodies of device_order.inc for the simulated device.
#include "kernels/device/gpu/run_bodies_simulated.h"
#include "kernels/elementwise/binary_functors.h"
#include "kernels/reduction/device_order.h"
// Needs what is above.
#include "kernels/reduction/device_order.inc"

namespace weir {

BodyTable SimulatedOrderBodies() { return TableOf(kOrderEntries); }

}  // namespace weir
