// The bodies of recurrent_table.inc for the simulated device.
#include "kernels/cuda/recurrent_bodies.h"
#include "kernels/device/gpu/run_bodies_simulated.h"
// Needs what is above.
#include "kernels/cuda/recurrent_table.inc"

namespace weir {

BodyTable SimulatedRecurrentBodies() { return TableOf(kRecurrentEntries); }

}  // namespace weir
