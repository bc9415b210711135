// Lists as elements of lists, of tensor arrays and of stacks.
#include "tests/gpu/gpu_agreement_testing.h"

namespace weir {
namespace {

const Tensor& RowShape() {
  static const auto* const shape = new Tensor(AsTensor<int32_t>({3}));
  return *shape;
}
const Tensor& ScalarShape() {
  static const auto* const shape = new Tensor(DT_INT32, TensorShape({0}));
  return *shape;
}

}  // namespace

void GpuAgreementTest::AddListsOfLists() {
  const auto floats = Attr("element_dtype", DT_FLOAT), lists = Attr("element_dtype", DT_VARIANT);
  AddProgram("lists of lists", {Of(DT_FLOAT, TensorShape({2, 3}))}, [&](const Scope& s, const OutputList& in) {
    const auto node = [&](const char* op, const std::vector<Input>& inputs) {
      return Output(Node(s, op, inputs, lists), 0);
    };
    const auto rows = [&](const Output& list) {
      return Output(Node(s, "TensorListStack", {list, RowShape()}, floats), 0);
    };
    const auto element = [&](const Output& list, int i) {
      return rows(node("TensorListGetItem", {list, i, ScalarShape()}));
    };
    const Tensor first = AsTensor<int32_t>({0}), second = AsTensor<int32_t>({1}), any = AsTensor<int32_t>({-1});
    const Output inner(Node(s, "TensorListFromTensor", {in[0], RowShape()}, floats), 0);
    const Output vector = ops::ExpandDims(s, inner, 0);
    const Output outer = node("TensorListFromTensor", {vector, ScalarShape()});
    const Output reserved = node("TensorListReserve", {ScalarShape(), 2});
    const Output pushed = ops::Squeeze(s, node("TensorListPushBackBatch", {ops::ExpandDims(s, outer, 0), vector}));
    const Output scattered = node("TensorListScatterV2", {vector, first, ScalarShape(), 2});
    const Output parts = node("TensorListSplit", {vector, any, AsTensor<int64_t>({1})});
    return OutputList{
        element(outer, 0),
        rows(ops::Squeeze(s, node("TensorListStack", {outer, ScalarShape()}))),
        rows(ops::Squeeze(s, node("TensorListGather", {outer, first, ScalarShape()}))),
        element(node("TensorListSetItem", {reserved, 1, inner}), 1),
        element(node("TensorListConcatLists", {outer, pushed}), 2),
        element(node("TensorListScatter", {vector, first, ScalarShape()}), 0),
        element(node("TensorListScatterIntoExistingList", {scattered, vector, second}), 1),
        rows(ops::Squeeze(s, node("TensorListConcat", {parts}))),
        rows(ops::Squeeze(s, node("TensorListConcatV2", {parts, any, Tensor(DT_INT64, TensorShape({0}))})))};
  });
}

void GpuAgreementTest::AddArraysOfLists() {
  const auto floats = Attr("element_dtype", DT_FLOAT), lists = Attr("dtype", DT_VARIANT);
  const auto rows = [=, this](const Scope& s, const Output& list) {
    return Output(Node(s, "TensorListStack", {list, RowShape()}, floats), 0);
  };
  const auto inner = [=, this](const Scope& s, const Output& in) {
    return Output(Node(s, "TensorListFromTensor", {in, RowShape()}, floats), 0);
  };
  const Tensor value = Of(DT_FLOAT, TensorShape({2, 3}));
  AddProgram("an array of lists", {value}, [&](const Scope& s, const OutputList& in) {
    const Output list = inner(s, in[0]);
    const Operation array = Node(s, "TensorArrayV3", {2}, lists);
    const Output handle(array, 0);
    Output flow(Node(s, "TensorArrayWriteV3", {handle, 0, list, Output(array, 1)}), 0);
    const Tensor second = AsTensor<int32_t>({1});
    flow = Output(Node(s, "TensorArrayScatterV3", {handle, second, ops::ExpandDims(s, list, 0), flow}), 0);
    const Output read(Node(s, "TensorArrayReadV3", {handle, 0, flow}, lists), 0);
    const Output gathered(Node(s, "TensorArrayGatherV3", {handle, second, flow}, lists), 0);
    return OutputList{rows(s, read), rows(s, ops::Squeeze(s, gathered))};
  });
  AddProgram("an array of vectors of lists", {value}, [&](const Scope& s, const OutputList& in) {
    const Output vector = ops::ExpandDims(s, inner(s, in[0]), 0);
    const Operation array = Node(s, "TensorArrayV3", {1}, lists);
    const Output handle(array, 0);
    const Output flow(Node(s, "TensorArraySplitV3", {handle, vector, AsTensor<int64_t>({1}), Output(array, 1)}), 0);
    const Output joined(Node(s, "TensorArrayConcatV3", {handle, flow}, lists), 0);
    return OutputList{rows(s, ops::Squeeze(s, joined))};
  });
  AddProgram("a stack of lists", {value}, [&](const Scope& s, const OutputList& in) {
    const auto typed = Attr("elem_type", DT_VARIANT);
    const Output handle(Node(s, "StackV2", {1}, typed), 0);
    const Output pushed(Node(s, "StackPushV2", {handle, inner(s, in[0])}), 0);
    const Output popped(Node(s.WithControlDependencies(OutputList{pushed}), "StackPopV2", {handle}, typed), 0);
    return OutputList{rows(s, popped)};
  });
}

}  // namespace weir
