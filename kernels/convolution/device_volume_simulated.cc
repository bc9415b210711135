// The bodies of device_volume.inc for the simulated device.
#include "kernels/convolution/device_volume.h"
#include "kernels/device/gpu/run_bodies_simulated.h"
// Needs what is above.
#include "kernels/convolution/device_volume.inc"

namespace weir {

BodyTable SimulatedVolumeConvolutionBodies() { return TableOf(kVolumeConvolutionEntries); }

}  // namespace weir
