// The bodies of image_table.inc for the simulated device.
#include "kernels/cuda/image_bodies.h"
#include "kernels/device/gpu/run_bodies_simulated.h"
// Needs what is above.
#include "kernels/cuda/image_table.inc"

namespace weir {

BodyTable SimulatedImageBodies() { return TableOf(kImageEntries); }

}  // namespace weir
