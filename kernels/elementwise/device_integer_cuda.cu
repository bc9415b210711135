// The element-wise ops of integer_table.inc for CUDA.
#include "kernels/elementwise/run_device_cuda.h"
// Needs what is above.
#include "kernels/elementwise/device_integer.inc"

namespace weir {

ElementwiseTable CudaIntegerTable() { return TableOf(kIntegerEntries); }

}  // namespace weir
