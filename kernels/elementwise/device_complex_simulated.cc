// The element-wise ops of complex_table.inc for the simulated device.
#include "kernels/elementwise/run_device_simulated.h"
// Needs what is above.
#include "kernels/elementwise/device_complex.inc"

namespace weir {

ElementwiseTable SimulatedComplexTable() { return TableOf(kComplexEntries); }

}  // namespace weir
