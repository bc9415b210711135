// The bodies of device.inc and device_gradient.inc for the simulated device.
#include "kernels/attention/device.h"
#include "kernels/attention/device_gradient.h"
#include "kernels/device/gpu/run_bodies_simulated.h"
// Need what is above.
#include "kernels/attention/device_gradient.inc"
//
#include "kernels/attention/device.inc"

namespace weir {

BodyTable SimulatedAttentionBodies() { return TableOf(kAttentionEntries); }

}  // namespace weir
