// Tests that fused nodes give the bits of the nodes that they replace, on each kind of device. A device's test includes
// this header and instantiates FusedKernels.
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/fusion/fused_node.h"
#include "kernels/device/gpu/kernel_conformance_testing.h"
#include "kernels/fusion/fused_codes.h"

namespace weir {

class FusedKernels : public GpuKernels {
 protected:
  // Begins an expression of inputs of these types.
  void Begin(DataTypeVector inputs) {
    node_ = {};
    node_.expression.inputs = std::move(inputs);
  }
  // The number of the value that the step makes.
  int Add(const std::string& text) {
    DataTypeVector values = node_.expression.inputs;
    for (const FusedStep& step : node_.expression.steps) values.push_back(step.type);
    absl::StatusOr<FusedStep> step = ParseFusedStep(text, values);
    EXPECT_THAT(step, IsOk()) << text;
    node_.names.push_back(absl::StrCat("was/", text));
    node_.expression.steps.push_back(*std::move(step));
    const int value = node_.expression.num_values() - 1;
    node_.expression.outputs = {value};
    return value;
  }
  void Fold(const std::string& op, std::vector<int64_t> axes, bool keep_dims = false) {
    node_.expression.fold = op;
    node_.expression.axes = std::move(axes);
    node_.expression.keep_dims = keep_dims;
    node_.names.push_back(absl::StrCat("was/", op));
  }

  static Op FusedOp() {
    return Op(kFusedElementwiseOp)
        .Input("args: Tin")
        .Output("results: Tout")
        .Attr("Tin: list(type) >= 1")
        .Attr("Tout: list(type) >= 1")
        .Attr("steps: list(string)")
        .Attr("outputs: list(int)")
        .Attr("nodes: list(string)")
        .Attr("fold: string")
        .Attr("axes: list(int)")
        .Attr("keep_dims: bool");
  }
  absl::StatusOr<std::vector<Tensor>> RunFused(const std::vector<Tensor>& inputs) {
    tensorflow::NodeDef def;
    SetFusedNode(node_, &def);
    return Run(FusedOp(), inputs, std::move(def));
  }

  // By the op of each step.
  absl::StatusOr<Tensor> RunStep(const FusedStep& step, const std::vector<Tensor>& operands) {
    tensorflow::NodeDef def = Attr("T", operands.back().dtype());
    Op op(step.op);
    switch (step.kind) {
      case FusedStep::Kind::kCast:
        def = Attr("SrcT", operands[0].dtype(), Attr("DstT", step.type));
        op.Input("x: SrcT").Output("y: DstT").Attr("SrcT: type").Attr("DstT: type").Attr("Truncate: bool = false");
        break;
      case FusedStep::Kind::kSelect:
        op.Input("c: bool").Input("t: T").Input("e: T").Output("y: T").Attr("T: type");
        break;
      case FusedStep::Kind::kBias:
        SetNodeAttr("data_format", step.channels_first ? "NCHW" : "NHWC", &def);
        op.Input("x: T").Input("b: T").Output("y: T").Attr("T: type").Attr("data_format: string");
        break;
      case FusedStep::Kind::kAddN:
        SetNodeAttr("N", static_cast<int64_t>(operands.size()), &def);
        op.Input("x: N * T").Output("y: T").Attr("T: type").Attr("N: int");
        break;
      case FusedStep::Kind::kScalar: {
        const bool is_bool = operands[0].dtype() == DT_BOOL;
        const char* const in = is_bool ? "bool" : "T";
        op.Input(absl::StrCat("x: ", in));
        if (operands.size() == 2) op.Input(absl::StrCat("y: ", in));
        op.Output(step.type == DT_BOOL ? "z: bool" : "z: T");
        if (!is_bool) op.Attr("T: type");
        if (is_bool) def.clear_attr();
      }
    }
    ASSIGN_OR_RETURN(std::vector<Tensor> results, Run(op, operands, std::move(def)));
    return results[0];
  }
  absl::StatusOr<std::vector<Tensor>> RunUnfused(const std::vector<Tensor>& inputs) {
    std::vector<Tensor> values = inputs, results;
    for (const FusedStep& step : node_.expression.steps) {
      std::vector<Tensor> operands;
      for (const int operand : step.operands) operands.push_back(values[operand]);
      ASSIGN_OR_RETURN(values.emplace_back(), RunStep(step, operands));
    }
    for (const int output : node_.expression.outputs) results.push_back(values[output]);
    if (node_.expression.fold.empty()) return results;
    const Op fold = Op(node_.expression.fold)
                        .Input("input: T")
                        .Input("reduction_indices: Tidx")
                        .Output("output: T")
                        .Attr("keep_dims: bool")
                        .Attr("T: type")
                        .Attr("Tidx: type");
    return Run(fold, {results[0], AsTensor<int64_t>(node_.expression.axes)},
               Attr("keep_dims", node_.expression.keep_dims, Attr("T", results[0].dtype(), Attr("Tidx", DT_INT64))));
  }

  // Both ways give the same.
  void Agree(const std::vector<Tensor>& inputs) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> expected, RunUnfused(inputs));
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> fused, RunFused(inputs));
    ASSERT_EQ(fused.size(), expected.size());
    std::string context;
    for (const FusedStep& step : node_.expression.steps) absl::StrAppend(&context, step.ToString(), " ");
    for (size_t i = 0; i < fused.size(); ++i) ExpectTensorEqual(fused[i], expected[i], context);
    GetParam().check(device_->runtime());
  }
  // Runs as one kernel, and step by step, since the last call.
  std::pair<int64_t, int64_t> TakeRuns() {
    FusionStats& stats = (*FusedCodesOf(*device_))->stats();
    return {stats.fused.exchange(0), stats.stepwise.exchange(0)};
  }

  // Numbers in and out of every function's domain.
  static Tensor Numbers(DataType type, const TensorShape& shape, double scale = 1) {
    constexpr double kNumbers[] = {0.5, -1.25, 3, 0, -0.0, 1, 0.75, -2.5, 6.5, 1e-3, -7, 40, 2, -0.3, 11, 0.1, 100.5};
    Tensor tensor(type, shape);
    for (int64_t i = 0; i < tensor.NumElements(); ++i) {
      double value = kNumbers[i % std::size(kNumbers)] * scale;
      if (i % 19 == 7) value = NAN;
      if (i % 23 == 11) value = -std::numeric_limits<double>::infinity();
      switch (type) {
        case DT_FLOAT:
          tensor.data<float>()[i] = static_cast<float>(value);
          break;
        case DT_DOUBLE:
          tensor.data<double>()[i] = value;
          break;
        case DT_HALF:
          tensor.data<half>()[i] = half(static_cast<float>(value));
          break;
        case DT_BFLOAT16:
          tensor.data<bfloat16>()[i] = bfloat16(static_cast<float>(value));
          break;
        case DT_INT32:
          tensor.data<int32_t>()[i] = static_cast<int32_t>(i * 37 % 101 - 50);
          break;
        case DT_INT64:
          tensor.data<int64_t>()[i] = i % 5 == 3 ? INT64_MIN + i : i * 37 % 101 - 50;
          break;
        default:
          tensor.data<bool>()[i] = i % 3 == 1;
      }
    }
    return tensor;
  }
  static std::vector<DataType> TypesOf(const ScalarOp& op) {
    std::vector<DataType> types;
    for (const DataType type : {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT64, DT_BOOL}) {
      if (op.Takes(type)) types.push_back(type);
    }
    return types;
  }

  FusedNode node_;
};

TEST_P(FusedKernels, EveryOpOfEveryType) {
  using Shapes = std::pair<TensorShape, TensorShape>;
  const Shapes kAlike = {{6, 7}, {6, 7}};
  for (const ScalarOp& op : ScalarOps()) {
    for (const DataType type : TypesOf(op)) {
      const char* const then = op.gives_bool ? "LogicalNot" : "Neg";
      Begin(DataTypeVector(op.operands, type));
      const std::string operands = op.operands == 1 ? "(0)" : "(0, 1)";
      Add(absl::StrCat(then, "(", Add(absl::StrCat(op.name, operands)), ")"));
      const bool broadcasts = op.operands == 2 && op.rule == ScalarRule::kBroadcast;
      std::vector<Shapes> patterns = {kAlike};
      if (broadcasts) patterns.insert(patterns.end(), {{{3, 1, 5}, {4, 1}}, {{2, 3}, {}}, {{0, 2}, {1, 1}}});
      for (const auto& [x, y] : patterns) {
        std::vector<Tensor> inputs = {Numbers(type, x)};
        if (op.operands == 2) inputs.push_back(Numbers(type, y, 0.5));
        Agree(inputs);
      }
    }
  }
  EXPECT_GT(TakeRuns().first, 500);
}

TEST_P(FusedKernels, Casts) {
  constexpr DataType kTypes[] = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT32, DT_INT64, DT_BOOL};
  for (const DataType from : kTypes) {
    for (const DataType to : kTypes) {
      if (from == to) continue;
      // From small integers: what does not fit has no value that all devices agree on.
      Begin({DT_INT32});
      const int source = from == DT_INT32 ? 0 : Add(absl::StrCat("Cast:", DataTypeName(from), "(0)"));
      Add(absl::StrCat("Cast:", DataTypeName(to), "(", source, ")"));
      Agree({Numbers(DT_INT32, {40})});
    }
  }
}

TEST_P(FusedKernels, ChoicesBiasesAndSums) {
  for (const DataType type : {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16}) {
    const Tensor x = Numbers(type, {2, 3, 4, 5}), y = Numbers(type, {2, 3, 4, 5}, 0.25);
    Begin({type, type});
    Add("Greater(0, 1)");
    Add("SelectV2(2, 0, 1)");
    Agree({x, y});
    Agree({x, Numbers(type, {5})});
    Begin({type, type, DT_BOOL});
    Add("Select(2, 0, 1)");
    Add("Square(3)");
    Agree({x, y, Numbers(DT_BOOL, {2, 3, 4, 5})});
    Agree({x, y, Numbers(DT_BOOL, {})});
    Agree({x, y, Numbers(DT_BOOL, {2})});  // a condition for each row
    for (const char* bias : {"BiasAdd(0, 1)", "BiasAdd:NCHW(0, 1)"}) {
      Begin({type, type});
      Add(bias);
      Add("Relu(2)");
      Agree({x, Numbers(type, {bias[7] == ':' ? 3 : 5})});
    }
    Begin({type, type, type});
    Add("AddN(0, 1, 2, 0)");
    Add("Tanh(3)");
    Agree({x, y, Numbers(type, {2, 3, 4, 5}, -3)});
  }
  Begin({DT_INT64, DT_INT64});
  Add("AddN(0, 1, 0)");
  Add("Square(2)");
  Agree({Numbers(DT_INT64, {70}), Numbers(DT_INT64, {70})});
}

TEST_P(FusedKernels, Reductions) {
  for (const DataType type : {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT64}) {
    for (const char* op : {"Sum", "Mean", "Max", "Min"}) {
      if (!FoldTakes(op, type)) continue;
      for (const std::vector<int64_t>& axes :
           std::vector<std::vector<int64_t>>{{-1}, {2, 1}, {0, 1, 2}, {0}, {}, {0, -1}}) {
        for (const bool keep_dims : {false, true}) {
          Begin({type, type});
          Add("Mul(0, 1)");
          Add("Neg(2)");
          Fold(op, axes, keep_dims);
          Agree({Numbers(type, {3, 4, 300}), Numbers(type, {300}, 0.5)});
        }
      }
      Agree({Numbers(type, {3, 0, 2}), Numbers(type, {2})});
    }
  }
  EXPECT_GT(TakeRuns().first, 0);
}

TEST_P(FusedKernels, SeveralOutputs) {
  for (const DataType type : {DT_FLOAT, DT_HALF, DT_INT64}) {
    Begin({type, type, type});
    const int sum = Add("Add(0, 1)"), square = Add("Square(3)");
    const int product = Add("Mul(4, 2)"), compared = Add("Less(5, 0)");
    node_.expression.outputs = {compared, sum, product};
    Agree({Numbers(type, {4, 5}), Numbers(type, {4, 5}), Numbers(type, {4, 5})});
    Agree({Numbers(type, {4, 1}), Numbers(type, {4, 1}), Numbers(type, {2, 4, 5})});
    Agree({Numbers(type, {}), Numbers(type, {1}), Numbers(type, {7})});
    EXPECT_EQ(TakeRuns().second, 0);
    Agree({Numbers(type, {1}), Numbers(type, {1}), Numbers(type, {0})});  // the sum is not empty
    EXPECT_EQ(TakeRuns().second, 1);
    static_cast<void>(square);
  }
}

TEST_P(FusedKernels, WhatOneKernelCannotDoRunsStepByStep) {
  Begin({DT_FLOAT, DT_FLOAT});
  Add("TanhGrad(0, 1)");
  Add("Neg(2)");
  Agree({Numbers(DT_FLOAT, {2, 3}), Numbers(DT_FLOAT, {3, 2})});
  Begin({DT_FLOAT, DT_FLOAT});
  Add("Add(0, 1)");
  Add("Neg(2)");
  Agree({Numbers(DT_FLOAT, {2, 1, 2, 1, 2, 1}), Numbers(DT_FLOAT, {1, 3, 1, 3, 1, 3})});
  EXPECT_EQ(TakeRuns(), std::make_pair(int64_t{0}, int64_t{2}));
  Agree({Numbers(DT_FLOAT, {2, 1, 2, 1}), Numbers(DT_FLOAT, {1, 3, 1, 3})});
  EXPECT_EQ(TakeRuns().second, 0);
}

TEST_P(FusedKernels, EveryOpStepByStepToo) {
  for (const ScalarOp& op : ScalarOps()) {
    for (const DataType type : TypesOf(op)) {
      if (op.operands != 2 || op.rule != ScalarRule::kBroadcast) continue;
      Begin({type, type});
      Add(absl::StrCat(op.gives_bool ? "LogicalNot(" : "Neg(", Add(absl::StrCat(op.name, "(0, 1)")), ")"));
      Agree({Numbers(type, {2, 1, 2, 1, 2}), Numbers(type, {1, 2, 1, 2, 1}, 0.5)});
    }
  }
  EXPECT_EQ(TakeRuns().first, 0);
}

TEST_P(FusedKernels, ErrorsAreThoseOfTheNodesThatWere) {
  Begin({DT_FLOAT, DT_FLOAT});
  Add("Neg(0)");
  Add("Mul(2, 1)");
  EXPECT_THAT(RunFused({AsTensor<float>({1, 2}), AsTensor<float>({1, 2, 3})}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       testing::AllOf(testing::HasSubstr("{{node was/Mul(2, 1)}}"),
                                      testing::HasSubstr("Incompatible shapes: [2] vs. [3]"))));
  Fold("Sum", {3});
  EXPECT_THAT(
      RunFused({AsTensor<float>({1, 2}), AsTensor<float>({1, 2})}),
      StatusIs(absl::StatusCode::kInvalidArgument, testing::AllOf(testing::HasSubstr("{{node was/Sum}}"),
                                                                  testing::HasSubstr("Invalid reduction dimension"))));
  Begin({DT_FLOAT, DT_FLOAT});
  Add("BiasAdd(0, 1)");
  EXPECT_THAT(RunFused({AsTensor<float>({1, 2}, {1, 2}), AsTensor<float>({1})}),
              StatusIs(absl::StatusCode::kInvalidArgument, testing::HasSubstr("Must provide as many biases")));
}

TEST_P(FusedKernels, HostileAttributesAreRefused) {
  Begin({DT_FLOAT});
  Add("Neg(0)");
  tensorflow::NodeDef def;
  SetFusedNode(node_, &def);
  for (const char* step : {"Neg(7)", "asm(0)", "", "Neg(0); }", "Neg(0"}) {
    SetNodeAttr("steps", std::vector<std::string>{step}, &def);
    EXPECT_THAT(Run(FusedOp(), {AsTensor<float>({1})}, def),
                StatusIs(absl::StatusCode::kInvalidArgument, testing::HasSubstr("Node 'node'")))
        << step;
  }
}

}  // namespace weir
