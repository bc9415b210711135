// Tensor lists, tensor arrays and stacks.
#include "tests/gpu/gpu_agreement_testing.h"

namespace weir {
// Element by element. Missing ones are zeros.
void GpuAgreementTest::AddLists(DataType type) {
  const auto elements = Attr("element_dtype", type);
  const Tensor row_shape = AsTensor<int32_t>({3}), unknown = AsScalar<int32_t>(-1);
  const auto get = [=, this](const Scope& s, const Output& list, int index) {
    return Output(Node(s, "TensorListGetItem", {list, index, row_shape}, elements), 0);
  };
  const auto stack = [=, this](const Scope& s, const Output& list) {
    return Output(Node(s, "TensorListStack", {list, row_shape}, elements), 0);
  };
  const std::vector<Tensor> rows = {Of(type, TensorShape({3})), Of(type, TensorShape({3}))};
  AddProgram("set and get", rows, [&](const Scope& s, const OutputList& in) {
    Output list(Node(s, "TensorListReserve", {row_shape, 4}, elements), 0);
    const Output empty = list;
    list = Output(Node(s, "TensorListSetItem", {list, 1, in[0]}, elements), 0);
    list = Output(Node(s, "TensorListSetItem", {list, 3, in[1]}, elements), 0);
    const Output longer(Node(s, "TensorListResize", {list, 6}), 0);
    return OutputList{stack(s, list), get(s, list, 1), get(s, list, 2), stack(s, empty), stack(s, longer)};
  });
  AddProgram("push and pop", rows, [&](const Scope& s, const OutputList& in) {
    Output list(Node(s, "EmptyTensorList", {unknown, -1}, Attr("shape_type", DT_INT32, elements)), 0);
    list = Output(Node(s, "TensorListPushBack", {list, in[0]}, elements), 0);
    const Output one = list;
    list = Output(Node(s, "TensorListPushBack", {list, in[1]}, elements), 0);
    const Operation pop = Node(s, "TensorListPopBack", {list, unknown}, elements);
    const Output shape(Node(s, "TensorListElementShape", {list}, Attr("shape_type", DT_INT64)), 0);
    return OutputList{Output(pop, 1), stack(s, Output(pop, 0)),
                      stack(s, one),  stack(s, list),
                      shape,          Output(Node(s, "TensorListLength", {list}), 0)};
  });
  AddProgram("many lists", {Of(type, TensorShape({1, 3})), rows[0]}, [&](const Scope& s, const OutputList& in) {
    const Output list(Node(s, "TensorListFromTensor", {in[0], row_shape}, elements), 0);
    const Output vector = ops::ExpandDims(s, list, 0);
    const Output batch(Node(s, "TensorListPushBackBatch", {vector, in[0]}, elements), 0);
    const Output pushed = ops::Squeeze(s, batch);
    const Output both(Node(s, "TensorListConcatLists", {list, pushed}, elements), 0);
    return OutputList{stack(s, pushed), stack(s, both)};
  });
  // A list of lists, of which some are the same.
  AddProgram("lists within lists", {rows[0]}, [&](const Scope& s, const OutputList& in) {
    const auto lists = Attr("element_dtype", DT_VARIANT);
    Output inner(Node(s, "EmptyTensorList", {row_shape, -1}, elements), 0);
    inner = Output(Node(s, "TensorListPushBack", {inner, in[0]}, elements), 0);
    Output outer(Node(s, "EmptyTensorList", {unknown, -1}, lists), 0);
    for (int i = 0; i < 2; ++i) outer = Output(Node(s, "TensorListPushBack", {outer, inner}, lists), 0);
    if (type != DT_BOOL) outer = ops::AddN(s, {outer, outer});
    const Operation pop = Node(s, "TensorListPopBack", {outer, unknown}, lists);
    const Output zeros = ops::ZerosLike(s, outer);
    const Operation popped_zeros = Node(s, "TensorListPopBack", {zeros, unknown}, lists);
    return OutputList{stack(s, Output(pop, 1)), stack(s, Output(popped_zeros, 1))};
  });
  AddProgram("zeros", rows, [&](const Scope& s, const OutputList& in) {
    Output list(Node(s, "TensorListReserve", {row_shape, 3}, elements), 0);
    list = Output(Node(s, "TensorListSetItem", {list, 1, in[0]}, elements), 0);
    OutputList out = {stack(s, ops::ZerosLike(s, list))};
    if (type == DT_BOOL) return out;
    Output other(Node(s, "TensorListReserve", {row_shape, 3}, elements), 0);
    other = Output(Node(s, "TensorListSetItem", {other, 1, in[1]}, elements), 0);
    other = Output(Node(s, "TensorListSetItem", {other, 2, in[1]}, elements), 0);
    out.push_back(stack(s, ops::AddN(s, {list, other, other})));
    return out;
  });
}

// More elements than one launch joins.
void GpuAgreementTest::AddLongLists(DataType type) {
  const auto elements = Attr("element_dtype", type);
  const Tensor shape = AsTensor<int32_t>({3});
  AddProgram("many elements", {Of(type, TensorShape({250, 3}))}, [&](const Scope& s, const OutputList& in) {
    const Output list(Node(s, "TensorListFromTensor", {in[0], shape}, elements), 0);
    return OutputList{
        Output(Node(s, "TensorListStack", {list, shape}, elements), 0),
        Output(Node(s, "TensorListConcat", {list}, Attr("element_shape", PartialTensorShape({3}), elements)), 0)};
  });
}

// Rows that are aligned and rows that are not.
void GpuAgreementTest::AddListsOfRows(DataType type) {
  const auto elements = Attr("element_dtype", type);
  const auto indices = [](std::vector<int32_t> values) { return AsTensor<int32_t>(values); };
  for (const int width : {3, 64}) {
    const Tensor row_shape = AsTensor<int32_t>({width}), rows_shape = AsTensor<int32_t>({-1, width});
    const auto stack = [=, this](const Scope& s, const Output& list) {
      return Output(Node(s, "TensorListStack", {list, row_shape}, elements), 0);
    };
    const Tensor rows = Of(type, TensorShape({4, width}));
    AddProgram("rows", {rows}, [&](const Scope& s, const OutputList& in) {
      const Output list(Node(s, "TensorListFromTensor", {in[0], row_shape}, elements), 0);
      const Output one(Node(s, "TensorListGetItem", {list, 2, row_shape}, elements), 0);
      return OutputList{stack(s, list), one,
                        Output(Node(s, "TensorListGather", {list, indices({3, 0, 3}), row_shape}, elements), 0)};
    });
    AddProgram("scattered rows", {rows}, [&](const Scope& s, const OutputList& in) {
      const Tensor to = indices({4, 0, 2, 5});
      const Output first(Node(s, "TensorListScatter", {in[0], to, row_shape}, elements), 0);
      const Output second(Node(s, "TensorListScatterV2", {in[0], to, row_shape, 8}, elements), 0);
      const Output into(Node(s, "TensorListScatterIntoExistingList", {second, in[0], indices({1, 2, 3, 7})}, elements),
                        0);
      return OutputList{stack(s, first), stack(s, second), stack(s, into)};
    });
    AddProgram("parts", {rows}, [&](const Scope& s, const OutputList& in) {
      OutputList out;
      for (const std::vector<int64_t>& lengths : {std::vector<int64_t>{1, 0, 3}, std::vector<int64_t>{2, 2}}) {
        const Output list(Node(s, "TensorListSplit", {in[0], rows_shape, AsTensor<int64_t>(lengths)}, elements), 0);
        const Output part(Node(s, "TensorListGetItem", {list, 1, rows_shape}, elements), 0);
        const Output longer(Node(s, "TensorListResize", {list, 4}), 0);
        const Operation joined = Node(s, "TensorListConcat", {list}, elements);
        const Operation padded =
            Node(s, "TensorListConcatV2", {longer, rows_shape, AsTensor<int64_t>({2, 2, 2, 1})}, elements);
        for (const Output& output :
             {part, Output(joined, 0), Output(joined, 1), Output(padded, 0), Output(padded, 1)}) {
          out.push_back(output);
        }
      }
      return out;
    });
  }
}

void GpuAgreementTest::AddArrays(DataType type) {
  const auto elements = Attr("dtype", type);
  const Tensor all = AsTensor<int32_t>({2, 0, 1});
  const auto make = [=, this](const Scope& s, int size) {
    return Node(s, "TensorArrayV3", {size},
                Attr("clear_after_read", false, Attr("element_shape", PartialTensorShape({3}), elements)));
  };
  const Tensor rows = Of(type, TensorShape({3, 3})), row = Of(type, TensorShape({3}));
  AddProgram("written one by one", {row}, [&](const Scope& s, const OutputList& in) {
    const Operation array = make(s, 2);
    const Output handle(array, 0);
    const Output flow(Node(s, "TensorArrayWriteV3", {handle, 1, in[0], Output(array, 1)}), 0);
    const Output missing(Node(s, "TensorArrayReadV3", {handle, 0, flow}, elements), 0);
    const Output read(Node(s, "TensorArrayReadV3", {handle, 1, flow}, elements), 0);
    return OutputList{missing, read, flow, Output(Node(s, "TensorArraySizeV3", {handle, flow}), 0)};
  });
  AddProgram("scattered", {rows}, [&](const Scope& s, const OutputList& in) {
    const Operation array = make(s, 3);
    const Output handle(array, 0);
    const Output flow(Node(s, "TensorArrayScatterV3", {handle, all, in[0], Output(array, 1)}), 0);
    const Output gathered(Node(s, "TensorArrayGatherV3", {handle, AsTensor<int32_t>({1, 1, 0}), flow}, elements), 0);
    const Operation joined = Node(s, "TensorArrayConcatV3", {handle, flow}, elements);
    const Scope behind = s.WithControlDependencies(OutputList{gathered, Output(joined, 0)});
    const Operation closed = Node(behind, "TensorArrayCloseV3", {handle});
    const Scope after = s.WithControlDependencies(std::vector<Operation>{closed});
    return OutputList{gathered, Output(joined, 0), Output(joined, 1), ops::Identity(after, flow)};
  });
  AddProgram("split", {rows}, [&](const Scope& s, const OutputList& in) {
    const Operation array = Node(s, "TensorArrayV3", {2}, elements);
    const Output handle(array, 0);
    const Output flow(Node(s, "TensorArraySplitV3", {handle, in[0], AsTensor<int64_t>({1, 2}), Output(array, 1)}), 0);
    return OutputList{Output(Node(s, "TensorArrayReadV3", {handle, 1, flow}, elements), 0)};
  });
  if (type == DT_BOOL) return;
  // Further writes to a gradient are added.
  AddProgram("gradients", {row}, [&](const Scope& s, const OutputList& in) {
    const Operation array = make(s, 2);
    const Output handle(array, 0);
    const Operation gradient =
        Node(s, "TensorArrayGradV3", {handle, Output(array, 1)}, Attr("source", std::string("g")));
    const Operation wide = Node(s, "TensorArrayGradWithShape", {handle, Output(array, 1), AsTensor<int32_t>({2})},
                                Attr("source", std::string("w")));
    Output flow(gradient, 1);
    for (int i = 0; i < 3; ++i) {
      flow = Output(Node(s, "TensorArrayWriteV3", {Output(gradient, 0), 1, in[0], flow}), 0);
    }
    return OutputList{Output(Node(s, "TensorArrayReadV3", {Output(gradient, 0), 1, flow}, elements), 0),
                      Output(Node(s, "TensorArrayReadV3", {Output(wide, 0), 0, Output(wide, 1)}, elements), 0)};
  });
}

void GpuAgreementTest::AddStacks(DataType type) {
  const auto typed = Attr("elem_type", type);
  AddProgram("stack", {Of(type, TensorShape({3})), Of(type, TensorShape({2}))},
             [&](const Scope& s, const OutputList& in) {
               const Output handle(Node(s, "StackV2", {4}, typed), 0);
               OutputList pushed;
               for (const Output& value : in) {
                 const Scope behind = s.WithControlDependencies(pushed);
                 pushed.emplace_back(Node(behind, "StackPushV2", {handle, value}, Attr("swap_memory", true)), 0);
               }
               const Output last(Node(s.WithControlDependencies(pushed), "StackPopV2", {handle}, typed), 0);
               const Output first(Node(s.WithControlDependencies(OutputList{last}), "StackPopV2", {handle}, typed), 0);
               const Operation closed = Node(s.WithControlDependencies(OutputList{first}), "StackCloseV2", {handle});
               const Scope after = s.WithControlDependencies(std::vector<Operation>{closed});
               return OutputList{pushed[0], pushed[1], ops::Identity(after, first), last};
             });
}

}  // namespace weir
