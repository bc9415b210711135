// The bodies of device.inc for the simulated device.
#include "kernels/convolution/device.h"
#include "kernels/device/gpu/run_bodies_simulated.h"
// Needs what is above.
#include "kernels/convolution/device.inc"

namespace weir {

BodyTable SimulatedConvolutionBodies() { return TableOf(kConvolutionEntries); }

}  // namespace weir
