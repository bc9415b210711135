// cuDNN's side of convolutions, for devices that are only described: no GPU is needed, and nothing runs.
#include "core/gpu/simulated_gpu.h"
#include "core/testing.h"
#include "kernels/convolution/gpu/cudnn_convolutions.h"
#include "kernels/device/cudnn/described_devices_testing.h"

namespace weir {
namespace {

ConvolutionProblem Problem(ConvolutionDirection direction, DataType dtype, bool channels_first) {
  ConvolutionProblem problem;
  problem.direction = direction;
  problem.dtype = dtype;
  problem.channels_first = channels_first;
  problem.batch = 8;
  problem.in_channels = 32;
  problem.out_channels = 64;
  problem.in[0] = problem.in[1] = problem.out[0] = problem.out[1] = 28;
  problem.filter[0] = problem.filter[1] = 3;
  problem.padding[0] = problem.padding[1] = 1;
  return problem;
}

class CudnnTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto loaded = LoadCudnn();
    if (!loaded.ok()) GTEST_SKIP() << loaded.status().message();
    cudnn_ = *loaded;
    const auto target = CudnnTarget::Describe(*cudnn_, Json(kH100));
    if (absl::IsUnavailable(target.status())) GTEST_SKIP() << target.status().message();
  }
  std::shared_ptr<ConvolutionLibrary> For(const DescribedDevice& device, const GpuMathSettings& settings = {}) {
    absl::StatusOr<std::unique_ptr<CudnnTarget>> target = CudnnTarget::Describe(*cudnn_, Json(device));
    EXPECT_THAT(target, IsOk());
    return NewCudnnConvolutions(*std::move(target), {.name = device.name, .compute_major = device.version / 100},
                                device.name, settings);
  }
  // The first plan that can be made of the problem, in any layout.
  static absl::StatusOr<std::shared_ptr<ConvolutionPlan>> FirstPlan(ConvolutionLibrary& library,
                                                                    ConvolutionProblem problem) {
    absl::Status last = errors::Unimplemented("nothing is proposed");
    for (const bool channels_first : library.Layouts(problem)) {
      problem.channels_first = channels_first;
      ASSIGN_OR_RETURN(const std::vector<LibraryRecipe> recipes, library.Propose(problem));
      for (const LibraryRecipe& recipe : recipes) {
        auto plan = library.Make(problem, recipe);
        if (plan.ok()) return plan;
        last = plan.status();
      }
    }
    return last;
  }
  const CudnnFunctions* cudnn_ = nullptr;
};

constexpr ConvolutionDirection kDirections[] = {ConvolutionDirection::kForward, ConvolutionDirection::kBackwardData,
                                                ConvolutionDirection::kBackwardFilter};

TEST_F(CudnnTest, HasPlansForAllDirectionsTypesAndLayouts) {
  for (const DescribedDevice& device : kDescribedDevices) {
    const auto library = For(device);
    for (const ConvolutionDirection direction : kDirections) {
      for (const DataType dtype : {DT_FLOAT, DT_HALF, DT_BFLOAT16}) {
        if (dtype == DT_BFLOAT16 && device.version < 800) continue;  // such a device computes none
        for (const bool channels_first : {false, true}) {
          const ConvolutionProblem problem = Problem(direction, dtype, channels_first);
          EXPECT_THAT(FirstPlan(*library, problem), IsOk()) << device.name << ": " << problem.ToString();
        }
      }
    }
  }
}

TEST_F(CudnnTest, HasPlansForGroupsDilationsAndStrides) {
  const auto library = For(kH100);
  for (const ConvolutionDirection direction : kDirections) {
    for (const DataType dtype : {DT_FLOAT, DT_HALF}) {
      ConvolutionProblem grouped = Problem(direction, dtype, false);
      grouped.groups = 4;
      EXPECT_THAT(FirstPlan(*library, grouped), IsOk()) << grouped.ToString();
      ConvolutionProblem depthwise = Problem(direction, dtype, false);
      depthwise.groups = 32;
      EXPECT_THAT(FirstPlan(*library, depthwise), IsOk()) << depthwise.ToString();
      ConvolutionProblem dilated = Problem(direction, dtype, false);
      dilated.dilation[0] = dilated.dilation[1] = 2;
      dilated.padding[0] = dilated.padding[1] = 2;
      EXPECT_THAT(FirstPlan(*library, dilated), IsOk()) << dilated.ToString();
      ConvolutionProblem strided = Problem(direction, dtype, false);
      strided.stride[0] = strided.stride[1] = 2;
      strided.out[0] = strided.out[1] = 14;
      EXPECT_THAT(FirstPlan(*library, strided), IsOk()) << strided.ToString();
    }
  }
}

TEST_F(CudnnTest, ARecipeMakesTheSamePlanAgain) {
  const auto library = For(kH100);
  const ConvolutionProblem problem = Problem(ConvolutionDirection::kForward, DT_HALF, false);
  ASSERT_OK_AND_ASSIGN(const auto plan, FirstPlan(*library, problem));
  ASSERT_OK_AND_ASSIGN(const auto again, For(kH100)->Make(plan->problem(), plan->recipe()));
  EXPECT_EQ(again->workspace_bytes(), plan->workspace_bytes());
  EXPECT_THAT(library->Make(problem, {.engine = 100000}), testing::Not(IsOk()));
  EXPECT_THAT(library->Make(problem, {.engine = plan->recipe().engine, .knobs = {{-7, 1}}}), testing::Not(IsOk()));
}

TEST_F(CudnnTest, KeepsWithinItsSettings) {
  for (const ConvolutionDirection direction : kDirections) {
    const ConvolutionProblem problem = Problem(direction, DT_FLOAT, true);
    const auto free = For(kH100)->Propose(problem), exact = For(kH100, {.deterministic = true})->Propose(problem),
               fast = For(kH100, {.allow_tf32 = true})->Propose(problem);
    ASSERT_THAT(free, IsOk());
    EXPECT_LE(exact->size(), free->size());
    EXPECT_GE(fast->size(), free->size());
    const auto library = For(kH100, {.workspace_limit = 0});
    for (const LibraryRecipe& recipe : *free) {
      const auto plan = library->Make(problem, recipe);
      EXPECT_EQ(plan.ok() ? (*plan)->workspace_bytes() : 0, 0);
    }
  }
}

TEST_F(CudnnTest, PrefersTheLayoutThatTensorFlowDoes) {
  const auto half = Problem(ConvolutionDirection::kForward, DT_HALF, false);
  const auto bf16 = Problem(ConvolutionDirection::kForward, DT_BFLOAT16, false);
  const auto single = Problem(ConvolutionDirection::kForward, DT_FLOAT, false);
  EXPECT_FALSE(For(kT4)->Layouts(half)[0]);
  EXPECT_TRUE(For(kT4)->Layouts(bf16)[0]);
  EXPECT_TRUE(For(kH100)->Layouts(single)[0]);
  EXPECT_FALSE(For(kH100, {.allow_tf32 = true})->Layouts(single)[0]);
  EXPECT_TRUE(For(kH100)->Layouts(Problem(ConvolutionDirection::kForward, DT_HALF, true))[0]);
}

TEST_F(CudnnTest, ADeviceThatIsNotAtHandRunsNothing) {
  const auto library = For(kH100);
  ASSERT_OK_AND_ASSIGN(const auto plan, FirstPlan(*library, Problem(ConvolutionDirection::kForward, DT_HALF, false)));
  SimulatedGpu gpu{SimulatedGpu::Options()};
  ASSERT_OK_AND_ASSIGN(const auto stream, gpu.CreateStream("compute"));
  EXPECT_THAT(plan->Enqueue(*stream, {}, nullptr), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(CudnnTest, PropertiesThatAreNoneAreRefused) {
  EXPECT_THAT(CudnnTarget::Describe(*cudnn_, "{}"), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace weir
