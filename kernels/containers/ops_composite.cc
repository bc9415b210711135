// Composite tensors as variants.
#include "kernels/containers/family.h"
#include "kernels/device/op_shapes.h"

namespace weir {

absl::Status RegisterCompositeOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("CompositeTensorVariantFromComponents")
                                   .Input("components: Tcomponents")
                                   .Output("encoded: variant")
                                   .Attr("metadata: string")
                                   .Attr("Tcomponents: list(type) >= 0")
                                   .Shape(shapes::Scalar)));
  return ops.Register(Op("CompositeTensorVariantToComponents")
                          .Input("encoded: variant")
                          .Output("components: Tcomponents")
                          .Attr("metadata: string")
                          .Attr("Tcomponents: list(type) >= 0")
                          .Shape(shapes::Unknown));
}

}  // namespace weir
