#include "core/cuda/cuda_runtime.h"
#include "core/gpu/simulated_gpu.h"
#include "core/testing.h"
#include "distribute/collective/collective_conformance_testing.h"
#include "distribute/collective/gpu/gpu_collective_testing.h"
#include "distribute/collective/nccl/gpu_libraries.h"
#include "distribute/collective/nccl/nccl_functions.h"
#include "distribute/collective/nccl/nccl_library.h"

namespace weir {
namespace {

// Why NCCL cannot be tested here; OK: it can.
absl::Status NcclIsThere() {
  RETURN_IF_ERROR(CountCudaDevices().status());
  return LoadNccl().status();
}

// All GPUs of the machine, at most as many as the suite asks for.
std::unique_ptr<CollectiveTestGroup> MakeGroup(int size) {
  std::vector<std::shared_ptr<GpuRuntime>> gpus;
  for (int i = 0; i < size; ++i) gpus.push_back(NewCudaRuntime(i).value());
  return std::make_unique<GpuTestGroup>(std::move(gpus), NewNcclLibrary());
}

std::vector<CollectiveBackend> Backends() {
  const absl::StatusOr<int> count = CountCudaDevices();
  const absl::Status missing = NcclIsThere();
  return {{.name = "CudaNccl",
           .make_group = MakeGroup,
           .largest_group = count.value_or(0),
           .missing = missing.ok() && *count < 4
                          ? absl::StrCat("the suite has groups of 4; there are ", *count, " GPUs")
                          : std::string(missing.message())}};
}
INSTANTIATE_TEST_SUITE_P(Nccl, CollectiveConformanceTest, testing::ValuesIn(Backends()), BackendName);

TEST(CudaNcclTest, ServesNoGpuThatIsNotCudas) {
  SimulatedGpu gpu({});
  EXPECT_THAT(NewNcclLibrary()->Serves(gpu),
              StatusIs(absl::StatusCode::kUnavailable, testing::HasSubstr("is not a CUDA device")));
  const auto libraries = GpuCollectiveLibraries();
  ASSERT_EQ(libraries.size(), 2);
  EXPECT_THAT(libraries[0]->Serves(gpu), IsOk());
}

TEST(CudaNcclTest, LoadsOrSaysWhyNot) {
  const absl::StatusOr<const NcclFunctions*> nccl = LoadNccl();
  if (!nccl.ok()) {
    EXPECT_THAT(nccl.status(), StatusIs(absl::StatusCode::kUnavailable, testing::HasSubstr("NCCL")));
    GTEST_SKIP() << nccl.status().message();
  }
  EXPECT_THAT(NewNcclLibrary()->name(), testing::StartsWith("nccl 2."));
}

// One rank needs no second GPU.
TEST(CudaNcclTest, OneGpuAddsUpWithItself) {
  if (const absl::Status missing = NcclIsThere(); !missing.ok()) GTEST_SKIP() << missing.message();
  const auto group = MakeGroup(1);
  std::vector<float> in = {1, 2, 3}, out(3);
  for (int64_t sequence = 0; sequence < 3; ++sequence) {
    EXPECT_THAT(group->Run({{.count = 3, .input = in.data(), .output = out.data(), .sequence = sequence}}),
                testing::Each(IsOk()));
    EXPECT_EQ(out, in);
  }
}

}  // namespace
}  // namespace weir
