#include "core/gpu/simulated_gpu.h"
#include "kernels/cuda/elementwise_conformance_testing.h"

namespace weir {
namespace {

INSTANTIATE_TEST_SUITE_P(Simulated, GpuElementwise,
                         testing::Values(GpuKernelWorld{
                             .name = "Simulated",
                             .make = [] { return std::make_shared<SimulatedGpu>(SimulatedGpu::Options()); },
                             .check =
                                 [](GpuRuntime& runtime) {
                                   EXPECT_THAT(static_cast<SimulatedGpu&>(runtime).Races(), testing::IsEmpty());
                                 }}));

}  // namespace
}  // namespace weir
