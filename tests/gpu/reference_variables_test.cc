// Variables that flow along edges as references (VariableV2), in a GPU's memory.
#include <map>
#include <set>
#include <string>
#include <thread>

#include "absl/strings/str_replace.h"
#include "client/gradients.h"
#include "graph/graph.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "tests/gpu/gpu_session_testing.h"
#include "tests/gpu/local_session.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr char kGpu[] = "/job:localhost/replica:0/task:0/device:GPU:0";
constexpr char kCpu[] = "/job:localhost/replica:0/task:0/device:CPU:0";

class ReferenceVariablesTest : public GpuSessionTest {
 protected:
  static Output Variable(const Scope& scope, const std::string& name, const TensorShape& shape,
                         DataType type = DT_FLOAT) {
    return ops::VariableV2(scope.WithName(name), shape, type);
  }
  static Scope After(const Scope& scope, const Output& before) {
    return scope.WithControlDependencies(std::vector<Output>{before});
  }
  // Where each node of a step runs.
  std::map<std::string, std::string> DevicesOf(const FeedList& feeds, const OutputList& fetches,
                                               const std::vector<Operation>& targets) {
    tensorflow::RunOptions options;
    options.set_output_partition_graphs(true);
    tensorflow::RunMetadata metadata;
    EXPECT_THAT(session().Run(feeds, fetches, targets, options, &metadata), IsOk());
    std::map<std::string, std::string> devices;
    for (const auto& graph : metadata.partition_graphs()) {
      for (const auto& node : graph.node()) devices[node.name()] = node.device();
    }
    return devices;
  }
};

TEST_F(ReferenceVariablesTest, AreGivenValuesReadAndUpdatedThere) {
  const Output v = Variable(Gpu(), "v", TensorShape({2}));
  const Output initialized = ops::IsVariableInitialized(Gpu(), v);
  const Output assign = ops::Assign(Gpu(), v, Gpu().Constant(AsTensor<float>({1, 2})));
  const Output add = ops::AssignAdd(Gpu(), v, Gpu().Constant(AsTensor<float>({10, 20})));
  const Output read = ops::Identity(Gpu().WithName("read"), v);
  ExpectTensorEqual(Fetch(initialized), AsScalar<bool>(false));
  ExpectTensorEqual(Fetch(assign), AsTensor<float>({1, 2}));
  ExpectTensorEqual(Fetch(initialized), AsScalar<bool>(true));
  ExpectTensorEqual(Fetch(add), AsTensor<float>({11, 22}));
  ExpectTensorEqual(Fetch(v), AsTensor<float>({11, 22}));
  ExpectTensorEqual(Fetch(ops::Neg(Cpu(), v)), AsTensor<float>({-11, -22}));
  ExpectTensorEqual(Fetch(ops::Neg(Gpu(1), read)), AsTensor<float>({-11, -22}));
  const auto devices = DevicesOf({}, {read}, {add.op()});
  for (const char* node : {"v", "read"}) EXPECT_EQ(devices.at(node), kGpu) << node;
  EXPECT_EQ(devices.at(add.node()->name()), kGpu);
}

TEST_F(ReferenceVariablesTest, WithoutADeviceTheyPreferTheGpuAndInt32TheCpu) {
  const Output v = Variable(scope_, "v", TensorShape({2})), n = Variable(scope_, "n", TensorShape(), DT_INT32);
  const Output step = Variable(scope_, "step", TensorShape(), DT_INT64);
  const Operation all[] = {ops::Assign(scope_.WithName("v_is"), v, scope_.Constant(AsTensor<float>({1, 2}))).op(),
                           ops::Assign(scope_.WithName("n_is"), n, scope_.Constant(3)).op(),
                           ops::Assign(scope_.WithName("step_is"), step, scope_.Constant(int64_t{4})).op()};
  const auto devices = DevicesOf({}, {}, {all[0], all[1], all[2]});
  for (const char* node : {"v", "v_is", "step", "step_is"}) EXPECT_EQ(devices.at(node), kGpu) << node;
  for (const char* node : {"n", "n_is"}) EXPECT_EQ(devices.at(node), kCpu) << node;
  const auto out = Run({}, {v, n, step});
  ExpectTensorEqual(out[0], AsTensor<float>({1, 2}));
  ExpectTensorEqual(out[1], AsScalar<int32_t>(3));
  ExpectTensorEqual(out[2], AsScalar<int64_t>(4));
}

// What counts is a kernel for the whole group: CountUpTo has none there.
TEST_F(ReferenceVariablesTest, SoftPlacementKeepsTheGroupTogether) {
  options_.config->set_allow_soft_placement(true);
  const Output n = Variable(Gpu(), "n", TensorShape(), DT_INT64);
  const Output assign = ops::Assign(Gpu().WithName("n_is"), n, Gpu().Constant(int64_t{4}));
  const Output count = ops::CountUpTo(Gpu().WithName("count"), n, 6);
  Run({}, {}, {assign.op()});
  const auto devices = DevicesOf({}, {count}, {});
  EXPECT_EQ(devices.at("n"), kCpu);
  EXPECT_EQ(devices.at("count"), kCpu);
  ExpectTensorEqual(Fetch(count), AsScalar<int64_t>(5));
  EXPECT_THAT(session().Run({count}).status(), StatusIs(absl::StatusCode::kOutOfRange));
}

TEST_F(ReferenceVariablesTest, ErrorsAreTheCpus) {
  std::vector<std::string> messages[2];
  for (const bool is_gpu : {false, true}) {
    const Scope s = is_gpu ? Gpu() : Cpu();
    const std::string name = is_gpu ? "g" : "c";
    const Output v = Variable(s, name, TensorShape({2})), w = Variable(s, name + "w", TensorShape({2}));
    const Output three = s.Constant(AsTensor<float>({1, 2, 3}));
    const auto refuse = [&](const Output& output) {
      const absl::Status status = session().RunTargets({output.op()});
      EXPECT_FALSE(status.ok()) << output.name();
      const auto text = std::string(status.message().substr(0, status.message().find("\n\t [[")));
      messages[is_gpu].push_back(absl::StrCat(absl::StatusCodeToString(status.code()), " ", text));
    };
    const Output twice = ops::AssignAdd(s, v, v);
    refuse(ops::Identity(s, v));
    refuse(twice);
    refuse(ops::ApplyGradientDescent(s, w, 1.0f, v));
    EXPECT_THAT(messages[is_gpu][0],
                AllOf(HasSubstr("FAILED_PRECONDITION"), HasSubstr("Attempting to use uninitialized value " + name)));
    messages[is_gpu].clear();  // they name the variable
    refuse(ops::Assign(s, v, ops::Placeholder(s, DT_FLOAT)));
    refuse(ops::Assign(s, v, w));
    EXPECT_THAT(messages[is_gpu].back(), HasSubstr("Right hand side of AssignOp is not initialized"));
    Run({}, {}, {ops::Assign(s, v, s.Constant(AsTensor<float>({1, 2}))).op()});
    Run({}, {}, {ops::Assign(s, w, s.Constant(AsTensor<float>({3, 4}))).op()});
    const Output fed = ops::Placeholder(s, DT_FLOAT);
    for (const Output& bad : {ops::Assign(s, v, fed), ops::AssignAdd(s, v, fed), ops::AssignSub(s, v, fed),
                              ops::ApplyGradientDescent(s, v, 1.0f, fed),
                              ops::ScatterAdd(s, v, s.Constant(AsTensor<int32_t>({1, 0, 1})), fed)}) {
      const absl::Status status = session().Run({{fed, AsTensor<float>({1, 2, 3}, {3, 1})}}, {}, {bad.op()}).status();
      messages[is_gpu].push_back(std::string(status.message().substr(0, status.message().find("\n\t [["))));
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    }
    // Whoever does not ask may give it another shape.
    Run({}, {}, {ops::Assign(s, v, three, {.validate_shape = false}).op()});
    ExpectTensorEqual(Fetch(v), AsTensor<float>({1, 2, 3}));
    refuse(ops::AssignAdd(s, v, w));
  }
  for (std::string& message : messages[1]) message = absl::StrReplaceAll(message, {{"GPU:0", "CPU:0"}});
  messages[0].erase(messages[0].begin());  // the placeholders' names
  messages[1].erase(messages[1].begin());
  EXPECT_EQ(messages[1], messages[0]);
}

// docs/decisions/0012: as on the CPU.
TEST_F(ReferenceVariablesTest, ReadersSeeUpdates) {
  const Output v = Variable(Gpu(), "v", TensorShape({2}));
  const Output assign = ops::Assign(Gpu(), v, Gpu().Constant(AsTensor<float>({1, 2})));
  const Output before = ops::Identity(Gpu(), v);
  const Output add = ops::AssignAdd(After(Gpu(), before), v, Gpu().Constant(AsTensor<float>({10, 20})));
  const Output sum = ops::AddV2(After(Gpu(), add), before, before);
  const Output halved = ops::Mul(Cpu(), ops::Identity(After(Gpu(), add), before), 0.5f);
  const Output replace = ops::Assign(After(Gpu(), sum), v, Gpu().Constant(AsTensor<float>({5, 6})));
  const Output replaced = ops::Neg(After(Gpu(), replace), before);
  Run({}, {}, {assign.op()});
  for (int step = 0; step < 2; ++step) {
    const auto out = Run({}, {sum, halved});
    ExpectTensorEqual(out[0], AsTensor<float>({22.0f + 20 * step, 44.0f + 40 * step}));
    ExpectTensorEqual(out[1], AsTensor<float>({5.5f + 5 * step, 11.0f + 10 * step}));
  }
  ExpectTensorEqual(Run({}, {replaced})[0], AsTensor<float>({-5, -6}));
}

TEST_F(ReferenceVariablesTest, IntegersDoNotChangeUnderAReader) {
  const Output v = Variable(Gpu(), "v", TensorShape({2}), DT_INT64), n = Variable(Gpu(), "n", TensorShape(), DT_INT64);
  Run({}, {},
      {ops::Assign(Gpu(), v, Gpu().Constant(AsTensor<int64_t>({1, 2}))).op(),
       ops::Assign(Gpu(), n, Gpu().Constant(int64_t{1})).op()});
  const Output row = ops::Identity(Gpu(), v), one = ops::Identity(Gpu(), n);
  const Output add_row = ops::AssignAdd(After(Gpu(), row), v, Gpu().Constant(AsTensor<int64_t>({10, 20})));
  const Output add_one = ops::AssignAdd(After(Gpu(), one), n, Gpu().Constant(int64_t{10}));
  const auto out = Run({}, {ops::AddV2(After(Gpu(), add_row), row, row), ops::AddV2(After(Gpu(), add_one), one, one)});
  ExpectTensorEqual(out[0], AsTensor<int64_t>({2, 4}));
  ExpectTensorEqual(out[1], AsScalar<int64_t>(22));
  ExpectTensorEqual(Fetch(v), AsTensor<int64_t>({11, 22}));
}

// While it is copied to the host, and to another GPU, it is updated in place: none of these may overlap, which the
// device checks, and so no reader sees half an update.
TEST_F(ReferenceVariablesTest, CopiesAndUpdatesDoNotOverlap) {
  const int size = 1000, steps = 40;
  const Output v = Variable(Gpu(), "v", TensorShape({size}));
  const Output zero = Gpu().Constant(AsTensor<float>(std::vector<float>(size, 0)));
  const Output ones = Gpu().Constant(AsTensor<float>(std::vector<float>(size, 1)));
  Run({}, {}, {ops::Assign(Gpu(), v, zero).op()});
  const Output read = ops::Identity(Gpu(), v), there = ops::Neg(Gpu(1), read), here = ops::Neg(Cpu(), read);
  const Operation add = ops::AssignAdd(Gpu(), v, ones).op();
  const Operation renew = ops::Assign(Gpu(), v, ops::AddV2(Gpu(), v, ones)).op();
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int step = 0; step < steps; ++step) {
        const auto out = session().Run({}, {read, there, here}, {t == 0 ? renew : add});
        ASSERT_THAT(out, IsOk());
        for (const Tensor& tensor : *out) {
          const auto values = tensor.flat<float>();
          EXPECT_EQ(std::set<float>(values.begin(), values.end()).size(), 1);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(ReferenceVariablesTest, BranchesAndMergesHandReferencesOn) {
  const Output v = Variable(Gpu(), "v", TensorShape({2})), taken = ops::Placeholder(Cpu(), DT_BOOL);
  Run({}, {}, {ops::Assign(Gpu(), v, Gpu().Constant(AsTensor<float>({1, 2}))).op()});
  const auto branch = ops::RefSwitch(Gpu(), v, taken);
  const Output add = ops::AssignAdd(Gpu(), branch.output_true, Gpu().Constant(AsTensor<float>({10, 20})));
  const Output sub = ops::AssignSub(Gpu(), branch.output_false, Gpu().Constant(AsTensor<float>({1, 1})));
  const auto merged = ops::RefMerge(Gpu(), InputList{sub, add});
  const Output scaled = ops::ScatterMul(Gpu(), ops::RefIdentity(Gpu(), merged.output),
                                        Gpu().Constant(AsTensor<int32_t>({1})), Gpu().Constant(2.0f));
  const auto first = Run({{taken, AsScalar<bool>(true)}}, {scaled, merged.value_index});
  ExpectTensorEqual(first[0], AsTensor<float>({11, 44}));
  ExpectTensorEqual(first[1], AsScalar<int32_t>(1));
  ExpectTensorEqual(Run({{taken, AsScalar<bool>(false)}}, {scaled})[0], AsTensor<float>({10, 86}));
}

// A loop whose variable is the reference itself.
TEST_F(ReferenceVariablesTest, ALoopUpdatesWhatItCarries) {
  const Output v = Variable(Gpu(), "v", TensorShape());
  Run({}, {}, {ops::Assign(Gpu(), v, Gpu().Constant(1.0f)).op()});
  const Output enter = ops::RefEnter(Gpu(), v, "loop");
  const auto merge = ops::RefMerge(Gpu(), InputList{enter, enter});
  const Output limit = ops::Enter(Gpu(), Gpu().Constant(100.0f), "loop", {.is_constant = true});
  const Output two = ops::Enter(Gpu(), Gpu().Constant(2.0f), "loop", {.is_constant = true});
  const auto choice = ops::RefSwitch(Gpu(), merge.output, ops::LoopCond(Gpu(), ops::Less(Gpu(), merge.output, limit)));
  const Output doubled =
      ops::Assign(Gpu(), choice.output_true, ops::Mul(Gpu(), ops::Identity(Gpu(), choice.output_true), two));
  const Output next = ops::RefNextIteration(Gpu(), doubled);
  ASSERT_TRUE(scope_.ok()) << scope_.status();
  ASSERT_THAT(scope_.graph()->ReplaceInput(merge.output.node(), 1, next.node(), 0), IsOk());
  ExpectTensorEqual(Fetch(ops::Identity(Gpu(), ops::RefExit(Gpu(), choice.output_false))), AsScalar<float>(128));
  ExpectTensorEqual(Fetch(v), AsScalar<float>(128));
}

TEST_F(ReferenceVariablesTest, TemporaryOnesLiveForAStep) {
  const Output x = ops::Placeholder(Gpu(), DT_FLOAT);
  const Output v = ops::TemporaryVariable(Gpu(), TensorShape({3}), DT_FLOAT, {.var_name = "sum"});
  const Output zero = ops::Assign(Gpu(), v, ops::Mul(Gpu(), x, 0.0f));
  const Output once = ops::AssignAdd(Gpu(), zero, x), twice = ops::AssignAdd(Gpu(), once, x);
  const Output sum = ops::DestroyTemporaryVariable(Gpu(), twice, "sum");
  for (int step = 0; step < 3; ++step) {
    ExpectTensorEqual(Run({{x, AsTensor<float>({1, 2, 3})}}, {sum})[0], AsTensor<float>({2, 4, 6}));
  }
}

TEST_F(ReferenceVariablesTest, ANetworkTrainsAsOnTheCpu) {
  struct Weight {
    const char* name;
    TensorShape shape;
    std::vector<float> values;
  };
  const Weight weights[] = {{"w", TensorShape({2, 4}), {0.1f, -0.2f, 0.3f, 0, 0.2f, 0.1f, -0.1f, 0.4f}},
                            {"b", TensorShape({4}), {0.1f, 0, -0.1f, 0.2f}}};
  std::vector<std::vector<Tensor>> learned;
  for (const bool is_gpu : {false, true}) {
    const Scope s = is_gpu ? Gpu() : Cpu();
    std::vector<Operation> initialize, train;
    OutputList trained, kept;
    const auto make = [&](const std::string& name, const Tensor& value) {
      kept.push_back(Variable(s, (is_gpu ? "gpu/" : "cpu/") + name, value.shape()));
      initialize.push_back(ops::Assign(s, kept.back(), s.Constant(value)).op());
      return kept.back();
    };
    for (const Weight& weight : weights) {
      trained.push_back(make(weight.name, AsTensor<float>(weight.values, weight.shape)));
    }
    const Output x = s.Constant(AsTensor<float>({0.1f, 0.5f, -0.3f, 0.7f, 0.2f, -0.9f}, {3, 2}));
    const Output product = ops::MatMul(s, x, ops::Identity(s, trained[0]));
    const Output logits = ops::BiasAdd(s, product, ops::Identity(s, trained[1]));
    const Output losses =
        ops::SparseSoftmaxCrossEntropyWithLogits(s, logits, s.Constant(AsTensor<int32_t>({1, 0, 1}))).loss;
    const auto gradients = Gradients(s, {losses}, {trained[0], trained[1]});
    ASSERT_TRUE(scope_.ok()) << scope_.status();
    for (int i = 0; i < 2; ++i) {
      const auto slot = [&](const char* name) {
        const std::vector<float> zeros(weights[i].values.size(), 0);
        return make(absl::StrCat(weights[i].name, "/", name), AsTensor<float>(zeros, weights[i].shape));
      };
      const Output& gradient = gradients[i].values;
      const Output moved =
          ops::ApplyMomentum(s, trained[i], slot("momentum"), 0.1f, gradient, 0.9f, {.use_nesterov = true});
      train.push_back(
          ops::ApplyAdam(s, moved, slot("m"), slot("v"), 0.9f, 0.999f, 0.01f, 0.9f, 0.999f, 1e-8f, gradient).op());
    }
    Run({}, {}, initialize);
    for (int step = 0; step < 4; ++step) Run({}, {}, train);
    learned.push_back(Run({}, kept));
    if (!is_gpu) continue;
    for (const auto& [node, device] : DevicesOf({}, {}, train)) EXPECT_EQ(device, kGpu) << node;
  }
  for (size_t i = 0; i < learned[0].size(); ++i) ExpectTensorNear(learned[1][i], learned[0][i], 1e-5, 1e-5);
}

// Beside captured segments, which leave references outside: the same numbers, and readers see updates.
TEST_F(ReferenceVariablesTest, CapturedStepsSeeUpdatesToo) {
  num_gpus_ = 1;
  CaptureGraphs(1, &*options_.config);
  const Output v = Variable(Gpu(), "v", TensorShape({2})), x = ops::Placeholder(Gpu(), DT_FLOAT);
  const Output before = ops::Identity(Gpu(), v),
               column = ops::Reshape(Gpu(), before, Gpu().Constant(AsTensor<int32_t>({2, 1})));
  const Output gradient = ops::Square(Gpu(), ops::Neg(Gpu(), ops::AddV2(Gpu(), v, ops::AddV2(Gpu(), x, x))));
  const Output update = ops::ApplyGradientDescent(After(Gpu(), column), v, 0.5f, gradient);
  const Output sum = ops::Neg(Gpu(), ops::Square(Gpu(), ops::AddV2(After(Gpu(), update), before, x)));
  const Output seen = ops::Neg(Gpu(), ops::Square(Gpu(), ops::Neg(After(Gpu(), update), column)));
  const Operation assign = ops::Assign(Gpu(), v, Gpu().Constant(AsTensor<float>({1, 2}))).op();
  Run({}, {}, {assign});
  float expected[] = {1, 2};
  for (int step = 0; step < 8; ++step) {
    if (step == 5) {
      Run({}, {}, {assign});
      expected[0] = 1;
      expected[1] = 2;
    }
    const auto out = Run({{x, AsTensor<float>({0.25f, -0.5f})}}, {sum, seen});
    const float fed[] = {0.25f, -0.5f};
    for (int i = 0; i < 2; ++i) {
      const float g = expected[i] + 2 * fed[i];
      expected[i] -= 0.5f * g * g;
      EXPECT_NEAR(out[0].data<float>()[i], -(expected[i] + fed[i]) * (expected[i] + fed[i]), 1e-4) << step;
      EXPECT_NEAR(out[1].data<float>()[i], -expected[i] * expected[i], 1e-4) << step;
    }
  }
  EXPECT_GT(gpus_[0]->NumEnqueued("graph"), 2);
}

}  // namespace
}  // namespace weir
