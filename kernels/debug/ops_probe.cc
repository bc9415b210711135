// Ops that probe a runtime rather than compute.
#include "graph/shapes/common_shapes.h"
#include "kernels/debug/family.h"

namespace weir {
namespace {

absl::Status SecondShape(InferenceContext& c) {
  c.set_output(0, c.input(1));
  return absl::OkStatus();
}
// Container and name.
absl::Status NameShape(InferenceContext& c) {
  c.set_output(0, c.Vector(2));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterProbeOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("StubResourceHandleOp")
                                   .Output("resource: resource")
                                   .Attr("container: string = ''")
                                   .Attr("shared_name: string = ''")
                                   .Stateful()
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("ResourceCreateOp").Input("resource: resource").Stateful().Shape(shapes::NoOutputs)));
  RETURN_IF_ERROR(ops.Register(Op("ResourceInitializedOp")
                                   .Input("resource: resource")
                                   .Output("initialized: bool")
                                   .Stateful()
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("ResourceUsingOp").Input("resource: resource").Stateful().Shape(shapes::NoOutputs)));
  RETURN_IF_ERROR(ops.Register(Op("SleepOp").Input("sleep_seconds: int32").Stateful().Shape(shapes::NoOutputs)));
  RETURN_IF_ERROR(ops.Register(Op("SleepIdentityOp")
                                   .Input("sleep_seconds: int32")
                                   .Input("input: T")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Stateful()
                                   .Shape(SecondShape)));
  RETURN_IF_ERROR(
      ops.Register(Op("KernelLabelRequired").Input("input: int32").Output("result: string").Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("ConstructionFails").Shape(shapes::NoOutputs)));
  RETURN_IF_ERROR(ops.Register(Op("GetDeadline").Output("deadline_from_epoch_micros: int64").Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("Timestamp").Output("ts: double").Stateful().Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("IsTensorFloat32Enabled").Output("enabled: bool").Stateful().Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("IsResourceHandleRefCounting")
                                   .Input("handle: resource")
                                   .Output("result: bool")
                                   .Stateful()
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(
      ops.Register(Op("DisableCopyOnRead").Input("resource: resource").Stateful().Shape(shapes::NoOutputs)));
  RETURN_IF_ERROR(ops.Register(Op("SyncDevice").Stateful().Shape(shapes::NoOutputs)));
  RETURN_IF_ERROR(ops.Register(Op("MakeWeakResourceHandle")
                                   .Input("handle: resource")
                                   .Output("dup: resource")
                                   .Stateful()
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(
      Op("FakeQueue").Input("resource: resource").Output("handle: Ref(string)").Stateful().Shape(NameShape)));
  RETURN_IF_ERROR(ops.Register(Op("Fact").Output("fact: string").Shape(shapes::Unknown)));
  RETURN_IF_ERROR(
      ops.Register(Op("TestAttr").Output("out: T").Attr("T: {float, double}").Stateful().Shape(shapes::Unknown)));
  RETURN_IF_ERROR(ops.Register(Op("DtypeWithDefaultOp")
                                   .Input("in: T")
                                   .Output("dtype: string")
                                   .Attr("T: type = DT_UINT8")
                                   .Stateful()
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("ImmutableConst")
                                   .Output("tensor: dtype")
                                   .Attr("dtype: type")
                                   .Attr("shape: shape")
                                   .Attr("memory_region_name: string")
                                   .Shape(shapes::FromShapeAttr)));
  return absl::OkStatus();
}

}  // namespace weir
