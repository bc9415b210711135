#include "graph/shapes/common_shapes.h"
#include "kernels/python/family.h"

namespace weir {
namespace {

Op PythonOp(const char* name) {
  return Op(name)
      .MayBlock()
      .Input("input: Tin")
      .Output("output: Tout")
      .Attr("token: string")
      .Attr("Tin: list(type) >= 0")
      .Attr("Tout: list(type) >= 0")
      .Shape(shapes::Unknown);
}

}  // namespace

absl::Status RegisterPythonOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(PythonOp("PyFunc").Stateful()));
  RETURN_IF_ERROR(ops.Register(PythonOp("PyFuncStateless")));
  return ops.Register(Op("EagerPyFunc")
                          .MayBlock()
                          .Input("input: Tin")
                          .Output("output: Tout")
                          .Attr("token: string")
                          .Attr("is_async: bool = false")
                          .Attr("Tin: list(type) >= 0")
                          .Attr("Tout: list(type) >= 0")
                          .Stateful()
                          .Shape(shapes::Unknown));
}

}  // namespace weir
