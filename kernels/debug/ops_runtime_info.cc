// Ops that report the device and the kernel of a node.
#include "kernels/debug/family.h"
#include "kernels/device/op_shapes.h"

namespace weir {

absl::Status RegisterRuntimeInfoOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(
      Op("GuaranteeConst").Input("input: T").Output("output: T").Attr("T: type").Stateful().Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("Old").Deprecated(8, "For reasons").Shape(shapes::NoOutputs)));
  RETURN_IF_ERROR(ops.Register(Op("DevicePlacementOp").Output("device: string").Stateful().Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("KernelLabel").Output("result: string").Shape(shapes::Scalar)));
  return absl::OkStatus();
}

}  // namespace weir
