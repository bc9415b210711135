// What goes through tensor arrays, tensor lists and ragged variants, against central differences.
#include "client/ops.h"
#include "client/while_loop.h"
#include "core/attr_value.h"
#include "core/op_kernel_testing.h"
#include "core/testing.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tests/gradients/graph_function.h"
#include "tests/gradients/numeric_gradient.h"

namespace weir {
namespace {

class ContainerGradientsTest : public ::testing::Test {
 protected:
  Output Call(const std::string& op, const std::vector<Input>& inputs, const Attrs& attrs = {}) {
    std::vector<InputList> lists;
    for (const Input& input : inputs) lists.push_back({input});
    return CallIn(scope_, op, lists, attrs);
  }
  static Output CallIn(const Scope& scope, const std::string& op, const std::vector<InputList>& inputs,
                       const Attrs& attrs = {}) {
    tensorflow::NodeDef def = attrs.node();
    def.set_op(op);
    return Output(scope.AddOp(std::move(def), inputs), 0);
  }
  // The gradients of `ys` by x_ [3, 2] and z_ [2]; that by x_ exists.
  void Check(const std::vector<Output>& ys) {
    ASSERT_THAT(scope_.status(), IsOk());
    const std::vector<Output> gradients = CheckGradients(
        scope_, {x_, z_},
        {RandomTensor(DT_DOUBLE, TensorShape({3, 2}), -1, 1, 1), RandomTensor(DT_DOUBLE, TensorShape({2}), -1, 1, 2)},
        ys);
    EXPECT_TRUE(gradients[0].valid());
  }
  Output Square(const Output& x) { return Call("Square", {x}); }

  const Attrs doubles_ = Attrs().Set("dtype", DT_DOUBLE), elements_ = Attrs().Set("element_dtype", DT_DOUBLE);
  Scope scope_ = Scope::NewRoot();
  const Output x_ = Argument(scope_, 0, DT_DOUBLE), z_ = Argument(scope_, 1, DT_DOUBLE);
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

TEST_F(ContainerGradientsTest, RaggedVariants) {
  for (const bool batched : {true, false}) {
    const Output variant = CallIn(scope_, "RaggedTensorToVariant", {{Tensor::Vector<int64_t>({0, 2, 3})}, {x_}},
                                  Attrs().Set("Tsplits", DT_INT64).Set("batched_input", batched));
    const Output back = CallIn(scope_, "RaggedTensorFromVariant", {{variant}},
                               Attrs()
                                   .Set("input_ragged_rank", int64_t{batched ? 0 : 1})
                                   .Set("output_ragged_rank", int64_t{1})
                                   .Set("Tvalues", DT_DOUBLE));
    Check({Square(Output(back.op(), 1))});
  }
}

TEST_F(ContainerGradientsTest, SparseMatricesAndDenseOnes) {
  const Attrs type = Attrs().Set("type", DT_DOUBLE);
  const Tensor places = AsTensor<int64_t>({0, 1, 2, 0, 2, 1}, {3, 2});
  const auto sparse = [&] { return Call("DenseToCSRSparseMatrix", {x_, places}); };
  const auto dense = [&](const Output& matrix) { return Call("CSRSparseMatrixToDense", {matrix}, type); };
  Check({Square(dense(sparse()))});
  const Output turned = Call("SparseMatrixTranspose", {sparse()}, type);
  Check({Square(Output(Call("CSRSparseMatrixToSparseTensor", {turned}, type).op(), 1))});
  const Output wide = Call("Transpose", {x_, {1, 0}});
  Check({Square(Call("SparseMatrixMatMul", {sparse(), wide}))});
  Check({Square(Call("SparseMatrixMatMul", {sparse(), wide}, Attrs().Set("transpose_output", true)))});
  for (const char* how : {"transpose_a", "adjoint_a"}) {
    Check({Square(Call("SparseMatrixMatMul", {sparse(), x_}, Attrs().Set(how, true)))});
  }
  for (const char* how : {"transpose_b", "adjoint_b"}) {
    Check({Square(Call("SparseMatrixMatMul", {sparse(), x_}, Attrs().Set(how, true)))});
  }
}

TEST_F(ContainerGradientsTest, ProductsOfSparseMatrices) {
  const Attrs type = Attrs().Set("type", DT_DOUBLE);
  const Tensor places = AsTensor<int64_t>({0, 1, 2, 0, 2, 1}, {3, 2}),
               diagonal = AsTensor<int64_t>({0, 1, 1, 0}, {2, 2});
  const Output small = Call("SparseTensorToCSRSparseMatrix", {diagonal, z_, AsTensor<int64_t>({2, 2})});
  const auto large = [&] { return Call("DenseToCSRSparseMatrix", {x_, places}); };
  const auto check = [&](const Output& product) { Check({Square(Call("CSRSparseMatrixToDense", {product}, type))}); };
  check(Call("SparseMatrixSparseMatMul", {large(), small}, type));
  check(Call("SparseMatrixSparseMatMul", {large(), large()}, Attrs(type).Set("transpose_a", true)));
  check(Call("SparseMatrixSparseMatMul", {large(), large()}, Attrs(type).Set("adjoint_b", true)));
  const Output both =
      Call("SparseMatrixSparseMatMul", {small, large()}, Attrs(type).Set("adjoint_a", true).Set("transpose_b", true));
  check(both);
}

// Complex factors tell adjoints from transposes.
TEST_F(ContainerGradientsTest, ProductsOfComplexSparseMatrices) {
  const Tensor places = AsTensor<int64_t>({0, 1, 2, 0, 2, 1}, {3, 2});
  const Output x = Call("Complex", {x_, Call("Sin", {x_})}, Attrs().Set("Tout", DT_COMPLEX128));
  for (const char* how : {"transpose_a", "adjoint_a", "transpose_b", "adjoint_b"}) {
    const Output matrix = Call("DenseToCSRSparseMatrix", {x, places});
    const Output y = Call("SparseMatrixMatMul", {matrix, x}, Attrs().Set(how, true).Set("conjugate_output", true));
    Check(
        {Square(Call("Real", {y}, Attrs().Set("Tout", DT_DOUBLE))), Call("Imag", {y}, Attrs().Set("Tout", DT_DOUBLE))});
  }
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
