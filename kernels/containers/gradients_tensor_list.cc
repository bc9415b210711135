// Gradients through tensor lists: the gradient of a list is a list of the same length, whose elements are gradients of
// its elements.
#include "graph/gradients/gradient_context.h"
#include "kernels/containers/family.h"

namespace weir {
namespace {

using G = GradientContext;

G::AttrSetter ElementType(DataType type) { return G::Set("element_dtype", type); }
Output ListShapeOf(G& g, const Output& x) { return g.Call("Shape", {x}); }
Output ElementShape(G& g, const Output& list) {
  return g.Call("TensorListElementShape", {list}, {G::Set("shape_type", DT_INT32)});
}
Output Length(G& g, const Output& list) { return g.Call("TensorListLength", {list}); }
// The shape of the rows of `x`.
Output RowShape(G& g, const Output& x) {
  return g.Call("Slice", {ListShapeOf(g, x), Tensor::Vector<int32_t>({1}), Tensor::Vector<int32_t>({-1})});
}
// A list without elements but of the length of `list`.
Output Reserve(G& g, const Output& list, DataType type) {
  return g.Call("TensorListReserve", {ElementShape(g, list), Length(g, list)}, {ElementType(type)});
}

absl::Status PushBack(G& g) {
  const Output element = g.input(1);
  const Output rest = g.Call("TensorListPopBack", {g.dy(), ListShapeOf(g, element)}, {ElementType(element.type())});
  g.set_grad(0, rest);
  g.set_grad(1, Output(rest.op(), 1));
  return absl::OkStatus();
}
absl::Status PopBack(G& g) {
  g.set_grad(0, g.Call("TensorListPushBack", {g.dy(0), g.dy(1)}));
  return absl::OkStatus();
}

absl::Status Stack(G& g) {
  g.set_grad(0, g.Call("TensorListFromTensor", {g.dy(), RowShape(g, g.dy())}));
  return absl::OkStatus();
}
absl::Status FromTensor(G& g) {
  const Output x = g.input(0);
  g.set_grad(0, g.Call("TensorListStack", {g.dy(), RowShape(g, x)}, {ElementType(x.type())}));
  return absl::OkStatus();
}

absl::Status Concat(G& g) {
  g.set_grad(0, g.Call("TensorListSplit", {g.dy(0), ElementShape(g, g.input(0)), g.output(1)}));
  return absl::OkStatus();
}
// Elements differ in their first dimension alone.
absl::Status Split(G& g) {
  const Output x = g.input(0);
  const Output shape =
      g.CallWithLists("ConcatV2", {{Tensor::Vector<int32_t>({-1}), RowShape(g, x)}, {Tensor::Scalar<int32_t>(0)}});
  g.set_grad(0, g.Call("TensorListConcatV2", {g.dy(), shape, g.input(2)}, {ElementType(x.type())}));
  return absl::OkStatus();
}

absl::Status GetItem(G& g) {
  const Output empty = Reserve(g, g.input(0), g.dy().type());
  g.set_grad(0, g.Call("TensorListSetItem", {empty, g.input(1), g.dy()}));
  return absl::OkStatus();
}
absl::Status SetItem(G& g) {
  const Output list = g.input(0), index = g.input(1), item = g.input(2), dy = g.dy();
  Output dlist = g.Call("TensorListSetItem", {dy, index, g.Call("ZerosLike", {item})});
  if (g.Attr<bool>("resize_if_index_out_of_bounds")) dlist = g.Call("TensorListResize", {dlist, Length(g, list)});
  g.set_grad(0, dlist);
  g.set_grad(2, g.Call("TensorListGetItem", {dy, index, ListShapeOf(g, item)}, {ElementType(item.type())}));
  return absl::OkStatus();
}
absl::Status Resize(G& g) {
  g.set_grad(0, g.Call("TensorListResize", {g.dy(), Length(g, g.input(0))}));
  return absl::OkStatus();
}

absl::Status Gather(G& g) {
  const Output empty = Reserve(g, g.input(0), g.dy().type());
  g.set_grad(0, g.Call("TensorListScatterIntoExistingList", {empty, g.dy(), g.input(1)}));
  return absl::OkStatus();
}
Output GatherLike(G& g, const Output& x, const Output& indices) {
  return g.Call("TensorListGather", {g.dy(), indices, RowShape(g, x)}, {ElementType(x.type())});
}
absl::Status Scatter(G& g) {
  g.set_grad(0, GatherLike(g, g.input(0), g.input(1)));
  return absl::OkStatus();
}
absl::Status ScatterInto(G& g) {
  const Output x = g.input(1), indices = g.input(2);
  g.set_grad(0, g.Call("TensorListScatterIntoExistingList", {g.dy(), g.Call("ZerosLike", {x}), indices}));
  g.set_grad(1, GatherLike(g, x, indices));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterTensorListGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"TensorListPushBack", PushBack}, {"TensorListPopBack", PopBack},
      {"TensorListStack", Stack},       {"TensorListFromTensor", FromTensor},
      {"TensorListConcat", Concat},     {"TensorListConcatV2", Concat},
      {"TensorListSplit", Split},       {"TensorListGetItem", GetItem},
      {"TensorListSetItem", SetItem},   {"TensorListResize", Resize},
      {"TensorListGather", Gather},     {"TensorListScatter", Scatter},
      {"TensorListScatterV2", Scatter}, {"TensorListScatterIntoExistingList", ScatterInto},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  for (const char* op :
       {"TensorListConcatLists", "TensorListElementShape", "TensorListLength", "TensorListPushBackBatch"}) {
    RETURN_IF_ERROR(ops.RegisterNotDifferentiable(op));
  }
  return absl::OkStatus();
}

}  // namespace weir
