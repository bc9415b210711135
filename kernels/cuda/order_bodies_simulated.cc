// The bodies of order_table.inc for the simulated device.
#include <cstring>

#include "kernels/cuda/order_bodies.h"
#include "kernels/device/gpu/run_bodies_simulated.h"
#include "kernels/elementwise/binary_functors.h"
// Needs what is above.
#include "kernels/cuda/order_table.inc"

namespace weir {

BodyTable SimulatedOrderBodies() { return TableOf(kOrderEntries); }

}  // namespace weir
