// Stacks, tensor arrays and tensor lists.
#include "kernels/containers/stack.h"
#include "kernels/containers/tensor_list.h"
#include "kernels/containers/variant_arithmetic.h"
#include "kernels/data/iterators/optional.h"
#include "kernels/device/variant_nesting.h"
#include "kernels/library.h"
#include "kernels/op_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using Code = absl::StatusCode;

Tensor V(std::vector<float> values) { return AsTensor<float>(std::move(values)); }
Tensor I(int32_t value) { return AsScalar<int32_t>(value); }
Tensor Is(std::vector<int32_t> values) { return AsTensor<int32_t>(std::move(values)); }

class SequenceTest : public OpTest {
 protected:
  const Tensor flow_ = AsScalar<float>(0);

  Tensor Array(int size, Attrs attrs = {}) {
    absl::StatusOr<std::vector<Tensor>> out = RunOp("TensorArrayV3", {I(size)}, attrs.Set("dtype", DT_FLOAT));
    EXPECT_THAT(out, IsOk());
    return (*out)[0];
  }
  absl::Status Write(const Tensor& array, int index, const Tensor& value) {
    return RunOp("TensorArrayWriteV3", {array, I(index), value, flow_}).status();
  }
  absl::StatusOr<Tensor> Read(const Tensor& array, int index) {
    return RunOp1("TensorArrayReadV3", {array, I(index), flow_}, Attrs().Set("dtype", DT_FLOAT));
  }
  absl::StatusOr<Tensor> Gather(const Tensor& array, std::vector<int32_t> indices) {
    return RunOp1("TensorArrayGatherV3", {array, Is(indices), flow_}, Attrs().Set("dtype", DT_FLOAT));
  }

  const Attrs floats_ = Attrs().Set("element_dtype", DT_FLOAT);
  Tensor List(const Tensor& shape = I(-1), int max = -1) {
    absl::StatusOr<Tensor> list = RunOp1("EmptyTensorList", {shape, I(max)}, floats_);
    EXPECT_THAT(list, IsOk());
    return *list;
  }
  Tensor Reserve(int n, const Tensor& shape = I(-1)) {
    absl::StatusOr<Tensor> list = RunOp1("TensorListReserve", {shape, I(n)}, floats_);
    EXPECT_THAT(list, IsOk());
    return *list;
  }
  absl::StatusOr<Tensor> Push(const Tensor& list, const Tensor& value) {
    return RunOp1("TensorListPushBack", {list, value});
  }
  absl::StatusOr<Tensor> Get(const Tensor& list, int i) {
    return RunOp1("TensorListGetItem", {list, I(i), I(-1)}, floats_);
  }
  absl::StatusOr<Tensor> Stack(const Tensor& list) { return RunOp1("TensorListStack", {list, I(-1)}, floats_); }
};

// What a handle is after a way over another task: its name.
Tensor WithoutShare(const Tensor& handle) {
  ResourceHandle name = handle.scalar<ResourceHandle>();
  name.resource = nullptr;
  return Tensor::Scalar(std::move(name));
}

TEST_F(SequenceTest, HandlesThatWereSentFindTheirObjectAgain) {
  const Tensor array = Array(2);
  ASSERT_OK_AND_ASSIGN(Tensor stack, RunOp1("StackV2", {I(2)}, Attrs().Set("elem_type", DT_FLOAT)));
  EXPECT_THAT(Write(WithoutShare(array), 0, V({1})), StatusIs(Code::kNotFound, HasSubstr("does not exist")));
  for (const Tensor& handle : {array, stack}) {
    const std::string name = handle.scalar<ResourceHandle>().name;
    for (int times = 0; times < 2; ++times) {
      ASSERT_THAT(RunOp("_Send", {handle},
                        Attrs()
                            .Set("tensor_name", absl::StrCat(name, times))
                            .Set("send_device", device()->name())
                            .Set("send_device_incarnation", int64_t{1})
                            .Set("recv_device", "/job:other/replica:0/task:0/device:CPU:0")),
                  IsOk());
    }
  }
  ASSERT_THAT(Write(WithoutShare(array), 0, V({1})), IsOk());
  ASSERT_OK_AND_ASSIGN(const Tensor read, Read(array, 0));
  ExpectTensorEqual(read, V({1}));
  EXPECT_THAT(RunOp("StackPushV2", {WithoutShare(stack), V({1})}), IsOk());
  EXPECT_THAT(Write(WithoutShare(stack), 0, V({1})), StatusIs(Code::kInvalidArgument));
}

TEST_F(SequenceTest, StacksGiveBackTheLastFirst) {
  const Attrs attrs = Attrs().Set("elem_type", DT_FLOAT).Set("stack_name", "s");
  ASSERT_OK_AND_ASSIGN(Tensor stack, RunOp1("StackV2", {I(1)}, attrs));
  ASSERT_THAT(RunOp("StackPushV2", {stack, V({1})}), IsOk());
  ASSERT_OK_AND_ASSIGN(Tensor pushed, RunOp1("StackPushV2", {stack, V({2, 3})}));
  ExpectTensorEqual(pushed, V({2, 3}));
  EXPECT_THAT(RunOp("StackPushV2", {stack, V({4})}),
              StatusIs(Code::kInvalidArgument, HasSubstr("overflowed its max_size (1)")));
  EXPECT_THAT(RunOp("StackPushV2", {stack, I(4)}),
              StatusIs(Code::kInvalidArgument, HasSubstr("Must have type float but got int32")));
  const Attrs pop = Attrs().Set("elem_type", DT_FLOAT);
  ASSERT_OK_AND_ASSIGN(Tensor popped, RunOp1("StackPopV2", {stack}, pop));
  ExpectTensorEqual(popped, V({2, 3}));
  ASSERT_OK_AND_ASSIGN(popped, RunOp1("StackPopV2", {stack}, pop));
  ExpectTensorEqual(popped, V({1}));
  EXPECT_THAT(RunOp("StackPopV2", {stack}, pop),
              StatusIs(Code::kInvalidArgument, HasSubstr("Stack[s] is empty when calling Pop()")));
  ASSERT_THAT(RunOp("StackCloseV2", {stack}), IsOk());
  EXPECT_THAT(RunOp("StackPopV2", {stack}, pop), StatusIs(Code::kInvalidArgument, HasSubstr("already been closed")));
  EXPECT_THAT(RunOp("TensorArraySizeV3", {stack, flow_}), StatusIs(Code::kInvalidArgument, HasSubstr("wrong type")));
}

TEST_F(SequenceTest, ArraysKeepElements) {
  const Tensor array = Array(2);
  ASSERT_THAT(Write(array, 1, V({3, 4})), IsOk());
  ASSERT_THAT(Write(array, 0, V({1, 2})), IsOk());
  ASSERT_OK_AND_ASSIGN(Tensor size, RunOp1("TensorArraySizeV3", {array, flow_}));
  ExpectTensorEqual(size, I(2));
  ASSERT_OK_AND_ASSIGN(Tensor both, Gather(array, {1, 0}));
  ExpectTensorEqual(both, AsTensor<float>({3, 4, 1, 2}, {2, 2}));
  EXPECT_THAT(Read(array, 0),
              StatusIs(Code::kInvalidArgument, HasSubstr("twice because it was cleared after a previous read")));
}

TEST_F(SequenceTest, ArraysRefuseWhatDoesNotFit) {
  Attrs shaped;
  shaped.Set("element_shape", PartialTensorShape(TensorShape({2})));
  const Tensor array = Array(2, shaped);
  EXPECT_THAT(Write(array, 9, V({1, 2})),
              StatusIs(Code::kInvalidArgument,
                       HasSubstr("Tried to write to index 9 but array is not resizeable and size is: 2")));
  EXPECT_THAT(Write(array, -1, V({1, 2})), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(
      Write(array, 0, I(1)),
      StatusIs(Code::kInvalidArgument, HasSubstr("TensorArray dtype is float but Op is trying to write dtype int32.")));
  EXPECT_THAT(
      Write(array, 0, V({1})),
      StatusIs(Code::kInvalidArgument, HasSubstr("incompatible with the TensorArray's inferred element shape: [2]")));
  ASSERT_THAT(Write(array, 0, V({1, 2})), IsOk());
  EXPECT_THAT(Write(array, 0, V({1, 2})), StatusIs(Code::kInvalidArgument, HasSubstr("already been written to")));
  EXPECT_THAT(Read(array, 7),
              StatusIs(Code::kInvalidArgument, HasSubstr("Tried to read from index 7 but array size is: 2")));
  ASSERT_OK_AND_ASSIGN(Tensor zeros, Read(array, 1));
  ExpectTensorEqual(zeros, V({0, 0}));
  EXPECT_THAT(Read(Array(1), 0),
              StatusIs(Code::kInvalidArgument, HasSubstr("the element shape is not fully defined: <unknown>")));
  EXPECT_THAT(RunOp("TensorArrayV3", {I(-1)}, Attrs().Set("dtype", DT_FLOAT)),
              StatusIs(Code::kInvalidArgument, HasSubstr("Size should be >= 0.")));
  EXPECT_THAT(RunOp("TensorArrayV3", {I(INT32_MAX)}, Attrs().Set("dtype", DT_FLOAT)), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(Gather(Array(0), {}), StatusIs(Code::kUnimplemented, HasSubstr("size zero")));
  ASSERT_THAT(RunOp("TensorArrayCloseV3", {array}), IsOk());
  EXPECT_THAT(Read(array, 0), StatusIs(Code::kInvalidArgument, HasSubstr("already been closed")));
  Attrs dynamic;
  dynamic.Set("dynamic_size", true);
  EXPECT_THAT(Write(Array(0, dynamic), INT32_MAX, V({1})), StatusIs(Code::kInvalidArgument));
}

TEST_F(SequenceTest, ArraysAreTakenApartAndPutTogether) {
  const Tensor array = Array(2), rows = Array(2);
  ASSERT_THAT(RunOp("TensorArraySplitV3", {array, V({1, 2, 3}), AsTensor<int64_t>({1, 2}), flow_}), IsOk());
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> joined,
                       RunOp("TensorArrayConcatV3", {array, flow_}, Attrs().Set("dtype", DT_FLOAT)));
  ExpectTensorEqual(joined[0], V({1, 2, 3}));
  ExpectTensorEqual(joined[1], AsTensor<int64_t>({1, 2}));
  ASSERT_THAT(RunOp("TensorArrayScatterV3", {rows, Is({1, 0}), AsTensor<float>({1, 2, 3, 4}, {2, 2}), flow_}), IsOk());
  ASSERT_OK_AND_ASSIGN(Tensor first, Read(rows, 0));
  ExpectTensorEqual(first, V({3, 4}));
  EXPECT_THAT(RunOp("TensorArraySplitV3", {Array(2), V({1, 2}), AsTensor<int64_t>({1, 2}), flow_}),
              StatusIs(Code::kInvalidArgument, HasSubstr("Expected sum of lengths to be equal to values.shape[0]")));
  EXPECT_THAT(RunOp("TensorArraySplitV3", {Array(3), V({1, 2, 3}), AsTensor<int64_t>({1, 2}), flow_}),
              StatusIs(Code::kInvalidArgument,
                       HasSubstr("(3 vs. 2), and the TensorArray is not marked as dynamically resizeable")));
  EXPECT_THAT(
      RunOp("TensorArrayScatterV3", {Array(3), Is({1}), V({1, 2}), flow_}),
      StatusIs(Code::kInvalidArgument, HasSubstr("Expected len(indices) == values.shape[0], but saw: 1 vs. 2")));
  const Tensor scalars = Array(1);
  ASSERT_THAT(Write(scalars, 0, AsScalar<float>(1)), IsOk());
  EXPECT_THAT(RunOp("TensorArrayConcatV3", {scalars, flow_}, Attrs().Set("dtype", DT_FLOAT)),
              StatusIs(Code::kInvalidArgument, HasSubstr("Did you mean to call pack?")));
}

TEST_F(SequenceTest, GradientsOfArraysAddUp) {
  const Tensor array = Array(2);
  ASSERT_THAT(Write(array, 0, V({1, 2})), IsOk());
  const Attrs source = Attrs().Set("source", "g");
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> made, RunOp("TensorArrayGradV3", {array, flow_}, source));
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> again, RunOp("TensorArrayGradV3", {array, flow_}, source));
  const Tensor first = V({5, 6});
  ASSERT_THAT(Write(made[0], 0, first), IsOk());
  ASSERT_THAT(Write(again[0], 0, V({1, 1})), IsOk());
  ASSERT_OK_AND_ASSIGN(Tensor sum, Read(made[0], 0));
  ExpectTensorEqual(sum, V({6, 7}));
  ExpectTensorEqual(first, V({5, 6}));
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> other,
                       RunOp("TensorArrayGradV3", {array, flow_}, Attrs().Set("source", "h")));
  ASSERT_OK_AND_ASSIGN(Tensor zeros, Read(other[0], 0));
  ExpectTensorEqual(zeros, V({0, 0}));
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> larger,
                       RunOp("TensorArrayGradWithShape", {array, flow_, Is({3})}, Attrs().Set("source", "w")));
  ASSERT_OK_AND_ASSIGN(Tensor shaped, Read(larger[0], 0));
  EXPECT_EQ(shaped.shape(), TensorShape({3, 2}));
}

TEST_F(SequenceTest, ListsAreValues) {
  const Tensor empty = List();
  ASSERT_OK_AND_ASSIGN(Tensor one, Push(empty, V({1, 2})));
  ASSERT_OK_AND_ASSIGN(Tensor two, Push(one, V({3, 4})));
  ASSERT_OK_AND_ASSIGN(Tensor other, RunOp1("TensorListSetItem", {two, I(0), V({9, 9})}));
  ASSERT_OK_AND_ASSIGN(Tensor stacked, Stack(two));
  ExpectTensorEqual(stacked, AsTensor<float>({1, 2, 3, 4}, {2, 2}));
  ASSERT_OK_AND_ASSIGN(stacked, Stack(other));
  ExpectTensorEqual(stacked, AsTensor<float>({9, 9, 3, 4}, {2, 2}));
  ASSERT_OK_AND_ASSIGN(Tensor length, RunOp1("TensorListLength", {one}));
  ExpectTensorEqual(length, I(1));
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> popped, RunOp("TensorListPopBack", {two, I(-1)}, floats_));
  ExpectTensorEqual(popped[1], V({3, 4}));
  ASSERT_OK_AND_ASSIGN(length, RunOp1("TensorListLength", {popped[0]}));
  ExpectTensorEqual(length, I(1));
  ASSERT_OK_AND_ASSIGN(Tensor gathered, RunOp1("TensorListGather", {two, Is({1, 0, 1}), I(-1)}, floats_));
  ExpectTensorEqual(gathered, AsTensor<float>({3, 4, 1, 2, 3, 4}, {3, 2}));
}

TEST_F(SequenceTest, MissingElementsOfListsAreZerosWhereTheirShapeIsKnown) {
  ASSERT_OK_AND_ASSIGN(Tensor zeros, Get(Reserve(2, Is({3})), 1));
  ExpectTensorEqual(zeros, V({0, 0, 0}));
  ASSERT_OK_AND_ASSIGN(Tensor mixed, RunOp1("TensorListSetItem", {Reserve(2), I(0), V({1, 2})}));
  ASSERT_OK_AND_ASSIGN(Tensor stacked, Stack(mixed));
  ExpectTensorEqual(stacked, AsTensor<float>({1, 2, 0, 0}, {2, 2}));
  EXPECT_THAT(Get(Reserve(2), 1),
              StatusIs(Code::kInvalidArgument,
                       HasSubstr("Trying to read an uninitialized tensor but element_shape is not fully defined")));
  EXPECT_THAT(Stack(Reserve(2)), StatusIs(Code::kInvalidArgument,
                                          HasSubstr("Tried to stack list which only contains uninitialized tensors")));
}

TEST_F(SequenceTest, ListsAreMadeFromTensors) {
  const Tensor matrix = AsTensor<float>({1, 2, 3, 4}, {2, 2});
  ASSERT_OK_AND_ASSIGN(Tensor list, RunOp1("TensorListFromTensor", {matrix, Is({2})}));
  ASSERT_OK_AND_ASSIGN(Tensor stacked, Stack(list));
  ExpectTensorEqual(stacked, matrix);
  ASSERT_OK_AND_ASSIGN(list, RunOp1("TensorListScatterV2", {matrix, Is({2, 0}), Is({2}), I(4)}));
  ASSERT_OK_AND_ASSIGN(stacked, Stack(list));
  ExpectTensorEqual(stacked, AsTensor<float>({3, 4, 0, 0, 1, 2, 0, 0}, {4, 2}));
  ASSERT_OK_AND_ASSIGN(list, RunOp1("TensorListSplit", {V({1, 2, 3}), Is({-1}), AsTensor<int64_t>({1, 2})}));
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> joined,
                       RunOp("TensorListConcatV2", {list, Is({-1}), Tensor(DT_INT64, {0})}, floats_));
  ExpectTensorEqual(joined[0], V({1, 2, 3}));
  ExpectTensorEqual(joined[1], AsTensor<int64_t>({1, 2}));
  ASSERT_OK_AND_ASSIGN(joined,
                       RunOp("TensorListConcatV2", {Reserve(2), Is({-1, 2}), AsTensor<int64_t>({1, 2})}, floats_));
  ExpectTensorEqual(joined[0], AsTensor<float>({0, 0, 0, 0, 0, 0}, {3, 2}));
  ASSERT_OK_AND_ASSIGN(list, RunOp1("TensorListConcatLists", {list, list}, floats_));
  ASSERT_OK_AND_ASSIGN(Tensor length, RunOp1("TensorListLength", {list}));
  ExpectTensorEqual(length, I(4));
  ASSERT_OK_AND_ASSIGN(list, RunOp1("TensorListResize", {list, I(1)}));
  ASSERT_OK_AND_ASSIGN(length, RunOp1("TensorListLength", {list}));
  ExpectTensorEqual(length, I(1));
  ASSERT_OK_AND_ASSIGN(Tensor shape,
                       RunOp1("TensorListElementShape", {List(Is({2, -1}))}, Attrs().Set("shape_type", DT_INT32)));
  ExpectTensorEqual(shape, Is({2, -1}));
}

TEST_F(SequenceTest, ListsRefuseWhatDoesNotFit) {
  const Tensor none = Tensor::Scalar(Variant());
  ASSERT_OK_AND_ASSIGN(Tensor one, Push(List(), V({1})));
  ASSERT_OK_AND_ASSIGN(Tensor unequal, Push(one, V({1, 2})));
  const auto error = [&](absl::Status status, const std::string& message) {
    EXPECT_THAT(status, StatusIs(Code::kInvalidArgument, HasSubstr(message)));
  };
  error(Push(List(I(-1), 0), V({1})).status(), "Tried to push item into a full list list size: 0 max_num_elements: 0");
  error(Push(List(Is({2})), V({1})).status(),
        "Tried to append a tensor with incompatible shape to a list. Op element shape: [1] list shape: [2]");
  error(Push(List(), I(1)).status(), "Invalid data types");
  error(Push(none, V({1})).status(), "Input handle is not a list. Saw: 'an empty variant'");
  error(RunOp("TensorListPopBack", {List(), I(-1)}, floats_).status(), "Trying to pop from an empty list.");
  error(Get(one, 3).status(), "Trying to access element 3 in a list with 1 elements.");
  error(Get(one, -1).status(), "Trying to access element -1");
  error(RunOp("TensorListSetItem", {one, I(5), V({1})}).status(),
        "Trying to modify element 5 in a list with 1 elements.");
  error(RunOp("TensorListSetItem", {one, I(INT32_MAX), V({1})}, Attrs().Set("resize_if_index_out_of_bounds", true))
            .status(),
        "Trying to modify");
  error(Stack(List()).status(),
        "Tried to stack elements of an empty list with non-fully-defined element_shape: <unknown>");
  error(RunOp("TensorListStack", {one, I(-1)}, Attrs().Set("element_dtype", DT_FLOAT).Set("num_elements", 3)).status(),
        "Operation expected a list with 3 elements but got a list with 1 elements.");
  error(Stack(unequal).status(), "");
  error(RunOp("TensorListGather", {one, Is({4}), I(-1)}, floats_).status(),
        "Trying to gather element 4 in a list with 1 elements.");
  error(RunOp("TensorListReserve", {I(-1), I(-5)}, floats_).status(), "num_elements to reserve");
  error(RunOp("TensorListReserve", {I(-1), I(INT32_MAX)}, floats_).status(), "num_elements to reserve");
  error(RunOp("TensorListReserve", {I(-2), I(1)}, floats_).status(), "fully unknown shape specified as -1");
  error(RunOp("TensorListFromTensor", {AsTensor<float>({1, 2}, {2, 1}), Is({2})}).status(),
        "Specified a list with shape [2] from a tensor with shape [1]");
  error(RunOp("TensorListFromTensor", {AsScalar<float>(1), I(-1)}).status(), "at least a vector");
  error(RunOp("TensorListScatter", {V({1, 2}), Is({0, -3}), I(-1)}).status(), "non-negative");
  error(RunOp("TensorListSplit", {V({1, 2}), Is({-1}), AsTensor<int64_t>({1, 2})}).status(),
        "Attempting to slice [1, 3] from tensor with length 2");
  error(RunOp("TensorListSplit", {V({1, 2}), Is({-1}), AsTensor<int64_t>({1})}).status(), "Unused values in tensor");
  error(RunOp("TensorListResize", {one, I(-1)}).status(), "non-negative");
}

TEST_F(SequenceTest, ListsAreAddedAndZeroedByElement) {
  ASSERT_OK_AND_ASSIGN(Tensor a, Push(List(), V({1, 2})));
  ASSERT_OK_AND_ASSIGN(a, Push(a, V({3})));
  ASSERT_OK_AND_ASSIGN(Tensor zeros, RunOp1("ZerosLike", {a}));
  ASSERT_OK_AND_ASSIGN(Tensor zero, Get(zeros, 0));
  ExpectTensorEqual(zero, V({0, 0}));
  ASSERT_OK_AND_ASSIGN(Tensor sum, RunOp1("AddN", {a, a, zeros}));
  ASSERT_OK_AND_ASSIGN(Tensor first, Get(sum, 0));
  ExpectTensorEqual(first, V({2, 4}));
  ASSERT_OK_AND_ASSIGN(Tensor second, Get(sum, 1));
  ExpectTensorEqual(second, V({6}));
  EXPECT_THAT(RunOp1("AddN", {a, List()}), StatusIs(Code::kInvalidArgument, HasSubstr("different lengths")));
  EXPECT_THAT(RunOp1("ZerosLike", {Tensor::Scalar(Variant())}), StatusIs(Code::kInternal));
}

TEST_F(SequenceTest, VariantsThatHoldTooManyOthersAreRefused) {
  const Attrs variants = Attrs().Set("element_dtype", DT_VARIANT);
  ASSERT_OK_AND_ASSIGN(const Tensor empty, RunOp1("EmptyTensorList", {Is({}), I(-1)}, variants));
  Tensor nested = List();
  absl::Status status;
  int depth = 1;
  for (; status.ok() && depth <= 2 * kMaxVariantDepth; ++depth) {
    // Each holds the one before twice: as a tree it would be far too large.
    ASSERT_OK_AND_ASSIGN(const Tensor once, RunOp1("TensorListPushBack", {empty, nested}, variants));
    ASSERT_OK_AND_ASSIGN(nested, RunOp1("TensorListPushBack", {once, nested}, variants));
    if (depth == 60) {
      EXPECT_THAT(RunOp1("ZerosLike", {nested}), StatusIs(Code::kResourceExhausted));
      EXPECT_THAT(RunOp1("AddN", {nested, nested}), StatusIs(Code::kResourceExhausted));
    }
    status = CheckNesting(nested);
  }
  EXPECT_EQ(depth, kMaxVariantDepth);
  EXPECT_THAT(RunOp1("TensorListPushBack", {empty, nested}, variants), StatusIs(Code::kResourceExhausted));
}

TEST_F(SequenceTest, OptionalsCountAsTheirTensors) {
  const Tensor some = OptionalTensor(Element{V({1, 2}), I(3)}), none = OptionalTensor(std::nullopt);
  const auto expect = [](absl::StatusOr<Tensor> actual, const Tensor& first, int second) {
    ASSERT_THAT(actual, IsOk());
    ASSERT_OK_AND_ASSIGN(const std::optional<Element> value, OptionalFromTensor(*actual, "the test"));
    ASSERT_TRUE(value.has_value());
    ExpectTensorEqual((*value)[0], first);
    ExpectTensorEqual((*value)[1], I(second));
  };
  expect(RunOp1("ZerosLike", {some}), V({0, 0}), 0);
  expect(RunOp1("AddN", {some, some}), V({2, 4}), 6);
  EXPECT_THAT(RunOp1("ZerosLike", {none}), IsOk());
  EXPECT_THAT(RunOp1("AddN", {none, none}), IsOk());
  EXPECT_THAT(RunOp1("AddN", {some, none}), StatusIs(Code::kInvalidArgument, HasSubstr("one has a value")));
  EXPECT_THAT(RunOp1("AddN", {some, OptionalTensor(Element{V({1, 2})})}),
              StatusIs(Code::kInvalidArgument, HasSubstr("numbers of components")));
}

TEST_F(SequenceTest, ListsSurviveTheWire) {
  ASSERT_OK_AND_ASSIGN(Tensor list, RunOp1("TensorListSetItem", {Reserve(3, Is({-1})), I(1), V({1, 2})}));
  std::string metadata;
  std::vector<Tensor> tensors;
  ASSERT_THAT(list.scalar<Variant>().value()->Encode(&metadata, &tensors), IsOk());
  VariantRegistry variants;
  ASSERT_THAT(RegisterAllVariants(variants), IsOk());
  Variant decoded(std::make_shared<EncodedVariant>(TensorList::kTypeName, metadata, tensors));
  ASSERT_THAT(variants.Decode(&decoded), IsOk());
  const TensorList* const back = decoded.get<TensorList>();
  ASSERT_NE(back, nullptr);
  EXPECT_EQ(back->elements.size(), 3);
  EXPECT_FALSE(back->elements[0].has_value());
  ExpectTensorEqual(*back->elements[1], V({1, 2}));
  EXPECT_EQ(back->element_shape.dims(), 1);
  for (size_t cut = 0; cut < metadata.size(); ++cut) {  // never a crash, whatever arrives
    Variant bad(std::make_shared<EncodedVariant>(TensorList::kTypeName, metadata.substr(0, cut), tensors));
    variants.Decode(&bad).IgnoreError();
  }
}

// Each holds the handle of the one before: freeing them one within the other would take more than a thread's stack.
TEST(StackChainTest, StacksThatHoldEachOtherAreFreedInTurn) {
  std::shared_ptr<Stack> last;
  for (int i = 0; i < 300'000; ++i) {
    auto stack = std::make_shared<Stack>("stack", DT_RESOURCE, /*max_size=*/-1);
    ResourceHandle handle;
    handle.resource = std::move(last);
    ASSERT_THAT(stack->Push({Tensor::Scalar(std::move(handle))}), IsOk());
    last = std::move(stack);
  }
}

}  // namespace
}  // namespace weir
