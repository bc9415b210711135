// Compares gradients through tensor arrays, lists, maps and composite tensors with central differences.
#include "client/ops.h"
#include "client/while_loop.h"
#include "tests/gradients/two_argument_test.h"

namespace weir {
namespace {

class ContainerGradientsTest : public TwoArgumentGradientsTest {
 protected:
  const Attrs doubles_ = Attrs().Set("dtype", DT_DOUBLE), elements_ = Attrs().Set("element_dtype", DT_DOUBLE);
};

// An array of one version of the ops.
class TensorArrayGradientsTest : public ContainerGradientsTest, public ::testing::WithParamInterface<const char*> {
 protected:
  std::string Name(const char* op) { return absl::StrCat(op, GetParam()); }
  void MakeArray(int32_t size) {
    Attrs attrs = doubles_;
    attrs.Set("clear_after_read", false);
    handle_ = Call(Name("TensorArray"), {size}, attrs);
    flow_ = std::string(GetParam()) == "V3" ? Output(handle_.op(), 1) : scope_.Constant(Tensor::Scalar<float>(0));
  }
  void Put(const char* op, std::vector<Input> inputs) {
    inputs.insert(inputs.begin(), handle_);
    inputs.push_back(flow_);
    flow_ = Call(Name(op), inputs);
  }
  Output Take(const char* op, std::vector<Input> inputs) {
    inputs.insert(inputs.begin(), handle_);
    inputs.push_back(flow_);
    return Call(Name(op), inputs, doubles_);
  }
  Output handle_, flow_;
};
INSTANTIATE_TEST_SUITE_P(Versions, TensorArrayGradientsTest, ::testing::Values("V2", "V3"));

TEST_P(TensorArrayGradientsTest, WriteAndReadAnElementTwice) {
  MakeArray(2);
  Put("TensorArrayWrite", {1, x_});
  Put("TensorArrayWrite", {0, Square(x_)});
  const Output first = Take("TensorArrayRead", {1}), second = Take("TensorArrayRead", {1});
  Check({Square(first), Call("Mul", {second, Take("TensorArrayRead", {0})})});
}

TEST_P(TensorArrayGradientsTest, ScatterAndGather) {
  MakeArray(3);
  Put("TensorArrayScatter", {{2, 0, 1}, x_});
  Check({Square(Take("TensorArrayGather", {Tensor::Vector<int32_t>({1, 2})})),
         Call("Mul", {Take("TensorArrayRead", {0}), z_})});
}

TEST_P(TensorArrayGradientsTest, SplitAndConcat) {
  MakeArray(2);
  Put("TensorArraySplit", {x_, Tensor::Vector<int64_t>({1, 2})});
  Check({Square(Take("TensorArrayConcat", {})), Take("TensorArrayRead", {1})});
}

TEST_P(TensorArrayGradientsTest, TwoGradientsOfOneArrayDoNotMix) {
  MakeArray(1);
  Put("TensorArrayWrite", {0, x_});
  const Output y = Square(Take("TensorArrayRead", {0}));
  Check({y});
  Check({y});
}

TEST_P(TensorArrayGradientsTest, TheGradientHasAGradient) {
  MakeArray(1);
  Put("TensorArrayWrite", {0, x_});
  const Output y = Call("Mul", {Square(Take("TensorArrayRead", {0})), z_});
  const std::vector<Tensor> values = {RandomTensor(DT_DOUBLE, TensorShape({3, 2}), -1, 1, 1),
                                      RandomTensor(DT_DOUBLE, TensorShape({2}), -1, 1, 2)};
  const std::vector<Output> first = CheckGradients(scope_, {x_, z_}, values, {y});
  Check({first[0]});
}

// A recurrent network: rows come from one array, states go to another.
TEST_F(ContainerGradientsTest, TensorArraysInALoop) {
  const Operation rows = Call("TensorArrayV3", {3}, doubles_).op(), states = Call("TensorArrayV3", {3}, doubles_).op();
  const Output filled = Call("TensorArrayScatterV3", {Output(rows, 0), {0, 1, 2}, x_, Output(rows, 1)});
  const OutputList last = WhileLoop(
      scope_, {scope_.Constant(Tensor::Scalar<int32_t>(0)), z_, Output(states, 1)},
      [](const Scope& s, const OutputList& v) { return ops::Less(s, v[0], 3); },
      [&](const Scope& s, const OutputList& v) {
        const Output row = CallIn(s, "TensorArrayReadV3", {{Output(rows, 0)}, {v[0]}, {filled}}, doubles_);
        const Output state = ops::Tanh(s, ops::AddV2(s, row, ops::Mul(s, v[1], z_)));
        const Output flow = CallIn(s, "TensorArrayWriteV3", {{Output(states, 0)}, {v[0]}, {state}, {v[2]}});
        return OutputList{ops::AddV2(s, v[0], 1), state, flow};
      });
  ASSERT_THAT(scope_.status(), IsOk());
  Check({Call("TensorArrayGatherV3", {Output(states, 0), {0, 1, 2}, last[2]}, doubles_), Square(last[1])});
}

// The same with lists: the rows' list does not change in the loop.
TEST_F(ContainerGradientsTest, ListsInALoop) {
  const Output rows = Call("TensorListFromTensor", {x_, {2}}), states = Call("TensorListReserve", {{2}, 3}, elements_);
  const OutputList last = WhileLoop(
      scope_, {scope_.Constant(Tensor::Scalar<int32_t>(0)), z_, states},
      [](const Scope& s, const OutputList& v) { return ops::Less(s, v[0], 3); },
      [&](const Scope& s, const OutputList& v) {
        const Output row = CallIn(s, "TensorListGetItem", {{rows}, {v[0]}, {AsTensor<int32_t>({2})}}, elements_);
        const Output state = ops::Tanh(s, ops::AddV2(s, row, ops::Mul(s, v[1], z_)));
        return OutputList{ops::AddV2(s, v[0], 1), state, CallIn(s, "TensorListSetItem", {{v[2]}, {v[0]}, {state}})};
      });
  ASSERT_THAT(scope_.status(), IsOk());
  Check({Call("TensorListStack", {last[2], {2}}, elements_), Square(last[1])});
}

TEST_F(ContainerGradientsTest, ListsFromTensorsAndBack) {
  const Output list = Call("TensorListFromTensor", {x_, {2}});
  Check({Square(Call("TensorListStack", {list, {2}}, elements_))});
  Check({Square(Call("TensorListGather", {list, {2, 0}, {2}}, elements_))});
  Check({Square(Call("TensorListGetItem", {list, 1, {2}}, elements_))});
  Check({Square(Call("TensorListStack", {Call("TensorListResize", {list, 2}), {2}}, elements_))});
}

TEST_F(ContainerGradientsTest, ListsGrowAndShrink) {
  const Output empty = Call("EmptyTensorList", {{2}, 9}, elements_);
  const Output list = Call("TensorListPushBack", {Call("TensorListPushBack", {empty, z_}), Square(z_)});
  const Output popped = Call("TensorListPopBack", {Call("TensorListPushBack", {list, z_}), {2}}, elements_);
  const Output item = Output(popped.op(), 1);
  Check({Call("Mul", {Call("TensorListStack", {popped, {2}}, elements_), item}), Square(x_)});
  Check({Call("Mul", {Call("TensorListStack", {list, {2}}, elements_), item}), Square(x_)});
}

TEST_F(ContainerGradientsTest, ListItemsReplaced) {
  const Output list = Call("TensorListFromTensor", {x_, {2}});
  const Output replaced = Call("TensorListSetItem", {list, 1, z_});
  Check({Square(Call("TensorListStack", {replaced, {2}}, elements_)),
         Square(Call("TensorListStack", {list, {2}}, elements_))});
  Attrs longer;
  longer.Set("resize_if_index_out_of_bounds", true);
  const Output grown = Call("TensorListSetItem", {list, 3, z_}, longer);
  Check({Square(Call("TensorListStack", {grown, {2}}, elements_))});
  const Output scattered = Call("TensorListScatterIntoExistingList", {list, Square(x_), {2, 0, 1}});
  Check({Square(Call("TensorListStack", {scattered, {2}}, elements_))});
}

TEST_F(ContainerGradientsTest, ListsByIndicesAndLengths) {
  const Output scattered = Call("TensorListScatter", {x_, {2, 0, 1}, {2}});
  Check({Square(Call("TensorListStack", {scattered, {2}}, elements_))});
  const Output larger = Call("TensorListScatterV2", {x_, {4, 0, 1}, {2}, 5});
  Check({Square(Call("TensorListStack", {larger, {2}}, elements_))});
  const Output split = Call("TensorListSplit", {x_, {-1, 2}, Tensor::Vector<int64_t>({1, 2})});
  Check({Square(Call("TensorListConcat", {split}, elements_))});
  Check({Square(Call("TensorListConcatV2", {split, {-1, 2}, Tensor::Vector<int64_t>({})}, elements_))});
}

TEST_F(ContainerGradientsTest, ALoopFillsAList) {
  const Output empty = Call("TensorListReserve", {{2}, 3}, elements_);
  const OutputList last = WhileLoop(
      scope_, {scope_.Constant(Tensor::Scalar<int32_t>(0)), z_, empty},
      [](const Scope& s, const OutputList& v) { return ops::Less(s, v[0], 3); },
      [&](const Scope& s, const OutputList& v) {
        const Output state = ops::Sin(s, ops::Mul(s, v[1], ops::GatherV2(s, x_, v[0], 0)));
        return OutputList{ops::AddV2(s, v[0], 1), state, CallIn(s, "TensorListSetItem", {{v[2]}, {v[0]}, {state}})};
      });
  ASSERT_THAT(scope_.status(), IsOk());
  Check({Call("TensorListStack", {last[2], {2}}, elements_)});
}

TEST_F(ContainerGradientsTest, MapsOfTensors) {
  const auto lookup = [&](const Output& map, const char* key) {
    return Call("TensorMapLookup", {map, key}, Attrs().Set("value_dtype", DT_DOUBLE));
  };
  Output map = Call("EmptyTensorMap", {});
  map = Call("TensorMapInsert", {map, "x", x_});
  map = Call("TensorMapInsert", {map, "z", z_});
  Check({Square(lookup(map, "x")), Call("Mul", {lookup(map, "z"), lookup(map, "x")})});
  // What is replaced, erased or never asked for has no gradient.
  const Output replaced = Call("TensorMapInsert", {map, "z", Square(x_)});
  Check({Square(lookup(replaced, "z")), Square(lookup(map, "z"))});
  const Output erased = Call("TensorMapErase", {map, "z"}, Attrs().Set("value_dtype", DT_DOUBLE));
  Check({Square(lookup(erased, "x"))});
}

TEST_F(ContainerGradientsTest, CompositeTensors) {
  const Attrs metadata = Attrs().Set("metadata", std::string());
  const Output whole = CallIn(scope_, "CompositeTensorVariantFromComponents", {{x_, z_}}, metadata);
  const Output parts = CallIn(scope_, "CompositeTensorVariantToComponents", {{whole}},
                              Attrs(metadata).Set("Tcomponents", std::vector<DataType>{DT_DOUBLE, DT_DOUBLE}));
  Check({Call("Mul", {parts, Output(parts.op(), 1)})});
}

}  // namespace
}  // namespace weir
