// The bodies of array_table.inc for CUDA.
#include "kernels/cuda/array_bodies.h"
#include "kernels/device/gpu/run_bodies_cuda.h"
#include "kernels/elementwise/binary_functors.h"
#include "kernels/elementwise/special/incomplete_gamma.h"
#include "kernels/fake_quant_levels.h"
#include "kernels/quantized_steps.h"
// Needs what is above.
#include "kernels/cuda/array_table.inc"

namespace weir {

BodyTable CudaArrayBodies() { return TableOf(kArrayEntries); }

}  // namespace weir
