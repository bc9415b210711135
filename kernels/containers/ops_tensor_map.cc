// Tensor maps, as values of type variant.
#include "graph/shapes/common_shapes.h"
#include "kernels/containers/family.h"

namespace weir {
absl::Status RegisterTensorMapOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("EmptyTensorMap").Output("handle: variant").Shape(shapes::Scalar)));
  RETURN_IF_ERROR(
      ops.Register(Op("TensorMapSize").Input("input_handle: variant").Output("size: int32").Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("TensorMapLookup")
                                   .Input("input_handle: variant")
                                   .Input("key: key_dtype")
                                   .Output("value: value_dtype")
                                   .Attr("key_dtype: type")
                                   .Attr("value_dtype: type")
                                   .Shape(shapes::Unknown)));
  RETURN_IF_ERROR(ops.Register(Op("TensorMapInsert")
                                   .Input("input_handle: variant")
                                   .Input("key: key_dtype")
                                   .Input("value: value_dtype")
                                   .Output("output_handle: variant")
                                   .Attr("key_dtype: type")
                                   .Attr("value_dtype: type")
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("TensorMapErase")
                                   .Input("input_handle: variant")
                                   .Input("key: key_dtype")
                                   .Output("output_handle: variant")
                                   .Attr("key_dtype: type")
                                   .Attr("value_dtype: type")
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("TensorMapHasKey")
                                   .Input("input_handle: variant")
                                   .Input("key: key_dtype")
                                   .Output("has_key: bool")
                                   .Attr("key_dtype: type")
                                   .Shape(shapes::Scalar)));
  return ops.Register(Op("TensorMapStackKeys")
                          .Input("input_handle: variant")
                          .Output("keys: key_dtype")
                          .Attr("key_dtype: type")
                          .Shape(shapes::Unknown));
}

}  // namespace weir
