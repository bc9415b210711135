// The first versions of stacks and tensor arrays. Their handles are strings, [container, name], or references to such.
#include "core/status.h"
#include "kernels/containers/family.h"
#include "kernels/device/handle_ops.h"

namespace weir {
namespace {

absl::Status StackPushRefShape(InferenceContext& c) {
  c.set_output(0, c.input(1));
  return absl::OkStatus();
}

absl::Status RegisterStacks(OpRegistry& ops) {
  const HandleKind reference{false};
  RETURN_IF_ERROR(
      ops.Register(reference.Maker("Stack", "handle").Attr("elem_type: type").Attr("stack_name: string = ''")));
  RETURN_IF_ERROR(ops.Register(reference.User("StackPush", "handle")
                                   .Input("elem: T")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Attr("swap_memory: bool = false")
                                   .Shape(StackPushRefShape)));
  RETURN_IF_ERROR(ops.Register(
      reference.User("StackPop", "handle").Output("elem: elem_type").Attr("elem_type: type").Shape(shapes::Unknown)));
  return ops.Register(reference.User("StackClose", "handle").Shape(shapes::NoOutputs));
}

absl::Status ArrayShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(0), 0).status());
  c.set_output(0, c.Vector(2));
  return absl::OkStatus();
}

absl::Status HandleShape(InferenceContext& c) {
  c.set_output(0, c.Vector(2));
  return absl::OkStatus();
}

absl::Status ConcatShape(InferenceContext& c) {
  c.set_output(1, c.Vector(-1));
  return absl::OkStatus();
}

// Of one version: the first has references as handles, the second strings.
class ArrayOps {
 public:
  explicit ArrayOps(bool first) : first_(first) {}

  absl::Status Register(OpRegistry& ops) const {
    const char* const unknown = "shape = { unknown_rank: true }";
    Op array = Op(Name("TensorArray")).Input("size: int32").Output("handle: " + Handle()).Attr("dtype: type");
    array.Attr("dynamic_size: bool = false").Attr("clear_after_read: bool = true");
    array.Attr("tensor_array_name: string = ''").Attr(absl::StrCat("element_shape: ", unknown));
    RETURN_IF_ERROR(Add(ops, array.Stateful().Shape(ArrayShape), "TensorArrayV3"));
    // The handle of an array of gradients is made from a value, whatever the version.
    Op grad = Op(Name("TensorArrayGrad")).Input("handle: string").Input("flow_in: float");
    grad.Output("grad_handle: " + Handle()).Attr("source: string").Stateful();
    RETURN_IF_ERROR(Add(ops, grad.Shape(HandleShape), "TensorArrayGradV3"));
    RETURN_IF_ERROR(Add(ops,
                        User("TensorArrayWrite")
                            .Input("index: int32")
                            .Input("value: T")
                            .Input("flow_in: float")
                            .Output("flow_out: float")
                            .Attr("T: type")
                            .Shape(shapes::Scalar),
                        "TensorArrayWriteV3"));
    RETURN_IF_ERROR(Add(ops,
                        User("TensorArrayRead")
                            .Input("index: int32")
                            .Input("flow_in: float")
                            .Output("value: dtype")
                            .Attr("dtype: type")
                            .Shape(shapes::Unknown),
                        "TensorArrayReadV3"));
    RETURN_IF_ERROR(Add(ops,
                        User("TensorArrayGather")
                            .Input("indices: int32")
                            .Input("flow_in: float")
                            .Output("value: dtype")
                            .Attr("dtype: type")
                            .Attr(absl::StrCat("element_shape: ", unknown))
                            .Shape(shapes::Unknown),
                        "TensorArrayGatherV3"));
    Op scatter = User("TensorArrayScatter").Input("indices: int32").Input("value: T").Input("flow_in: float");
    scatter.Output("flow_out: float").Attr("T: type").Shape(shapes::Scalar);
    RETURN_IF_ERROR(ops.Register(first_ ? scatter.Deprecated(19, "Use TensorArrayGradV3")
                                        : scatter.Deprecated(26, "Use TensorArrayScatterV3")));
    Op concat = User("TensorArrayConcat").Input("flow_in: float").Output("value: dtype").Output("lengths: int64");
    concat.Attr("dtype: type").Attr(absl::StrCat("element_shape_except0: ", unknown)).Shape(ConcatShape);
    RETURN_IF_ERROR(ops.Register(first_ ? concat.Deprecated(16, "Use TensorArrayGradV3") : concat));
    RETURN_IF_ERROR(Add(ops,
                        User("TensorArraySplit")
                            .Input("value: T")
                            .Input("lengths: int64")
                            .Input("flow_in: float")
                            .Output("flow_out: float")
                            .Attr("T: type")
                            .Shape(shapes::Scalar),
                        "TensorArraySplitV3"));
    RETURN_IF_ERROR(Add(ops,
                        User("TensorArraySize").Input("flow_in: float").Output("size: int32").Shape(shapes::Scalar),
                        "TensorArraySizeV3"));
    return Add(ops, User("TensorArrayClose").Shape(shapes::NoOutputs), "TensorArrayCloseV3");
  }

  // What only the first version has.
  absl::Status RegisterPacking(OpRegistry& ops) const {
    RETURN_IF_ERROR(ops.Register(User("TensorArrayPack")
                                     .Input("flow_in: float")
                                     .Output("value: dtype")
                                     .Attr("dtype: type")
                                     .Attr("element_shape: shape = { unknown_rank: true }")
                                     .Deprecated(16, "Use TensorArrayGatherV3 with RangeOp")
                                     .Shape(shapes::Unknown)));
    return ops.Register(User("TensorArrayUnpack")
                            .Input("value: T")
                            .Input("flow_in: float")
                            .Output("flow_out: float")
                            .Attr("T: type")
                            .Deprecated(20, "Use TensorArrayScatterV3 with RangeOp")
                            .Shape(shapes::Scalar));
  }

 private:
  std::string Name(const char* base) const { return first_ ? base : absl::StrCat(base, "V2"); }
  std::string Handle() const { return first_ ? "Ref(string)" : "string"; }
  Op User(const char* base) const {
    const bool is_packing =
        base == absl::string_view("TensorArrayPack") || base == absl::string_view("TensorArrayUnpack");
    Op op(is_packing ? base : Name(base));
    return op.Input("handle: " + Handle());
  }
  absl::Status Add(OpRegistry& ops, Op op, const char* successor) const {
    return ops.Register(op.Deprecated(first_ ? 16 : 26, absl::StrCat("Use ", successor)));
  }

  const bool first_;
};

}  // namespace

absl::Status RegisterLegacySequenceOps(OpRegistry& ops) {
  RETURN_IF_ERROR(RegisterStacks(ops));
  const ArrayOps first(true), second(false);
  RETURN_IF_ERROR(first.Register(ops));
  RETURN_IF_ERROR(first.RegisterPacking(ops));
  return second.Register(ops);
}

}  // namespace weir
