#include "core/cuda/cuda_runtime.h"

#include "core/gpu/gpu_runtime_conformance_testing.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace weir {

int LaunchCudaAffine(void* stream, const void* args);

namespace {

INSTANTIATE_TEST_SUITE_P(Cuda, GpuRuntimeConformance,
                         testing::Values(GpuRuntimeWorld{.name = "Cuda",
                                                         .make = [] { return NewCudaRuntime(0); },
                                                         .affine = {.name = "affine", .launch = LaunchCudaAffine}}));

TEST(CudaRuntimeTest, StartsWithoutADriver) {
  const absl::StatusOr<int> count = CountCudaDevices();
  if (count.ok()) {
    EXPECT_GT(*count, 0);
    EXPECT_THAT(NewCudaRuntime(*count), StatusIs(absl::StatusCode::kInvalidArgument));
    return;
  }
  EXPECT_THAT(count, StatusIs(absl::StatusCode::kUnavailable, testing::HasSubstr("cudaGetDeviceCount")));
  EXPECT_THAT(NewCudaRuntime(0), StatusIs(absl::StatusCode::kUnavailable));
}

TEST(CudaRuntimeTest, DevicesOfATaskOrTheReasonWhyNot) {
  const auto work_queue = WorkQueue::Create({.compute_threads = 1});
  const DeviceName task = *DeviceName::Parse("/job:worker/replica:0/task:0");
  ASSERT_OK_AND_ASSIGN(const GpuDevices made,
                       MakeGpuDevices(CudaPlatform(), tensorflow::ConfigProto(), task, work_queue.get()));
  EXPECT_EQ(made.devices.empty(), !made.reason.empty());
  EXPECT_EQ(made.devices.empty(), !CountCudaDevices().ok());
}

TEST(CudaRuntimeTest, PropertiesAreThoseOfADevice) {
  auto runtime = NewCudaRuntime(0);
  if (absl::IsUnavailable(runtime.status())) GTEST_SKIP() << runtime.status().message();
  ASSERT_THAT(runtime, IsOk());
  const GpuProperties& properties = (*runtime)->properties();
  EXPECT_GE(properties.compute_major, 7);
  EXPECT_GT(properties.multiprocessors, 0);
  EXPECT_GE(properties.memory_bytes, (*runtime)->MemoryInfo()->free);
}

}  // namespace
}  // namespace weir
