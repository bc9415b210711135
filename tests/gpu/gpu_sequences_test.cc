// Tensor lists, tensor arrays and stacks in a GPU's memory.
#include "client/gradients.h"
#include "client/while_loop.h"
#include "kernels/containers/tensor_list.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "tests/gpu/gpu_agreement_testing.h"

namespace weir {
namespace {

class GpuSequencesTest : public GpuAgreementTest {
 protected:
  static constexpr int kSteps = 6;

  int NumCopiesToHost() const { return static_cast<int>(gpus_[0]->NumEnqueued("copy to host")); }

  // h = tanh(h * w + x[t]) for the rows of x, which a list holds; the states are a list too.
  OutputList ListNetwork(const Scope& scope, const Output& x, const Output& w) {
    const auto elements = Attr("element_dtype", DT_FLOAT);
    const Tensor shape = AsTensor<int32_t>({4});
    const Output rows(Node(scope, "TensorListFromTensor", {x, shape}, elements), 0);
    const Output states(Node(scope, "TensorListReserve", {shape, kSteps}, elements), 0);
    const OutputList last = WhileLoop(
        scope, {scope.Constant(0), scope.Constant(AsTensor<float>({0, 0, 0, 0})), states},
        [](const Scope& s, const OutputList& v) { return ops::Less(s, v[0], kSteps); },
        [&](const Scope& s, const OutputList& v) {
          const Output row(Node(s, "TensorListGetItem", {rows, v[0], shape}, elements), 0);
          const Output state = ops::Tanh(s, ops::AddV2(s, row, ops::Mul(s, v[1], w)));
          const Output list(Node(s, "TensorListSetItem", {v[2], v[0], state}, elements), 0);
          return OutputList{ops::AddV2(s, v[0], 1), state, list};
        });
    if (last.empty()) return {};
    return {last[1], Output(Node(scope, "TensorListStack", {last[2], shape}, elements), 0)};
  }

  // The same with arrays.
  OutputList ArrayNetwork(const Scope& scope, const Output& x, const Output& w) {
    const auto floats = Attr("dtype", DT_FLOAT);
    std::vector<int32_t> all(kSteps);
    for (int i = 0; i < kSteps; ++i) all[i] = i;
    const Operation rows = Node(scope, "TensorArrayV3", {kSteps}, floats);
    const Operation states = Node(scope, "TensorArrayV3", {kSteps}, floats);
    const Output filled(
        Node(scope, "TensorArrayScatterV3", {Output(rows, 0), AsTensor<int32_t>(all), x, Output(rows, 1)}), 0);
    const OutputList last = WhileLoop(
        scope, {scope.Constant(0), scope.Constant(AsTensor<float>({0, 0, 0, 0})), Output(states, 1)},
        [](const Scope& s, const OutputList& v) { return ops::Less(s, v[0], kSteps); },
        [&](const Scope& s, const OutputList& v) {
          const Output row(Node(s, "TensorArrayReadV3", {Output(rows, 0), v[0], filled}, floats), 0);
          const Output state = ops::Tanh(s, ops::AddV2(s, row, ops::Mul(s, v[1], w)));
          const Output flow(Node(s, "TensorArrayWriteV3", {Output(states, 0), v[0], state, v[2]}), 0);
          return OutputList{ops::AddV2(s, v[0], 1), state, flow};
        });
    if (last.empty()) return {};
    return {
        last[1],
        Output(Node(scope, "TensorArrayGatherV3", {Output(states, 0), AsTensor<int32_t>(all), last[2]}, floats), 0)};
  }

  template <typename Network>
  void CompareNetworks(const Network& network) {
    AddProgram("network", {Of(DT_FLOAT, TensorShape({kSteps, 4})), Of(DT_FLOAT, TensorShape({4}))},
               [&](const Scope& s, const OutputList& in) {
                 OutputList out = network(s, in[0], in[1]);
                 const OutputList ys = out;
                 for (const Gradient& gradient : Gradients(s, ys, {in[0], in[1]})) out.push_back(gradient.values);
                 return out;
               });
    Compare();
  }
};

TEST_F(GpuSequencesTest, ALoopOverListsAgreesWithTheCpusAndSoDoItsGradients) {
  CompareNetworks([this](const Scope& s, const Output& x, const Output& w) { return ListNetwork(s, x, w); });
}

TEST_F(GpuSequencesTest, ALoopOverArraysAgreesWithTheCpusAndSoDoItsGradients) {
  CompareNetworks([this](const Scope& s, const Output& x, const Output& w) { return ArrayNetwork(s, x, w); });
}

TEST_F(GpuSequencesTest, ALoopCopiesNoElementToTheHost) {
  const Output x = ops::Placeholder(Gpu(), DT_FLOAT), w = ops::Placeholder(Gpu(), DT_FLOAT);
  const FeedList feeds = {{x, Of(DT_FLOAT, TensorShape({kSteps, 4}))}, {w, Of(DT_FLOAT, TensorShape({4}))}};
  const OutputList lists = ListNetwork(Gpu(), x, w), arrays = ArrayNetwork(Gpu(), x, w);
  Run(feeds, {lists[1]});
  EXPECT_EQ(NumCopiesToHost(), 1);  // what is fetched
  Run(feeds, {arrays[1]});
  EXPECT_EQ(NumCopiesToHost(), 2);
}

TEST_F(GpuSequencesTest, AListGoesFromDeviceToDeviceWithItsElements) {
  const auto elements = Attr("element_dtype", DT_FLOAT);
  const Tensor shape = AsTensor<int32_t>({2});
  const Output x = ops::Placeholder(Cpu(), DT_FLOAT);
  const Output made(Node(Gpu(0), "TensorListFromTensor", {x, shape}, elements), 0);
  const Output on_host(Node(Cpu(), "TensorListPushBack", {made, AsTensor<float>({5, 6})}, elements), 0);
  const Output element = ops::Neg(Gpu(1), Cpu().Constant(AsTensor<float>({1, 1})));
  const Output further(Node(Gpu(1), "TensorListPushBack", {on_host, element}, elements), 0);
  const Output back(Node(Gpu(0), "TensorListStack", {further, shape}, elements), 0);
  const Output on_cpu(Node(Cpu(), "TensorListStack", {further, shape}, elements), 0);
  const Tensor expected = AsTensor<float>({1, 2, 3, 4, 5, 6, -1, -1}, {4, 2});
  const auto out = Run({{x, AsTensor<float>({1, 2, 3, 4}, {2, 2})}}, {back, on_cpu});
  ExpectTensorEqual(out[0], expected);
  ExpectTensorEqual(out[1], expected);
}

TEST_F(GpuSequencesTest, AListIsFetchedAndFedWithItsElements) {
  const auto elements = Attr("element_dtype", DT_FLOAT);
  const Tensor shape = AsTensor<int32_t>({2});
  const Output x = ops::Placeholder(Gpu(), DT_FLOAT);
  Output list(Node(Gpu(), "TensorListReserve", {shape, 3}, elements), 0);
  list = Output(Node(Gpu(), "TensorListSetItem", {list, 1, ops::Neg(Gpu(), x)}, elements), 0);
  const Tensor fetched = Run({{x, AsTensor<float>({1, 2})}}, {list})[0];
  const auto* const held = fetched.scalar<Variant>().get<TensorList>();
  ASSERT_NE(held, nullptr);
  ASSERT_EQ(held->elements.size(), 3);
  EXPECT_FALSE(held->elements[0].has_value());
  ExpectTensorEqual(*held->elements[1], AsTensor<float>({-1, -2}));

  session_.reset();
  const Output fed = ops::Placeholder(Gpu(), DT_VARIANT);
  const Output stacked(Node(Gpu(), "TensorListStack", {fed, shape}, elements), 0);
  ExpectTensorEqual(Run({{fed, fetched}}, {stacked})[0], AsTensor<float>({0, 0, -1, -2, 0, 0}, {3, 2}));
}

TEST_F(GpuSequencesTest, AListThatIsHeldIsNotChanged) {
  const auto elements = Attr("element_dtype", DT_FLOAT);
  const Tensor shape = AsTensor<int32_t>({2});
  const Output x = ops::Placeholder(Gpu(), DT_FLOAT);
  const Output list(Node(Gpu(), "TensorListFromTensor", {x, shape}, elements), 0);
  const Output changed(Node(Gpu(), "TensorListSetItem", {list, 0, AsTensor<float>({9, 9})}, elements), 0);
  const Scope after = Gpu().WithControlDependencies(OutputList{changed});
  const Output old(Node(after, "TensorListStack", {list, shape}, elements), 0);
  const Output item(Node(Gpu(), "TensorListGetItem", {list, 1, shape}, elements), 0);
  const Output doubled = ops::AddV2(Gpu(), item, item);
  const Tensor rows = AsTensor<float>({1, 2, 3, 4}, {2, 2});
  const auto out =
      Run({{x, rows}}, {old, doubled, Output(Node(Gpu(), "TensorListStack", {changed, shape}, elements), 0)});
  ExpectTensorEqual(out[0], rows);
  ExpectTensorEqual(out[1], AsTensor<float>({6, 8}));
  ExpectTensorEqual(out[2], AsTensor<float>({9, 9, 3, 4}, {2, 2}));
}

TEST_F(GpuSequencesTest, WhatNobodyPlacedFollowsItsList) {
  const auto strings = Attr("element_dtype", DT_STRING), floats = Attr("element_dtype", DT_FLOAT);
  const Output words(Node(scope_, "EmptyTensorList", {AsTensor<int32_t>({}), -1}, strings), 0);
  const Output numbers(Node(scope_, "EmptyTensorList", {AsTensor<int32_t>({}), -1}, floats), 0);
  const Output word(Node(scope_.WithName("word"), "TensorListLength", {ops::Identity(scope_, words)}), 0);
  const Output number(Node(scope_.WithName("number"), "TensorListLength", {ops::Identity(scope_, numbers)}), 0);
  tensorflow::RunOptions options;
  options.set_output_partition_graphs(true);
  tensorflow::RunMetadata metadata;
  ASSERT_THAT(session().Run({}, {word, number}, {}, options, &metadata), IsOk());
  int found = 0;
  for (const auto& graph : metadata.partition_graphs()) {
    for (const auto& node : graph.node()) {
      if (node.op() != "TensorListLength") continue;
      EXPECT_THAT(node.device(), testing::EndsWith(node.name() == "word" ? "CPU:0" : "GPU:0")) << node.name();
      ++found;
    }
  }
  EXPECT_EQ(found, 2);
}

// More than fits: what is pushed first waits in host memory.
TEST_F(GpuSequencesTest, StacksSwapWhereMemoryIsShort) {
  constexpr int kCount = 12, kSize = 64 << 10;  // a quarter of a MiB each
  auto* const parts = options_.config->mutable_gpu_options()->mutable_experimental()->add_virtual_devices();
  parts->add_memory_limit_mb(2);
  num_gpus_ = 1;
  const auto floats = Attr("elem_type", DT_FLOAT);
  const Output x = ops::Placeholder(Gpu(), DT_FLOAT);
  const Output handle(Node(Gpu(), "StackV2", {kCount}, floats), 0);
  Output before = x;
  for (int i = 0; i < kCount; ++i) {
    const Scope behind = Gpu().WithControlDependencies(OutputList{before});
    const Output value = ops::Mul(behind, x, behind.Constant(static_cast<float>(i)));
    before = ops::Shape(Gpu(), Output(Node(Gpu(), "StackPushV2", {handle, value}, Attr("swap_memory", true)), 0));
  }
  OutputList sums;
  for (int i = kCount - 1; i >= 0; --i) {
    const Scope behind = Gpu().WithControlDependencies(OutputList{before});
    const Output popped(Node(behind, "StackPopV2", {handle}, floats), 0);
    sums.push_back(ops::Sum(Gpu(), popped, AsTensor<int32_t>({0})));
    before = sums.back();
  }
  const auto out = Run({{x, AsTensor<float>(std::vector<float>(kSize, 1.0f))}}, sums);
  for (int i = 0; i < kCount; ++i) ExpectTensorEqual(out[i], AsScalar<float>((kCount - 1.0f - i) * kSize));
  EXPECT_GT(NumCopiesToHost(), kCount);  // besides what is fetched
}

TEST_F(GpuSequencesTest, SequencesRefuseInTheCpusWords) {
  const auto elements = Attr("element_dtype", DT_FLOAT), others = Attr("element_dtype", DT_DOUBLE);
  const Tensor shape = AsTensor<int32_t>({2});
  const std::vector<Tensor> row = {AsTensor<float>({1, 2})};
  const auto list_of = [=, this](const Scope& s, const Output& element) {
    const Output list(Node(s, "TensorListReserve", {shape, 2}, elements), 0);
    return Output(Node(s, "TensorListSetItem", {list, 1, element}, elements), 0);
  };
  const auto fails = [&](const char* op, std::vector<Input> arguments, const tensorflow::NodeDef& attrs) {
    SCOPED_TRACE(op);
    ExpectSameFailure(row, [&](const Scope& s, const OutputList& in) {
      std::vector<Input> inputs = {list_of(s, in[0])};
      inputs.insert(inputs.end(), arguments.begin(), arguments.end());
      return OutputList{Output(Node(s, op, inputs, attrs), 0)};
    });
  };
  fails("TensorListGetItem", {2, shape}, elements);
  fails("TensorListGetItem", {0, shape}, others);
  fails("TensorListSetItem", {5, row[0]}, elements);
  fails("TensorListSetItem", {0, AsTensor<float>({1})}, elements);
  fails("TensorListPushBack", {AsTensor<float>({1})}, elements);
  fails("TensorListStack", {AsTensor<int32_t>({3})}, elements);
  fails("TensorListGather", {AsTensor<int32_t>({7}), shape}, elements);
  fails("TensorListScatterIntoExistingList", {AsTensor<float>({1, 2}, {1, 2}), AsTensor<int32_t>({-1})}, elements);
  fails("TensorListConcatV2", {AsTensor<int32_t>({2}), AsTensor<int64_t>({})}, others);
  fails("TensorListResize", {-1}, {});
  const auto doubles = Attr("dtype", DT_DOUBLE), floats = Attr("dtype", DT_FLOAT);
  ExpectSameFailure(row, [&](const Scope& s, const OutputList& in) {  // read twice
    const Operation array = Node(s, "TensorArrayV3", {1}, floats);
    const Output flow(Node(s, "TensorArrayWriteV3", {Output(array, 0), 0, in[0], Output(array, 1)}), 0);
    const Output once(Node(s, "TensorArrayReadV3", {Output(array, 0), 0, flow}, floats), 0);
    const Scope behind = s.WithControlDependencies(OutputList{once});
    return OutputList{Output(Node(behind, "TensorArrayReadV3", {Output(array, 0), 0, flow}, floats), 0)};
  });
  ExpectSameFailure(row, [&](const Scope& s, const OutputList& in) {  // written twice
    const Operation array = Node(s, "TensorArrayV3", {1}, floats);
    Output flow(array, 1);
    for (int i = 0; i < 2; ++i) flow = Output(Node(s, "TensorArrayWriteV3", {Output(array, 0), 0, in[0], flow}), 0);
    return OutputList{flow};
  });
  ExpectSameFailure(row, [&](const Scope& s, const OutputList& in) {  // of another type
    const Operation array = Node(s, "TensorArrayV3", {1}, doubles);
    return OutputList{Output(Node(s, "TensorArrayWriteV3", {Output(array, 0), 0, in[0], Output(array, 1)}), 0)};
  });
  ExpectSameFailure(row, [&](const Scope& s, const OutputList& in) {  // beyond its end
    const Operation array = Node(s, "TensorArrayV3", {1}, floats);
    return OutputList{Output(Node(s, "TensorArrayWriteV3", {Output(array, 0), 1, in[0], Output(array, 1)}), 0)};
  });
  ExpectSameFailure(row, [&](const Scope& s, const OutputList&) {  // nothing to pop
    const Output handle(Node(s, "StackV2", {4}, Attr("elem_type", DT_FLOAT)), 0);
    return OutputList{Output(Node(s, "StackPopV2", {handle}, Attr("elem_type", DT_FLOAT)), 0)};
  });
}

}  // namespace
}  // namespace weir
