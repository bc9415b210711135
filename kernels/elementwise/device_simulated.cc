// The element-wise ops of elementwise_table.inc for the simulated device.
#include "kernels/elementwise/run_device_simulated.h"
#include "kernels/elementwise/special/incomplete_gamma.h"
#include "kernels/elementwise/special/special_functions.h"
// Needs what is above.
#include "kernels/elementwise/device.inc"

namespace weir {

ElementwiseTable SimulatedElementwiseTable() { return TableOf(kElementwiseEntries); }

}  // namespace weir
