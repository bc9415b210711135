#include "core/cuda/cuda_runtime.h"
#include "kernels/cuda/elementwise_args.h"
#include "kernels/cuda/elementwise_conformance_testing.h"

namespace weir {
namespace {

INSTANTIATE_TEST_SUITE_P(Cuda, GpuElementwise, testing::Values(GpuKernelWorld{.name = "Cuda", .make = [] {
                                                                                return CudaPlatform().open(0);
                                                                              }}));

TEST(ElementwiseTableTest, BothDevicesHaveTheSameOps) {
  const ElementwiseTable cuda = CudaElementwiseTable(), simulated = SimulatedElementwiseTable();
  ASSERT_EQ(cuda.size, simulated.size);
  for (int i = 0; i < cuda.size; ++i) {
    EXPECT_STREQ(cuda.entries[i].op, simulated.entries[i].op);
    EXPECT_EQ(cuda.entries[i].type, simulated.entries[i].type);
    EXPECT_NE(cuda.entries[i].launch, nullptr);
    EXPECT_NE(simulated.entries[i].simulate, nullptr);
  }
}

}  // namespace
}  // namespace weir
