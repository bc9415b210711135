// Bodies for local response normalisation, compiled for the simulated device.
#include "kernels/device/gpu/run_bodies_simulated.h"
#include "kernels/normalization/device_lrn.h"
// Needs what is above.
#include "kernels/normalization/device_lrn.inc"

namespace weir {

BodyTable SimulatedLrnBodies() { return TableOf(kLrnEntries); }

}  // namespace weir
