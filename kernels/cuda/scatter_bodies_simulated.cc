// The bodies of scatter_table.inc for the simulated device.
#include "kernels/cpu/binary_functors.h"
#include "kernels/cuda/scatter_bodies.h"
#include "kernels/device/gpu/run_bodies_simulated.h"
// Needs what is above.
#include "kernels/cuda/scatter_table.inc"

namespace weir {

BodyTable SimulatedScatterBodies() { return TableOf(kScatterEntries); }

}  // namespace weir
