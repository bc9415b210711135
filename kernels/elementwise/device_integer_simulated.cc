// The element-wise ops of integer_table.inc for the simulated device.
#include "kernels/elementwise/run_device_simulated.h"
// Needs what is above.
#include "kernels/elementwise/device_integer.inc"

namespace weir {

ElementwiseTable SimulatedIntegerTable() { return TableOf(kIntegerEntries); }

}  // namespace weir
