// Conformance suite of every device's executor, with and without capture.
#include <random>
#include <thread>

#include "client/initializers.h"
#include "client/optimizer.h"
#include "client/while_loop.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "tests/executor/executor_worlds_testing.h"
#include "tests/gpu/local_session.h"

namespace weir {
namespace {

using testing::HasSubstr;

INSTANTIATE_TEST_SUITE_P(, ExecutorConformance, testing::ValuesIn(ExecutorWorlds()),
                         [](const auto& info) { return info.param.name; });

TEST_P(ExecutorConformance, EachStepComputesFromItsOwnFeeds) {
  const Output x = ops::Placeholder(On(), DT_FLOAT);
  Output y = x;
  for (int i = 0; i < 10; ++i) y = ops::AddV2(On(), ops::Mul(On(), y, 2.0f), x);
  for (int step = 0; step < 6; ++step) {
    const auto value = static_cast<float>(step);
    ExpectTensorEqual(Run({{x, AsTensor<float>({value, -value})}}, {y})[0],
                      AsTensor<float>({2047 * value, -2047 * value}));
  }
  ExpectReplays(5);
}

TEST_P(ExecutorConformance, ShapesThatAlternateAreServedEach) {
  const Output x = ops::Placeholder(On(), DT_FLOAT);
  const Output y = ops::Sum(On(), ops::Square(On(), ops::AddV2(On(), x, 1.0f)), 0);
  for (int step = 0; step < 12; ++step) {
    const int size = 1 + step % 3;
    ExpectTensorEqual(Run({{x, AsTensor<float>(std::vector<float>(size, 1))}}, {y})[0],
                      AsScalar<float>(4.0f * static_cast<float>(size)));
  }
  ExpectReplays(9);
}

TEST_P(ExecutorConformance, NoElementsAreComputedToo) {
  const Output x = ops::Placeholder(On(), DT_FLOAT);
  const Output y = ops::Square(On(), ops::AddV2(On(), x, 1.0f)), sum = ops::Sum(On(), y, 0);
  for (int step = 0; step < 4; ++step) {
    const auto out = Run({{x, AsTensor<float>({})}}, {y, sum});
    ExpectTensorEqual(out[0], AsTensor<float>({}));
    ExpectTensorEqual(out[1], AsScalar<float>(0));
  }
}

// Lists and arrays between parts that are captured: each step has its own, and what was captured writes into none that
// somebody holds.
TEST_P(ExecutorConformance, ListsAndArraysHoldWhatWasComputed) {
  const auto square = [this](Output y) {
    for (int i = 0; i < 4; ++i) y = ops::Mul(On(), y, On().Constant(i == 0 ? 2.0f : 1.0f));
    return y;
  };
  const Output x = ops::Placeholder(On(), DT_FLOAT);
  const auto array = ops::TensorArrayV3(On(), 2, DT_FLOAT);
  Output list = ops::EmptyTensorList(On(), AsTensor<int32_t>({2}), -1, DT_FLOAT);
  Output flow = array.flow, y = x;
  for (int i = 0; i < 2; ++i) {
    y = square(y);
    list = ops::TensorListPushBack(On(), list, y);
    flow = ops::TensorArrayWriteV3(On(), array.handle, i, y, flow);
  }
  const Output stacked = square(ops::TensorListStack(On(), list, AsTensor<int32_t>({2}), DT_FLOAT));
  const Output gathered = ops::TensorArrayGatherV3(On(), array.handle, AsTensor<int32_t>({1, 0}), flow, DT_FLOAT);
  for (int step = 0; step < 6; ++step) {
    const auto v = static_cast<float>(step);
    const auto out = Run({{x, AsTensor<float>({v, 1})}}, {stacked, gathered});
    ExpectTensorEqual(out[0], AsTensor<float>({4 * v, 4, 8 * v, 8}, {2, 2}));
    ExpectTensorEqual(out[1], AsTensor<float>({4 * v, 4, 2 * v, 2}, {2, 2}));
  }
}

// What lies in host memory is read when kernels enqueue, which a replay does not.
TEST_P(ExecutorConformance, HostMemoryThatChangesChangesTheResult) {
  const Output x = ops::Placeholder(On(), DT_FLOAT), shape = ops::Placeholder(On(), DT_INT32),
               axis = ops::Placeholder(On(), DT_INT32);
  const Output y = ops::Sum(On(), ops::Reshape(On(), ops::Square(On(), x), shape), axis);
  const Tensor values = AsTensor<float>({1, 2, 3, 4, 5, 6});
  for (int round = 0; round < 3; ++round) {
    ExpectTensorEqual(Run({{x, values}, {shape, AsTensor<int32_t>({2, 3})}, {axis, AsScalar<int32_t>(0)}}, {y})[0],
                      AsTensor<float>({17, 29, 45}));
    ExpectTensorEqual(Run({{x, values}, {shape, AsTensor<int32_t>({2, 3})}, {axis, AsScalar<int32_t>(1)}}, {y})[0],
                      AsTensor<float>({14, 77}));
    ExpectTensorEqual(Run({{x, values}, {shape, AsTensor<int32_t>({3, 2})}, {axis, AsScalar<int32_t>(1)}}, {y})[0],
                      AsTensor<float>({5, 25, 61}));
  }
  ExpectReplays(6);
}

// A client may write into what it has fed when the step is over.
TEST_P(ExecutorConformance, HostMemoryThatIsHandedOnIsNotThatOfAnEarlierStep) {
  const Output x = ops::Placeholder(On(), DT_FLOAT), number = ops::Placeholder(On(), DT_INT32);
  const Output same = ops::Identity(On(), ops::Reshape(On(), number, AsTensor<int32_t>({1, 1})));
  const Output y = ops::Square(On(), ops::Neg(On(), x));
  const Tensor one = AsTensor<float>({1});
  Tensor fed = AsTensor<int32_t>({5});
  for (int step = 0; step < 3; ++step) {
    ExpectTensorEqual(Run({{x, one}, {number, fed}}, {same, y})[0], AsTensor<int32_t>({5}, {1, 1}));
  }
  fed.data<int32_t>()[0] = 6;
  ExpectTensorEqual(Run({{x, one}, {number, AsTensor<int32_t>({5})}}, {same, y})[0], AsTensor<int32_t>({5}, {1, 1}));
  ExpectReplays(3);
}

TEST_P(ExecutorConformance, ShapesOfWhatWasComputedAreUsed) {
  const Output x = ops::Placeholder(On(), DT_FLOAT);
  const Output y = ops::Square(On(), x);
  const Output ones = ops::Fill(On(), ops::Shape(On(), y), 1.0f);
  const Output z = ops::AddV2(On(), ops::Neg(On(), y), ones);
  for (const int size : {2, 2, 2, 3, 3, 3}) {
    ExpectTensorEqual(Run({{x, AsTensor<float>(std::vector<float>(size, 2))}}, {z})[0],
                      AsTensor<float>(std::vector<float>(size, -3)));
  }
  ExpectReplays(4);
}

TEST_P(ExecutorConformance, VariablesAreUpdatedOncePerStep) {
  const ResourceVariable v = ResourceVariable::Make(On().WithName("v"), TensorShape({2}), DT_FLOAT,
                                                    initializers::Value(AsTensor<float>({1, 2})));
  const Output x = ops::Placeholder(On(), DT_FLOAT);
  const Operation add = v.AssignAdd(On(), ops::Square(On(), ops::Neg(On(), x)));
  const Output after = ops::Identity(On(), v.Read(On().WithControlDependencies(std::vector<Operation>{add})));
  session();
  const int64_t before = Replays();
  float sum = 0;
  for (int step = 1; step <= 6; ++step) {
    const auto value = static_cast<float>(step);
    sum += value * value;
    const auto out = Run({{x, AsTensor<float>({value, value})}}, {}, {add});
    ExpectTensorEqual(Fetch(v.value()), AsTensor<float>({1 + sum, 2 + sum}));
  }
  ExpectReplays(5, before);
  const auto out = Run({{x, AsTensor<float>({1, 1})}}, {after});
  ExpectTensorEqual(out[0], AsTensor<float>({2 + sum, 3 + sum}));
}

TEST_P(ExecutorConformance, AValueThatWasAssignedOutlivesItsStep) {
  const ResourceVariable v = ResourceVariable::Make(On().WithName("v"), TensorShape({2}), DT_FLOAT,
                                                    initializers::Value(AsTensor<float>({0, 0})));
  const ResourceVariable w = ResourceVariable::Make(On().WithName("w"), TensorShape({2}), DT_FLOAT,
                                                    initializers::Value(AsTensor<float>({0, 0})));
  const Output x = ops::Placeholder(On(), DT_FLOAT);
  const Output y = ops::AddV2(On(), ops::Square(On(), x), v.value());
  const Operation into_v = v.Assign(On().WithControlDependencies(std::vector<Output>{y}), y);
  const Operation into_w = w.Assign(On(), ops::Neg(On(), x));
  float sum = 0;
  for (int step = 1; step <= 6; ++step) {
    const auto value = static_cast<float>(step);
    sum += value * value;
    Run({{x, AsTensor<float>({value, value})}}, {}, {into_v});
    if (step % 3 == 0) Run({{x, AsTensor<float>({value, value})}}, {}, {into_w});
    ExpectTensorEqual(Fetch(v.value()), AsTensor<float>({sum, sum}));
  }
  ExpectTensorEqual(Fetch(w.value()), AsTensor<float>({-6, -6}));
}

TEST_P(ExecutorConformance, AVariableMayGetAnotherShape) {
  const Output handle = ops::VarHandleOp(On(), DT_FLOAT, PartialTensorShape());
  const Output value = ops::Placeholder(On(), DT_FLOAT);
  const Operation assign = ops::AssignVariableOp(On(), handle, value);
  const Output y = ops::Square(On(), ops::AddV2(On(), ops::ReadVariableOp(On(), handle, DT_FLOAT), 1.0f));
  for (int round = 0; round < 3; ++round) {
    for (const int size : {2, 3}) {
      Run({{value, AsTensor<float>(std::vector<float>(size, static_cast<float>(round)))}}, {}, {assign});
      const auto expected = static_cast<float>((round + 1) * (round + 1));
      for (int step = 0; step < 3; ++step) {
        ExpectTensorEqual(Fetch(y), AsTensor<float>(std::vector<float>(size, expected)));
      }
    }
  }
  ExpectReplays(1);
}

TEST_P(ExecutorConformance, TwoStepsAtOnceDoNotMeet) {
  const Output x = ops::Placeholder(On(), DT_FLOAT);
  Output y = x;
  for (int i = 0; i < 8; ++i) y = ops::AddV2(On(), ops::Neg(On(), y), x);
  const Output z = ops::Sum(On(), ops::Square(On(), ops::AddV2(On(), y, x)), 0);
  session();
  const auto run = [&](int which) {
    for (int step = 0; step < 40; ++step) {
      const auto value = static_cast<float>(100 * which + step);
      const auto out = session().Run({{x, AsTensor<float>(std::vector<float>(64, value))}}, {z});
      ASSERT_THAT(out, IsOk());
      ExpectTensorEqual((*out)[0], AsScalar<float>(64 * 4 * value * value));
    }
  };
  const auto run_both = [&] {
    std::thread other([&] { run(1); });
    run(2);
    other.join();
  };
  run_both();  // one captures the graph, and the other runs plainly until then
  const int64_t before = Replays();
  run_both();
  ExpectReplays(70, before);
}

TEST_P(ExecutorConformance, StepsAtOnceUpdateAVariableOneAfterTheOther) {
  const ResourceVariable v =
      ResourceVariable::Make(On().WithName("v"), TensorShape(), DT_INT64, initializers::Value(AsScalar<int64_t>(0)));
  const Output x = ops::Placeholder(On(), DT_INT64);
  const Operation add = v.AssignAdd(On(), ops::Neg(On(), ops::Neg(On(), x)));
  session();
  const auto run = [&](int64_t amount) {
    for (int step = 0; step < 40; ++step) {
      ASSERT_THAT(session().Run({{x, AsScalar<int64_t>(amount)}}, {}, {add}).status(), IsOk());
      if (step % 10 == 0) session().Run({v.value()}).status().IgnoreError();
    }
  };
  std::thread other([&] { run(1); });
  run(1000);
  other.join();
  ExpectTensorEqual(Fetch(v.value()), AsScalar<int64_t>(40'040));
}

// A step that is traced locks variables kernel by kernel, one that is replayed all at once. Names and addresses have
// the same order in one pair and not in the other.
TEST_P(ExecutorConformance, StepsThatLockTheSameVariablesDoNotHoldEachOtherUp) {
  const auto variable = [this](const char* name) {
    return ResourceVariable::Make(On().WithName(name), TensorShape({2}), DT_FLOAT,
                                  initializers::Value(AsTensor<float>({0, 0})));
  };
  const ResourceVariable a = variable("a"), b = variable("b"), d = variable("d"), c = variable("c");
  const Output x = ops::Placeholder(On(), DT_FLOAT);
  std::vector<Operation> train;
  for (int i = 0; i < 8; ++i) {
    const bool is_first = i % 2 == 0;
    train.push_back(ops::ResourceApplyMomentum(On(), (is_first ? a : c).handle(), (is_first ? b : d).handle(), 1.0f,
                                               ops::Square(On(), x), 0.0f));
  }
  session();
  const auto run = [&](tensorflow::RunOptions::TraceLevel level) {
    tensorflow::RunOptions options;
    options.set_trace_level(level);
    for (int step = 0; step < 200; ++step) {
      ASSERT_THAT(session().Run({{x, AsTensor<float>({1, 1})}}, {}, train, options, nullptr).status(), IsOk());
    }
  };
  std::thread other([&] { run(tensorflow::RunOptions::FULL_TRACE); });
  run(tensorflow::RunOptions::NO_TRACE);
  other.join();
}

TEST_P(ExecutorConformance, RandomNumbersGoOnFromStepToStep) {
  const Output random = ops::RandomUniform(On(), AsTensor<int32_t>({4}), DT_FLOAT, {.seed = 3, .seed2 = 4});
  const Output y = ops::Square(On(), ops::Neg(On(), random));
  std::vector<Tensor> drawn;
  for (int step = 0; step < 6; ++step) drawn.push_back(Fetch(y));
  for (int step = 1; step < 6; ++step) EXPECT_NE(drawn[step].data<float>()[0], drawn[step - 1].data<float>()[0]);
  ExpectReplays(5);
}

TEST_P(ExecutorConformance, AnErrorIsToldAsEverAndNothingIsSpoiled) {
  const Output x = ops::Placeholder(On(), DT_FLOAT), y = ops::Placeholder(On(), DT_FLOAT);
  const Output sum = ops::AddV2(On().WithName("sum"), ops::Neg(On(), x), ops::Neg(On(), y));
  const Tensor two = AsTensor<float>({1, 2}), three = AsTensor<float>({1, 2, 3});
  for (int round = 0; round < 3; ++round) {
    for (int step = 0; step < 3; ++step)
      ExpectTensorEqual(Run({{x, two}, {y, two}}, {sum})[0], AsTensor<float>({-2, -4}));
    EXPECT_THAT(session().Run({{x, two}, {y, three}}, {sum}).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("{{node sum}}")));
  }
  ExpectReplays(8);
}

TEST_P(ExecutorConformance, PartsOnTheCpuComeInBetween) {
  const Output x = ops::Placeholder(On(), DT_FLOAT);
  const Output a = ops::Square(On(), ops::Neg(On(), x));
  const Output b = ops::AddV2(Cpu(), a, 1.0f);
  const Output c = ops::AddV2(On(), ops::Neg(On(), b), a), d = ops::Mul(On(), c, a);
  for (int step = 0; step < 5; ++step) {
    const auto value = static_cast<float>(step);
    ExpectTensorEqual(Run({{x, AsTensor<float>({value})}}, {d})[0], AsTensor<float>({-value * value}));
  }
  ExpectReplays(8);
}

TEST_P(ExecutorConformance, ALoopRunsItsBodyEachTime) {
  const Output x = ops::Placeholder(On(), DT_FLOAT);
  const OutputList last = WhileLoop(
      On(), {On().Constant(0), x}, [](const Scope& s, const OutputList& v) { return ops::Less(s, v[0], 6); },
      [&](const Scope& s, const OutputList& v) {
        return OutputList{ops::AddV2(s, v[0], 1), ops::AddV2(s, ops::Neg(s, ops::Mul(s, v[1], 2.0f)), x)};
      });
  for (int step = 0; step < 4; ++step) {
    float expected = static_cast<float>(step);
    for (int i = 0; i < 6; ++i) expected = -2 * expected + static_cast<float>(step);
    ExpectTensorEqual(Run({{x, AsScalar<float>(static_cast<float>(step))}}, {last[1]})[0], AsScalar<float>(expected));
  }
  ExpectReplays(20);
}

TEST_P(ExecutorConformance, AFetchThatIsHeldKeepsItsValue) {
  const Output x = ops::Placeholder(On(), DT_FLOAT);
  const Output y = ops::Square(On(), ops::Neg(On(), x));
  std::vector<Tensor> held;
  for (int step = 0; step < 6; ++step) held.push_back(Run({{x, AsTensor<float>({static_cast<float>(step)})}}, {y})[0]);
  for (int step = 0; step < 6; ++step)
    ExpectTensorEqual(held[step], AsTensor<float>({static_cast<float>(step * step)}));
}

TEST_P(ExecutorConformance, ATracedStepTellsOfItsNodes) {
  const Output x = ops::Placeholder(On(), DT_FLOAT);
  const Output y = ops::Square(On().WithName("square"), ops::Neg(On().WithName("minus"), x));
  const FeedList feeds = {{x, AsTensor<float>({3})}};
  for (int step = 0; step < 4; ++step) Run(feeds, {y});
  const int64_t before = Replays();
  tensorflow::RunOptions options;
  options.set_trace_level(tensorflow::RunOptions::FULL_TRACE);
  tensorflow::RunMetadata metadata;
  ASSERT_OK_AND_ASSIGN(const auto traced, session().Run(feeds, {y}, {}, options, &metadata));
  ExpectTensorEqual(traced[0], AsTensor<float>({9}));
  std::vector<std::string> nodes;
  for (const auto& device : metadata.step_stats().dev_stats()) {
    for (const auto& node : device.node_stats()) nodes.push_back(node.node_name());
  }
  if (GetParam().fuses) {
    EXPECT_THAT(nodes, testing::Contains("square/_fused"));
  } else {
    EXPECT_THAT(nodes, testing::IsSupersetOf({"minus", "square"}));
  }
  EXPECT_EQ(Replays(), before);
  ExpectTensorEqual(Run(feeds, {y})[0], AsTensor<float>({9}));
  ExpectReplays(1, before);
}

// The weights of a network with a hidden layer after some steps, from the same values on.
absl::StatusOr<std::vector<Tensor>> Train(const ExecutorWorld& world, bool captures, bool fuses, Optimizer& optimizer,
                                          int64_t* replays) {
  std::shared_ptr<SimulatedGpu> simulated;
  ASSIGN_OR_RETURN(const GpuPlatform gpus, world.gpus(&simulated));
  const Scope root = Scope::NewRoot(), scope = root.WithDevice(world.device);
  const Output x = ops::Placeholder(scope, DT_FLOAT), labels = ops::Placeholder(scope, DT_FLOAT);
  const auto weights = [&](const char* name, TensorShape shape, int64_t seed) {
    return ResourceVariable::Make(scope.WithName(name), shape, DT_FLOAT, initializers::RandomUniform(-1, 1, seed));
  };
  const ResourceVariable w1 = weights("w1", TensorShape({4, 8}), 1), b1 = weights("b1", TensorShape({8}), 2);
  const ResourceVariable w2 = weights("w2", TensorShape({8, 3}), 3);
  const Output hidden = ops::Relu(scope, ops::BiasAdd(scope, ops::MatMul(scope, x, w1.value()), b1.value()));
  const Output logits = ops::MatMul(scope, hidden, w2.value());
  const Output loss = ops::Mean(scope, ops::SoftmaxCrossEntropyWithLogits(scope, logits, labels).loss, 0);
  const ResourceVariable step = GlobalStep(scope);
  const Operation train = optimizer.Minimize(scope, loss, step);
  const Operation initialize = InitializeAll(root);
  RETURN_IF_ERROR(root.status());
  SessionOptions options;
  options.config->set_allow_soft_placement(true);
  if (captures) CaptureGraphs(2, &*options.config);
  if (fuses) FuseElementwise(&*options.config);
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, LocalSessionOn(gpus, root, std::move(options)));
  RETURN_IF_ERROR(session->RunTargets({initialize}));
  const int64_t before = simulated == nullptr ? 0 : simulated->NumEnqueued("graph");
  std::mt19937 random(5);
  std::vector<Tensor> results;
  for (int i = 0; i < 12; ++i) {
    Tensor batch(DT_FLOAT, TensorShape({6, 4})), classes(DT_FLOAT, TensorShape({6, 3}));
    for (float& value : batch.flat<float>()) value = static_cast<float>(random() % 100) / 50 - 1;
    for (float& value : classes.flat<float>()) value = 0;
    for (int row = 0; row < 6; ++row) classes.flat<float>()[row * 3 + random() % 3] = 1;
    ASSIGN_OR_RETURN(const auto out, session->Run({{x, batch}, {labels, classes}}, {loss}, {train}));
    results.push_back(out[0]);
  }
  ASSIGN_OR_RETURN(const auto values, session->Run({w1.value(), b1.value(), w2.value(), step.value()}));
  results.insert(results.end(), values.begin(), values.end());
  if (simulated != nullptr) {
    *replays = simulated->NumEnqueued("graph") - before;
    for (const std::string& race : simulated->Races()) return errors::Internal(race);
  }
  return results;
}

TEST_P(ExecutorConformance, TrainingGivesTheSameBits) {
  std::vector<std::unique_ptr<Optimizer>> optimizers;
  optimizers.push_back(GradientDescentOptimizer(0.1));
  optimizers.push_back(MomentumOptimizer(0.1, 0.9));
  optimizers.push_back(AdamOptimizer(0.01));
  optimizers.push_back(RMSPropOptimizer(0.01));
  for (const auto& optimizer : optimizers) {
    int64_t replays = 0, none = 0;
    ASSERT_OK_AND_ASSIGN(const auto plain, Train(GetParam(), false, false, *optimizer, &none));
    ASSERT_OK_AND_ASSIGN(const auto trained,
                         Train(GetParam(), GetParam().captures, GetParam().fuses, *optimizer, &replays));
    ASSERT_EQ(trained.size(), plain.size());
    for (size_t i = 0; i < trained.size(); ++i) ExpectTensorEqual(trained[i], plain[i]);
    EXPECT_EQ(none, 0);
    if (GetParam().captures && simulated_ != nullptr) {
      EXPECT_GE(replays, 10);
    }
  }
}

}  // namespace
}  // namespace weir
