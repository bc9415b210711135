// Bodies for images, compiled for the simulated device.
#include "kernels/device/gpu/run_bodies_simulated.h"
#include "kernels/image/device.h"
// Needs what is above.
#include "kernels/image/device.inc"

namespace weir {

BodyTable SimulatedImageBodies() { return TableOf(kImageEntries); }

}  // namespace weir
