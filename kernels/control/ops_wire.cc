#include "graph/shapes/common_shapes.h"
#include "graph/shapes/shape_inference.h"
#include "kernels/control/family.h"

namespace weir {

absl::Status RegisterWireOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("_WireEncode")
                                   .Input("input: T")
                                   .Output("output: uint8")
                                   .Attr("T: type")
                                   .Attr("wire: string")
                                   .Shape([](InferenceContext& c) -> absl::Status {
                                     c.set_output(0, InferenceContext::Of({-1}));
                                     return absl::OkStatus();
                                   })));
  return ops.Register(
      Op("_WireDecode").Input("input: uint8").Output("output: T").Attr("T: type").Shape(shapes::Unknown));
}

}  // namespace weir
