#include "core/cuda/cuda_runtime.h"
#include "kernels/attention/attention_conformance_testing.h"
#include "kernels/device/gpu/bodies.h"
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

const GpuKernelWorld kCuda = {.name = "Cuda", .make = [] { return CudaPlatform().open(0); }};
INSTANTIATE_TEST_SUITE_P(Cuda, GpuElementwise, testing::Values(kCuda));
INSTANTIATE_TEST_SUITE_P(Cuda, GpuKernels, testing::Values(kCuda));
INSTANTIATE_TEST_SUITE_P(Cuda, FusedKernels, testing::Values(kCuda));
INSTANTIATE_TEST_SUITE_P(Cuda, GpuAttention, testing::Values(kCuda));
INSTANTIATE_TEST_SUITE_P(Cuda, GpuAttentionGrad, testing::Values(kCuda));
INSTANTIATE_TEST_SUITE_P(Cuda, GpuNorms, testing::Values(kCuda));
INSTANTIATE_TEST_SUITE_P(Cuda, GpuRnns, testing::Values(kCuda));

TEST(ElementwiseTableTest, BothDevicesHaveTheSameOps) {
  for (const ElementwiseTables& tables : kElementwiseTables) {
    const ElementwiseTable cuda = tables.cuda(), simulated = tables.simulated();
    ASSERT_EQ(cuda.size, simulated.size);
    for (int i = 0; i < cuda.size; ++i) {
      EXPECT_STREQ(cuda.entries[i].op, simulated.entries[i].op);
      EXPECT_EQ(cuda.entries[i].type, simulated.entries[i].type);
      EXPECT_NE(cuda.entries[i].launch, nullptr);
      EXPECT_NE(simulated.entries[i].simulate, nullptr);
    }
  }
}

TEST(BodyTableTest, BothDevicesHaveTheSameKernels) {
  for (const BodyFamily& family : kBodyFamilies) {
    const BodyTable cuda = family.cuda(), simulated = family.simulated();
    ASSERT_EQ(cuda.size, simulated.size);
    for (int i = 0; i < cuda.size; ++i) {
      EXPECT_STREQ(cuda.entries[i].name, simulated.entries[i].name);
      EXPECT_EQ(cuda.entries[i].type, simulated.entries[i].type);
      EXPECT_EQ(cuda.entries[i].other, simulated.entries[i].other);
      EXPECT_NE(cuda.entries[i].launch, nullptr);
      EXPECT_NE(simulated.entries[i].simulate, nullptr);
    }
  }
}

}  // namespace
}  // namespace weir
