// cuDNN's side of batch normalisation, for devices that are only described: no GPU is needed, and nothing runs. The
// code that it generates goes to a driver that takes it as it is (cudnn/driver_testing.cc).
#include "core/gpu/simulated_gpu.h"
#include "core/shared_library.h"
#include "core/testing.h"
#include "kernels/device/cudnn/described_devices_testing.h"
#include "kernels/normalization/gpu/cudnn_norms.h"

namespace weir {
namespace {

NormProblem Problem(NormDirection direction, DataType dtype, bool channels_first) {
  return {.direction = direction,
          .dtype = dtype,
          .channels_first = channels_first,
          .batch = 32,
          .channels = 64,
          .rows = 28,
          .columns = 28};
}

class CudnnNormTest : public testing::Test {
 protected:
  void SetUp() override {
    static const bool has_driver = SharedLibrary::Open("a driver", {"libcuda.so.1"}).ok();
    if (has_driver) GTEST_SKIP() << "The driver is CUDA's own";
    ASSERT_THAT(SharedLibrary::Open("a driver for tests", {WEIR_TEST_DRIVER}), IsOk());
    const auto loaded = LoadCudnn();
    if (!loaded.ok()) GTEST_SKIP() << loaded.status().message();
    cudnn_ = *loaded;
    const auto target = CudnnTarget::Describe(*cudnn_, Json(kH100));
    if (absl::IsUnavailable(target.status())) GTEST_SKIP() << target.status().message();
  }
  // The first of its proposals that can be made.
  absl::StatusOr<std::shared_ptr<NormPlan>> PlanFor(const DescribedDevice& device, const NormProblem& problem) {
    ASSIGN_OR_RETURN(std::unique_ptr<CudnnTarget> target, CudnnTarget::Describe(*cudnn_, Json(device)));
    const auto library = NewCudnnNorms(std::move(target), device.name, {});
    absl::Status last = errors::Unimplemented("nothing is proposed");
    ASSIGN_OR_RETURN(const std::vector<LibraryRecipe> recipes, library->Propose(problem));
    for (const LibraryRecipe& recipe : recipes) {
      auto plan = library->Make(problem, recipe);
      if (plan.ok()) return plan;
      last = plan.status();
    }
    return last;
  }
  const CudnnFunctions* cudnn_ = nullptr;
};

TEST_F(CudnnNormTest, HasPlansFromAmpereOnOfAllTypesAndLayouts) {
  for (const DescribedDevice& device : kDescribedDevices) {
    for (const NormDirection direction : {NormDirection::kForward, NormDirection::kBackward}) {
      for (const DataType dtype : {DT_FLOAT, DT_HALF, DT_BFLOAT16}) {
        for (const bool channels_first : {false, true}) {
          const NormProblem problem = Problem(direction, dtype, channels_first);
          const auto plan = PlanFor(device, problem);
          if (device.version >= 800) {
            EXPECT_THAT(plan, IsOk()) << device.name << " " << problem.ToString();
          } else {
            EXPECT_THAT(plan, StatusIs(absl::StatusCode::kUnimplemented)) << device.name;
          }
        }
      }
    }
  }
}

TEST_F(CudnnNormTest, HasPlansWithWhatFollows) {
  for (const DataType dtype : {DT_FLOAT, DT_HALF}) {
    for (const bool has_side : {false, true}) {
      NormProblem problem = Problem(NormDirection::kForward, dtype, false);
      problem.has_side = has_side;
      problem.has_relu = true;
      EXPECT_THAT(PlanFor(kH100, problem), IsOk()) << problem.ToString();
    }
  }
}

TEST_F(CudnnNormTest, ADeviceThatIsNotAtHandRunsNothing) {
  ASSERT_OK_AND_ASSIGN(const auto plan, PlanFor(kH100, Problem(NormDirection::kForward, DT_HALF, false)));
  SimulatedGpu gpu{SimulatedGpu::Options()};
  ASSERT_OK_AND_ASSIGN(const auto stream, gpu.CreateStream("compute"));
  EXPECT_THAT(plan->Enqueue(*stream, {}, nullptr), StatusIs(absl::StatusCode::kFailedPrecondition));
}

}  // namespace
}  // namespace weir
