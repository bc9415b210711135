#include "core/gpu/simulated_gpu.h"
#include "kernels/attention/attention_conformance_testing.h"
#include "kernels/device/gpu/body_conformance_testing.h"
#include "kernels/device/gpu/kernel_conformance_testing.h"
#include "kernels/device/gpu/type_conformance_testing.h"
#include "kernels/fusion/fused_conformance_testing.h"
#include "kernels/image/crop_conformance_testing.h"
#include "kernels/normalization/norm_conformance_testing.h"
#include "kernels/recurrent/recurrent_conformance_testing.h"
#include "kernels/recurrent/rnn_conformance_testing.h"
#include "kernels/sparse/sparse_conformance_testing.h"

namespace weir {
namespace {

const GpuKernelWorld kSimulated = {
    .name = "Simulated",
    .make = [] { return std::make_shared<SimulatedGpu>(SimulatedGpu::Options()); },
    .check = [](GpuRuntime& runtime) { EXPECT_THAT(static_cast<SimulatedGpu&>(runtime).Races(), testing::IsEmpty()); }};
INSTANTIATE_TEST_SUITE_P(Simulated, GpuElementwise, testing::Values(kSimulated));
INSTANTIATE_TEST_SUITE_P(Simulated, GpuKernels, testing::Values(kSimulated));
INSTANTIATE_TEST_SUITE_P(Simulated, FusedKernels, testing::Values(kSimulated));
INSTANTIATE_TEST_SUITE_P(Simulated, GpuAttention, testing::Values(kSimulated));
INSTANTIATE_TEST_SUITE_P(Simulated, GpuAttentionGrad, testing::Values(kSimulated));
INSTANTIATE_TEST_SUITE_P(Simulated, GpuNorms, testing::Values(kSimulated));
INSTANTIATE_TEST_SUITE_P(Simulated, GpuRnns, testing::Values(kSimulated));

}  // namespace
}  // namespace weir
