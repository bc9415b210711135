// The ops of this family through which no gradient flows.
#include "kernels/image/family.h"

namespace weir {

absl::Status RegisterImageNotDifferentiable(OpRegistry& ops) {
  for (const char* op :
       {"DecodeImage", "DecodePng", "DecodeWebP", "DrawBoundingBoxes", "ExtractGlimpse", "ExtractJpegShape", "HSVToRGB",
        "NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionWithOverlaps", "SampleDistortedBoundingBox",
        "SampleDistortedBoundingBoxV2"}) {
    RETURN_IF_ERROR(ops.RegisterNotDifferentiable(op));
  }
  return absl::OkStatus();
}

}  // namespace weir
