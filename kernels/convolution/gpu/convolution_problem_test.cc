#include "kernels/convolution/gpu/convolution_problem.h"

#include "core/testing.h"

namespace weir {
namespace {

// Three rows and four columns of filter over 8 by 9 pixels.
ConvolutionShape Shape(int64_t top, int64_t bottom, int64_t left, int64_t right) {
  ConvolutionShape shape;
  shape.batch = 2;
  shape.in_channels = 4;
  shape.out_channels = 6;
  shape.groups = 2;
  shape.rows = {.in = 8, .filter = 3, .out = 8 + top + bottom - 2, .before = top, .after = bottom};
  shape.columns = {.in = 9, .filter = 4, .out = 9 + left + right - 3, .before = left, .after = right};
  return shape;
}

TEST(ConvolutionProblemTest, PaddingOfBothSidesIsLeftToTheLibrary) {
  const PaddedConvolution padded = PadEvenly(Shape(1, 1, 2, 2), ConvolutionDirection::kForward, DT_FLOAT);
  EXPECT_FALSE(padded.IsPadded());
  EXPECT_THAT(padded.problem.padding, testing::ElementsAre(1, 2));
  EXPECT_THAT(padded.problem.in, testing::ElementsAre(8, 9));
}

TEST(ConvolutionProblemTest, WhatOneSideHasMoreIsPaddedBefore) {
  const PaddedConvolution padded = PadEvenly(Shape(1, 2, 3, 0), ConvolutionDirection::kBackwardData, DT_HALF);
  EXPECT_TRUE(padded.IsPadded());
  EXPECT_THAT(padded.problem.padding, testing::ElementsAre(1, 0));
  EXPECT_THAT(padded.problem.in, testing::ElementsAre(9, 12));
  EXPECT_THAT(padded.extra_before, testing::ElementsAre(0, 3));
  EXPECT_THAT(padded.extra_after, testing::ElementsAre(1, 0));
  EXPECT_EQ(padded.problem.ResultElements(), 2 * 4 * 9 * 12);
}

TEST(ConvolutionProblemTest, SameOfAnEvenFilterIsWhatTheLibraryComputesOfThePaddedInput) {
  for (int64_t in = 1; in < 20; ++in) {
    for (int64_t filter = 1; filter < 6; ++filter) {
      for (int64_t stride = 1; stride < 4; ++stride) {
        WindowAttrs attrs;
        attrs.padding = "SAME";
        attrs.strides[0] = stride;
        ConvolutionShape shape = Shape(0, 0, 0, 0);
        shape.rows = *attrs.Dim(0, in, filter);
        const ConvolutionProblem problem = PadEvenly(shape, ConvolutionDirection::kForward, DT_FLOAT).problem;
        EXPECT_EQ(problem.out[0], (problem.in[0] + 2 * problem.padding[0] - filter) / stride + 1);
      }
    }
  }
}

TEST(ConvolutionProblemTest, NamesAreTheSameForEqualProblemsAlone) {
  const ConvolutionProblem problem = PadEvenly(Shape(1, 1, 2, 2), ConvolutionDirection::kForward, DT_FLOAT).problem;
  EXPECT_EQ(problem.ToString(),
            "forward float nhwc in=2x8x9x4 filter=3x4x2x6 out=2x8x10x6 groups=2 padding=1,2 stride=1,1 dilation=1,1");
  ConvolutionProblem other = problem;
  other.dilation[1] = 2;
  EXPECT_NE(problem.ToString(), other.ToString());
  EXPECT_FALSE(problem == other);
}

TEST(ConvolutionProblemTest, StepsAreThoseOfBothLayouts) {
  ConvolutionProblem problem = PadEvenly(Shape(1, 1, 2, 2), ConvolutionDirection::kForward, DT_FLOAT).problem;
  EXPECT_THAT(ConvolutionSteps::Of(problem).in, testing::ElementsAre(8 * 9 * 4, 1, 9 * 4, 4));
  EXPECT_THAT(ConvolutionSteps::Of(problem).filter, testing::ElementsAre(3 * 4 * 2, 1, 4 * 2, 2));
  problem.channels_first = true;
  EXPECT_THAT(ConvolutionSteps::Of(problem).in, testing::ElementsAre(8 * 9 * 4, 8 * 9, 9, 1));
  EXPECT_THAT(ConvolutionSteps::Of(problem).out, testing::ElementsAre(6 * 8 * 10, 8 * 10, 10, 1));
}

}  // namespace
}  // namespace weir
