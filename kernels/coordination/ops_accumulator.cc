// Conditional accumulators.
#include "core/status.h"
#include "kernels/coordination/family.h"
#include "kernels/device/handle_ops.h"

namespace weir {
namespace {

absl::Status RegisterMaker(OpRegistry& ops, HandleKind kind, const char* name) {
  return ops.Register(kind.Maker(name, "handle")
                          .Attr("dtype: numbertype")
                          .Attr("shape: shape")
                          .Attr("container: string = ''")
                          .Attr("shared_name: string = ''")
                          .Attr("reduction_type: {'MEAN', 'SUM'} = 'MEAN'"));
}

absl::Status RegisterUsers(OpRegistry& ops, HandleKind kind) {
  const auto user = [kind](const std::string& name) {
    return kind.User((kind.resource ? "ResourceAccumulator" : "Accumulator") + name, "handle");
  };
  RETURN_IF_ERROR(
      ops.Register(user("NumAccumulated").Output("num_accumulated: int32").MayBlock().Shape(shapes::Scalar)));
  RETURN_IF_ERROR(
      ops.Register(user("SetGlobalStep").Input("new_global_step: int64").MayBlock().Shape(shapes::NoOutputs)));
  RETURN_IF_ERROR(ops.Register(user("ApplyGradient")
                                   .Input("local_step: int64")
                                   .Input("gradient: dtype")
                                   .Attr("dtype: numbertype")
                                   .MayBlock()
                                   .Shape(shapes::NoOutputs)));
  return ops.Register(user("TakeGradient")
                          .Input("num_required: int32")
                          .Output("average: dtype")
                          .Attr("dtype: numbertype")
                          .MayBlock()
                          .Shape(shapes::Unknown));
}

}  // namespace

absl::Status RegisterAccumulatorOps(OpRegistry& ops) {
  const HandleKind reference{false}, resource{true};
  RETURN_IF_ERROR(RegisterMaker(ops, reference, "ConditionalAccumulator"));
  RETURN_IF_ERROR(RegisterMaker(ops, reference, "SparseConditionalAccumulator"));
  RETURN_IF_ERROR(RegisterMaker(ops, resource, "ResourceConditionalAccumulator"));
  RETURN_IF_ERROR(RegisterUsers(ops, reference));
  RETURN_IF_ERROR(RegisterUsers(ops, resource));
  RETURN_IF_ERROR(ops.Register(reference.User("SparseAccumulatorApplyGradient", "handle")
                                   .Input("local_step: int64")
                                   .Input("gradient_indices: int64")
                                   .Input("gradient_values: dtype")
                                   .Input("gradient_shape: int64")
                                   .Attr("dtype: numbertype")
                                   .Attr("has_known_shape: bool")
                                   .MayBlock()
                                   .Shape(shapes::NoOutputs)));
  return ops.Register(reference.User("SparseAccumulatorTakeGradient", "handle")
                          .Input("num_required: int32")
                          .Output("indices: int64")
                          .Output("values: dtype")
                          .Output("shape: int64")
                          .Attr("dtype: numbertype")
                          .MayBlock()
                          .Shape(shapes::Unknown));
}

}  // namespace weir
