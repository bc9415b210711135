// A hash of integers' decimal text, which TensorFlow's optimizer makes of AsString and StringToHashBucketFast.
// A worker expands those that its device has no kernel for (graph/fused/expand_fused_ops.h).
#include "graph/shapes/common_shapes.h"
#include "kernels/strings/family.h"

namespace weir {

absl::Status RegisterIntegerHashOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("_TensorToHashBucketFast")
                                   .Input("input: T")
                                   .Output("output: int64")
                                   .Attr("T: {int8, uint8, int16, uint16, int32, uint32, int64, uint64}")
                                   .Attr("num_buckets: int >= 1")
                                   .Shape(shapes::Unchanged)));
  return absl::OkStatus();
}

}  // namespace weir
