// cuDNN's side of attention, for devices that are only described: no GPU is needed, and nothing runs. The code that it
// generates goes to a driver that takes it as it is (cudnn/driver_testing.cc).
#include "core/gpu/simulated_gpu.h"
#include "core/shared_library.h"
#include "core/testing.h"
#include "kernels/attention/gpu/cudnn_attention.h"
#include "kernels/device/cudnn/described_devices_testing.h"

namespace weir {
namespace {

TensorShape MaskShape(int which, int64_t queries, int64_t keys) {
  switch (which) {
    case 1:
      return TensorShape({queries, keys});
    case 2:
      return TensorShape({2, 1, 1, keys});
    case 3:
      return TensorShape({2, 8, queries, keys});
    default:
      return TensorShape({keys});
  }
}

// `mask`: 0 for none.
AttentionProblem Problem(DataType dtype, int64_t queries, int64_t keys, int64_t depth, int mask) {
  const TensorShape q({2, 8, queries, depth}), k({2, 8, keys, depth}), mask_shape = MaskShape(mask, queries, keys);
  const auto sizes = AttentionSizes::Of(q, k, k, mask == 0 ? nullptr : &mask_shape, true);
  EXPECT_THAT(sizes, IsOk());
  return *ProblemOf(*sizes, dtype, mask != 0);
}

class CudnnAttentionTest : public testing::Test {
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
  std::shared_ptr<AttentionLibrary> For(const DescribedDevice& device, const GpuMathSettings& settings = {}) {
    absl::StatusOr<std::unique_ptr<CudnnTarget>> target = CudnnTarget::Describe(*cudnn_, Json(device));
    EXPECT_THAT(target, IsOk());
    return NewCudnnAttention(*std::move(target), device.name, settings);
  }
  // The first of its proposals that can be made.
  static absl::StatusOr<std::shared_ptr<AttentionPlan>> FirstPlan(AttentionLibrary& library,
                                                                  const AttentionProblem& problem) {
    absl::Status last = errors::Unimplemented("nothing is proposed");
    ASSIGN_OR_RETURN(const std::vector<LibraryRecipe> recipes, library.Propose(problem));
    for (const LibraryRecipe& recipe : recipes) {
      auto plan = library.Make(problem, recipe);
      if (plan.ok()) return plan;
      last = plan.status();
    }
    return last;
  }
  const CudnnFunctions* cudnn_ = nullptr;
};

TEST_F(CudnnAttentionTest, HasPlansFromAmpereOn) {
  for (const DescribedDevice& device : kDescribedDevices) {
    const auto library = For(device);
    for (const DataType dtype : {DT_HALF, DT_BFLOAT16}) {
      const auto plan = FirstPlan(*library, Problem(dtype, 512, 512, 64, 1));
      if (device.version >= 800) {
        EXPECT_THAT(plan, IsOk()) << device.name << " " << DataTypeName(dtype);
      } else {
        EXPECT_THAT(plan, StatusIs(absl::StatusCode::kUnimplemented)) << device.name;
      }
    }
  }
}

TEST_F(CudnnAttentionTest, HasPlansForMasksAndSizes) {
  const auto library = For(kH100);
  for (const int mask : {0, 2, 3, 4}) {
    EXPECT_THAT(FirstPlan(*library, Problem(DT_HALF, 512, 512, 64, mask)), IsOk()) << "mask " << mask;
  }
  EXPECT_THAT(FirstPlan(*library, Problem(DT_HALF, 500, 500, 128, 1)), IsOk());
  EXPECT_THAT(FirstPlan(*library, Problem(DT_HALF, 77, 77, 40, 1)), IsOk());
  EXPECT_THAT(FirstPlan(*library, Problem(DT_HALF, 1, 512, 64, 0)), IsOk()) << "one query";
}

AttentionProblem Gradient(AttentionProblem problem) {
  problem.is_gradient = true;
  return problem;
}

TEST_F(CudnnAttentionTest, HasPlansOfGradientsFromAmpereOn) {
  for (const DescribedDevice& device : kDescribedDevices) {
    const auto library = For(device);
    for (const DataType dtype : {DT_HALF, DT_BFLOAT16}) {
      const auto plan = FirstPlan(*library, Gradient(Problem(dtype, 512, 512, 64, 1)));
      if (device.version >= 800) {
        EXPECT_THAT(plan, IsOk()) << device.name << " " << DataTypeName(dtype);
      } else {
        EXPECT_THAT(plan, StatusIs(absl::StatusCode::kUnimplemented)) << device.name;
      }
    }
  }
}

TEST_F(CudnnAttentionTest, HasPlansOfGradientsForMasksAndSizes) {
  const auto library = For(kH100);
  for (const int mask : {0, 2, 3, 4}) {
    EXPECT_THAT(FirstPlan(*library, Gradient(Problem(DT_HALF, 512, 512, 64, mask))), IsOk()) << "mask " << mask;
  }
  EXPECT_THAT(FirstPlan(*library, Gradient(Problem(DT_HALF, 500, 500, 128, 1))), IsOk());
  EXPECT_THAT(FirstPlan(*library, Gradient(Problem(DT_HALF, 77, 77, 40, 1))), IsOk());
}

TEST_F(CudnnAttentionTest, WhatItCannotDoItSays) {
  EXPECT_THAT(FirstPlan(*For(kH100), Problem(DT_HALF, 64, 64, 20, 0)), StatusIs(absl::StatusCode::kUnimplemented));
}

TEST_F(CudnnAttentionTest, ADeviceThatIsNotAtHandRunsNothing) {
  ASSERT_OK_AND_ASSIGN(const auto plan, FirstPlan(*For(kH100), Problem(DT_HALF, 512, 512, 64, 0)));
  SimulatedGpu gpu{SimulatedGpu::Options()};
  ASSERT_OK_AND_ASSIGN(const auto stream, gpu.CreateStream("compute"));
  EXPECT_THAT(plan->Enqueue(*stream, {}, nullptr), StatusIs(absl::StatusCode::kFailedPrecondition));
}

}  // namespace
}  // namespace weir
