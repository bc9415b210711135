#include <cmath>

#include "kernels/op_testing.h"

namespace weir {
namespace {

class ImageSizeTest : public OpTest {};

TEST_F(ImageSizeTest, BoxesAndImagesAreChecked) {
  const Tensor image = F({1, 2, 3, 4}, {1, 2, 2, 1}), box = F({0, 0, 1, 1}, {1, 4});
  ASSERT_OK_AND_ASSIGN(Tensor grown,
                       RunOp1("ResizeBilinear", {image, Ints({3, 3})}, Attrs().Set("align_corners", true)));
  ExpectTensorEqual(grown, F({1, 1.5f, 2, 2, 2.5f, 3, 3, 3.5f, 4}, {1, 3, 3, 1}));
  EXPECT_THAT(RunOp("CropAndResize", {image, box, Ints({1}), Ints({2, 2})}), StatusIs(absl::StatusCode::kOutOfRange));
  ExpectErrors({
      {"ResizeBilinear", {image, Ints({0, 3})}, "must be positive"},
      {"ResizeBilinear", {AsTensor<float>({1}), Ints({3, 3})}, "must be 4-dimensional"},
      {"CropAndResize", {image, F({0, 0, NAN, 1}, {1, 4}), Ints({0}), Ints({2, 2})}, "not finite"},
      {"CropAndResizeGradImage", {image, box, Ints({0}), Ints({1, -2, 2, 1})}, "", Attrs().Set("T", DT_FLOAT)},
      {"NonMaxSuppressionV3",
       {box, AsTensor<float>({1, 2}), Int(3), AsScalar<float>(0.5f), AsScalar<float>(0)},
       "incompatible"},
      {"NonMaxSuppressionV3",
       {box, AsTensor<float>({1}), Int(3), AsScalar<float>(2), AsScalar<float>(0)},
       "must be in [0, 1]"},
  });
}

}  // namespace
}  // namespace weir
