// The bodies of attention_table.inc for CUDA.
#include "kernels/cuda/attention_bodies.h"
#include "kernels/cuda/attention_gradient_bodies.h"
#include "kernels/device/gpu/run_bodies_cuda.h"
// Need what is above.
#include "kernels/cuda/attention_gradient_table.inc"
//
#include "kernels/cuda/attention_table.inc"

namespace weir {

BodyTable CudaAttentionBodies() { return TableOf(kAttentionEntries); }

}  // namespace weir
