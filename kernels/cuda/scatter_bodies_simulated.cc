// The bodies of scatter_table.inc for the simulated device.
#include "kernels/cuda/scatter_bodies.h"
#include "kernels/device/gpu/run_bodies_simulated.h"
#include "kernels/elementwise/binary_functors.h"
// Needs what is above.
#include "kernels/cuda/scatter_table.inc"

namespace weir {

BodyTable SimulatedScatterBodies() { return TableOf(kScatterEntries); }

}  // namespace weir
