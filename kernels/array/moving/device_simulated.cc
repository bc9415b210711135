// The bodies of device.inc for the simulated device.
#include "kernels/array/moving/device.h"
#include "kernels/device/gpu/run_bodies_simulated.h"
#include "kernels/elementwise/binary_functors.h"
#include "kernels/elementwise/special/incomplete_gamma.h"
#include "kernels/quantized/fake_quant_levels.h"
#include "kernels/quantized/quantized_steps.h"
// Needs what is above.
#include "kernels/array/moving/device.inc"

namespace weir {

BodyTable SimulatedArrayBodies() { return TableOf(kArrayEntries); }

}  // namespace weir
