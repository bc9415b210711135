// The bodies of attention_table.inc for the simulated device.
#include "kernels/cuda/attention_bodies.h"
#include "kernels/cuda/attention_gradient_bodies.h"
#include "kernels/device/gpu/run_bodies_simulated.h"
// Need what is above.
#include "kernels/cuda/attention_gradient_table.inc"
//
#include "kernels/cuda/attention_table.inc"

namespace weir {

BodyTable SimulatedAttentionBodies() { return TableOf(kAttentionEntries); }

}  // namespace weir
