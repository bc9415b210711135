// The element-wise ops of complex_table.inc for CUDA.
#include "kernels/elementwise/run_device_cuda.h"
// Needs what is above.
#include "kernels/elementwise/device_complex.inc"

namespace weir {

ElementwiseTable CudaComplexTable() { return TableOf(kComplexEntries); }

}  // namespace weir
