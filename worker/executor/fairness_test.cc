// While a step loops endlessly, other work must run: nodes beside the loop, and other steps that the looping thread
// completed.
#include <google/protobuf/text_format.h>

#include <deque>
#include <future>

#include "core/testing.h"
#include "tensorflow/core/framework/function.pb.h"
#include "worker/executor/executor_testing.h"
#include "worker/executor/node_kernel.h"
#include "worker/local_function_runtime.h"

namespace weir {
namespace {

// Loops end here at the latest; a loop that takes this long was not fair. The system may stop the other threads for
// some seconds meanwhile.
constexpr int32_t kEndless = 30'000'000;

Out Int32(TestGraph& g, const std::string& op, const std::vector<Out>& inputs) {
  return g.Add(op, inputs, {TestGraph::A("T", DT_INT32)});
}

Out Value(TestGraph& g, int32_t value, const std::vector<Node*>& controls = {}) {
  return g.Const(Tensor::Scalar<int32_t>(value), controls);
}

Out Flag(TestGraph& g) {
  return g.Add("VarHandleOp", {},
               {TestGraph::A("dtype", DT_INT32), TestGraph::A("shape", TensorShape()),
                TestGraph::A("shared_name", std::string("flag"))},
               {}, "flag");
}

Out Assign(TestGraph& g, Out flag, Out value) {
  return g.Add("AssignVariableOp", {flag, value}, {TestGraph::A("dtype", DT_INT32)});
}

Out Enter(TestGraph& g, Out x, bool is_constant) {
  return g.Add("Enter", {x},
               {TestGraph::A("T", x.node->output_type(x.index)), TestGraph::A("frame_name", std::string("loop")),
                TestGraph::A("is_constant", is_constant)});
}

// for (i = 0; i < kEndless && flag == 0; ++i); gives i.
Out LoopUntil(TestGraph& g, Out flag) {
  const Out handle = Enter(g, flag, true);
  // In a last in, first out queue, the loop's nodes are above those that were queued before.
  const Out enter = Enter(g, Value(g, 0, {flag.node}), false);
  const Out merge = g.Add("Merge", {enter, {nullptr}}, {TestGraph::A("T", DT_INT32), TestGraph::A("N", int64_t{2})});
  const Out is_set = g.Add("ReadVariableOp", {handle}, {TestGraph::A("dtype", DT_INT32)}, {merge.node});
  const Out go_on = g.Add("LogicalAnd", {Int32(g, "Less", {merge, Value(g, kEndless, {merge.node})}),
                                         Int32(g, "Less", {is_set, Value(g, 1, {merge.node})})});
  const Out branches = Int32(g, "Switch", {merge, g.Add("LoopCond", {go_on})});
  const Out next = Int32(g, "AddV2", {{branches.node, 1}, Value(g, 1, {branches.node})});
  g.Connect(Int32(g, "NextIteration", {next}), merge.node, 1);
  return Int32(g, "Exit", {{branches.node, 0}});
}

// The parameter: whether the loop's nodes are made before the others.
class FairnessTest : public ::testing::TestWithParam<bool> {
 protected:
  // Steps that loop until the nodes of `beside` set the flag.
  void LoopsEnd(absl::FunctionRef<void(TestGraph&, Out)> beside, int steps = 6) {
    TestGraph lower, g;
    Assign(lower, Flag(lower), Value(lower, 0));
    const Out flag = Flag(g);
    if (GetParam()) g.Ret(0, LoopUntil(g, flag), DT_INT32);
    beside(g, flag);
    if (!GetParam()) g.Ret(0, LoopUntil(g, flag), DT_INT32);
    auto lowering = h_.Compile(lower.Take()), looping = h_.Compile(g.Take());
    ASSERT_THAT(lowering.status(), IsOk());
    ASSERT_THAT(looping.status(), IsOk());
    for (int step = 0; step < steps; ++step) {  // the first ones measure the nodes' costs
      ASSERT_THAT(h_.RunStep(**lowering).status(), IsOk());
      auto results = h_.RunStep(**looping, {Tensor::Scalar<int64_t>(1)});
      ASSERT_THAT(results.status(), IsOk());
      ASSERT_LT(results->front().scalar<int32_t>(), kEndless) << "in step " << step;
    }
  }
  static Out ToInt32(TestGraph& g, Out x) {
    return g.Add("Cast", {x}, {TestGraph::A("SrcT", DT_INT64), TestGraph::A("DstT", DT_INT32)});
  }

  ExecutorHarness h_;
};

INSTANTIATE_TEST_SUITE_P(Orders, FairnessTest, ::testing::Bool());

TEST_P(FairnessTest, ANodeBesideAnEndlessLoopRuns) {
  LoopsEnd([](TestGraph& g, Out flag) { Assign(g, flag, ToInt32(g, g.Arg(0))); });
}

TEST_P(FairnessTest, ACostlyNodeBesideAnEndlessLoopRuns) {
  LoopsEnd([&](TestGraph& g, Out flag) {
    Assign(g, flag, ToInt32(g, g.Add("TestBurn", {g.Arg(0)}, {TestGraph::A("micros", int64_t{20})})));
  });
}

TestGraph::Attr QueueTypes(const std::string& name) {
  TestGraph::Attr types = TestGraph::A(name, DT_INT32);
  types.second.mutable_list()->add_type(tensorflow::DT_INT32);
  return types;
}

Out Queue(TestGraph& g, const std::string& name) {
  return g.Add("FIFOQueueV2", {}, {QueueTypes("component_types"), TestGraph::A("shared_name", name)});
}

Out Dequeue(TestGraph& g, const std::string& name) {
  return g.Add("QueueDequeueV2", {Queue(g, name)}, {QueueTypes("component_types")});
}

// For a loop that begins once the queue "loops" has an element.
Out FlagOfALoopThatWaits(TestGraph& g) {
  return g.Add("Identity", {Flag(g)}, {TestGraph::A("T", DT_RESOURCE)}, {Dequeue(g, "loops").node});
}

Node* Enqueue(TestGraph& g, const std::string& name, Out value, const std::vector<Node*>& controls = {}) {
  return g.Add("QueueEnqueueV2", {Queue(g, name), value}, {QueueTypes("Tcomponents")}, controls).node;
}

// A running step: it waits for its asynchronous kernels when RunAsync returns.
class WaitingStep {
 public:
  WaitingStep(ExecutorHarness& h, std::unique_ptr<Graph> graph) : WaitingStep(h, h.Compile(std::move(graph))) {}
  WaitingStep(ExecutorHarness& h, absl::StatusOr<std::shared_ptr<Executor>> executor,
              FunctionRuntime* functions = nullptr) {
    status_ = executor.status();
    if (!status_.ok()) return;
    executor_ = *std::move(executor);
    context_.device = h.device();
    context_.cancellation = &cancellation_;
    context_.functions = functions;
    executor_->RunAsync({.context = &context_, .results = &results_}, true,
                        [this](absl::Status status) { done_.set_value(std::move(status)); });
  }
  absl::Status Wait() { return status_.ok() ? done_.get_future().get() : status_; }
  const std::vector<Tensor>& results() const { return results_; }

 private:
  absl::Status status_;
  std::shared_ptr<Executor> executor_;
  CancellationManager cancellation_;
  StepContext context_;
  std::vector<Tensor> results_;
  std::promise<absl::Status> done_;
};

TEST_P(FairnessTest, AnotherStepThatTheLoopingThreadCompletesGoesOn) {
  TestGraph answer;
  Assign(answer, Flag(answer), Dequeue(answer, "questions"));
  WaitingStep answering(h_, answer.Take());
  LoopsEnd([&](TestGraph& g, Out) { Enqueue(g, "questions", ToInt32(g, g.Arg(0))); }, 1);
  EXPECT_THAT(answering.Wait(), IsOk());
}

// A step ends that two others waited for. The thread continues both, one of which loops until the other has run.
TEST_P(FairnessTest, AStepThatWaitsForTheThreadOfAnEndlessLoopGoesOn) {
  TestGraph lower, loop, set, ask;
  Assign(lower, Flag(lower), Value(lower, 0));
  ASSERT_THAT(h_.Run(lower.Take()).status(), IsOk());
  const Out flag = FlagOfALoopThatWaits(loop);
  loop.Ret(0, LoopUntil(loop, flag), DT_INT32);
  WaitingStep looping(h_, loop.Take());
  Assign(set, Flag(set), Dequeue(set, "sets"));
  WaitingStep setting(h_, set.Take());
  const bool loop_first = GetParam();
  Node* const first = Enqueue(ask, loop_first ? "loops" : "sets", Value(ask, 1));
  Enqueue(ask, loop_first ? "sets" : "loops", Value(ask, 1), {first});
  ASSERT_THAT(h_.Run(ask.Take()).status(), IsOk());
  ASSERT_THAT(setting.Wait(), IsOk());
  ASSERT_THAT(looping.Wait(), IsOk());
  EXPECT_LT(looping.results()[0].scalar<int32_t>(), kEndless);
}

// The thread that completes the loop's wait must return to its caller.
TEST_P(FairnessTest, AStepThatStartsAnEndlessLoopOfAnotherEnds) {
  TestGraph lower, loop, ask, set;
  Assign(lower, Flag(lower), Value(lower, 0));
  ASSERT_THAT(h_.Run(lower.Take()).status(), IsOk());
  const Out flag = FlagOfALoopThatWaits(loop);
  loop.Ret(0, LoopUntil(loop, flag), DT_INT32);
  WaitingStep looping(h_, loop.Take());
  Enqueue(ask, "loops", Value(ask, 1));
  if (GetParam()) {
    ASSERT_THAT(h_.Run(ask.Take()).status(), IsOk());
  } else {
    ASSERT_THAT(WaitingStep(h_, ask.Take()).Wait(), IsOk());
  }
  Assign(set, Flag(set), Value(set, 1));
  ASSERT_THAT(h_.Run(set.Take()).status(), IsOk());
  ASSERT_THAT(looping.Wait(), IsOk());
  EXPECT_LT(looping.results()[0].scalar<int32_t>(), kEndless);
}

// LoopUntil as functions of (i, flag).
constexpr char kLoopFunctions[] = R"(
  function {
    signature {
      name: "GoOn"
      input_arg { name: "i" type: DT_INT32 } input_arg { name: "flag" type: DT_RESOURCE }
      output_arg { name: "go_on" type: DT_BOOL }
    }
    node_def {
      name: "end" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
      attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 30000000 } } }
    }
    node_def {
      name: "one" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
      attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 1 } } }
    }
    node_def {
      name: "set" op: "ReadVariableOp" input: "flag" attr { key: "dtype" value { type: DT_INT32 } }
    }
    node_def {
      name: "is_early" op: "Less" input: "i" input: "end:output:0" attr { key: "T" value { type: DT_INT32 } }
    }
    node_def {
      name: "is_clear" op: "Less" input: "set:value:0" input: "one:output:0" attr { key: "T" value { type: DT_INT32 } }
    }
    node_def { name: "both" op: "LogicalAnd" input: "is_early:z:0" input: "is_clear:z:0" }
    ret { key: "go_on" value: "both:z:0" }
  }
  function {
    signature {
      name: "Next"
      input_arg { name: "i" type: DT_INT32 } input_arg { name: "flag" type: DT_RESOURCE }
      output_arg { name: "next" type: DT_INT32 } output_arg { name: "same" type: DT_RESOURCE }
    }
    node_def {
      name: "one" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
      attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 1 } } }
    }
    node_def {
      name: "sum" op: "AddV2" input: "i" input: "one:output:0" attr { key: "T" value { type: DT_INT32 } }
    }
    ret { key: "next" value: "sum:z:0" }
    ret { key: "same" value: "flag" }
  }
  function {
    signature {
      name: "Answer"
      input_arg { name: "i" type: DT_INT32 } input_arg { name: "flag" type: DT_RESOURCE }
      output_arg { name: "next" type: DT_INT32 } output_arg { name: "same" type: DT_RESOURCE }
    }
    node_def {
      name: "questions" op: "FIFOQueueV2" attr { key: "shared_name" value { s: "questions" } }
      attr { key: "component_types" value { list { type: DT_INT32 } } }
    }
    node_def {
      name: "answers" op: "FIFOQueueV2" attr { key: "shared_name" value { s: "answers" } }
      attr { key: "component_types" value { list { type: DT_INT32 } } }
    }
    node_def {
      name: "question" op: "QueueDequeueV2" input: "questions:handle:0"
      attr { key: "component_types" value { list { type: DT_INT32 } } }
    }
    node_def {
      name: "again" op: "QueueEnqueueV2" input: "questions:handle:0" input: "question:components:0"
      attr { key: "Tcomponents" value { list { type: DT_INT32 } } }
    }
    node_def {
      name: "answer" op: "QueueEnqueueV2" input: "answers:handle:0" input: "question:components:0"
      attr { key: "Tcomponents" value { list { type: DT_INT32 } } }
    }
    node_def {
      name: "sum" op: "AddV2" input: "i" input: "question:components:0" input: "^again" input: "^answer"
      attr { key: "T" value { type: DT_INT32 } }
    }
    ret { key: "next" value: "sum:z:0" }
    ret { key: "same" value: "flag" }
  })";

class FunctionFairnessTest : public ::testing::Test {
 protected:
  void SetUp() override {
    tensorflow::FunctionDefLibrary functions;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(kLoopFunctions, &functions));
    ASSERT_THAT(library_.AddLibrary(functions), IsOk());
    runtime_.emplace(LocalFunctionRuntime::Options{
        .device = h_.device(),
        .ops = &ExecutorTestOps(),
        .library = library_,
        .kernels = [this](const Node& node, FunctionRuntime* runtime) { return KernelFor(node, runtime); }});
    TestGraph lower;
    Assign(lower, Flag(lower), Value(lower, 0));
    ASSERT_THAT(h_.Run(lower.Take()).status(), IsOk());
  }

  absl::StatusOr<std::shared_ptr<Executor>> Compile(TestGraph& g) {
    Plan::Options options = h_.Options();
    options.kernels = [this](const Node& node) { return KernelFor(node, &*runtime_); };
    ASSIGN_OR_RETURN(auto plan, Plan::Compile(g.Take(), options));
    return Executor::Create(std::move(plan));
  }
  // How often `body` ran.
  static Out While(TestGraph& g, Out flag, const std::string& body) {
    TestGraph::Attr types = TestGraph::A("T", DT_INT32), cond = TestGraph::A("cond", std::string());
    types.second.mutable_list()->add_type(tensorflow::DT_INT32);
    types.second.mutable_list()->add_type(tensorflow::DT_RESOURCE);
    cond.second.mutable_func()->set_name("GoOn");
    TestGraph::Attr run = cond;
    run.first = "body";
    run.second.mutable_func()->set_name(body);
    return g.Add("While", {Value(g, 0), flag}, {types, cond, run});
  }

  ExecutorHarness h_;
  FunctionLibrary library_;
  std::optional<LocalFunctionRuntime> runtime_;

 private:
  auto KernelFor(const Node& node, FunctionRuntime* runtime)
      -> decltype(CreateNodeKernel(ExecutorTestKernels(), ExecutorTestOps(), node, h_.device(), runtime)) {
    return CreateNodeKernel(ExecutorTestKernels(), ExecutorTestOps(), node, h_.device(), runtime);
  }
};

TEST_F(FunctionFairnessTest, ANodeBesideAnEndlessWhileRuns) {
  TestGraph g;
  const Out flag = Flag(g);
  const Out beside = g.Add("Identity", {Value(g, 1)}, {TestGraph::A("T", DT_INT32)}, {flag.node});
  g.Ret(0, While(g, flag, "Next"), DT_INT32);
  Assign(g, flag, beside);
  WaitingStep looping(h_, Compile(g), &*runtime_);
  ASSERT_THAT(looping.Wait(), IsOk());
  EXPECT_LT(looping.results()[0].scalar<int32_t>(), kEndless);
}

// The body waits the first time. The thread that completes it continues the loop, and the body completes another step.
TEST_F(FunctionFairnessTest, AStepThatAWhileCompletesGoesOn) {
  TestGraph loop, set, ask;
  Assign(set, Flag(set), Dequeue(set, "answers"));
  WaitingStep setting(h_, set.Take());
  loop.Ret(0, While(loop, Flag(loop), "Answer"), DT_INT32);
  WaitingStep looping(h_, Compile(loop), &*runtime_);
  Enqueue(ask, "questions", Value(ask, 1));
  ASSERT_THAT(h_.Run(ask.Take()).status(), IsOk());
  ASSERT_THAT(setting.Wait(), IsOk());
  ASSERT_THAT(looping.Wait(), IsOk());
  EXPECT_LT(looping.results()[0].scalar<int32_t>(), kEndless);
}

// More loops than compute threads, each on one; then a step that needs one ends them.
TEST_F(FunctionFairnessTest, WhilesOnAllComputeThreadsLetOthersRun) {
  std::deque<WaitingStep> looping;
  for (int i = 0; i < 6; ++i) {
    TestGraph loop;
    const Out flag = FlagOfALoopThatWaits(loop);
    loop.Ret(0, While(loop, flag, "Next"), DT_INT32);
    looping.emplace_back(h_, Compile(loop), &*runtime_);
  }
  TestGraph set;
  Assign(set, Flag(set), Dequeue(set, "sets"));
  WaitingStep setting(h_, set.Take());
  for (int i = 0; i < 6; ++i) {
    TestGraph begin;
    Enqueue(begin, "loops", Value(begin, 1));
    ASSERT_THAT(h_.Run(begin.Take()).status(), IsOk());
  }
  TestGraph ask;
  Enqueue(ask, "sets", Value(ask, 1));
  ASSERT_THAT(h_.Run(ask.Take()).status(), IsOk());
  ASSERT_THAT(setting.Wait(), IsOk());
  for (WaitingStep& step : looping) {
    ASSERT_THAT(step.Wait(), IsOk());
    EXPECT_LT(step.results()[0].scalar<int32_t>(), kEndless);
  }
}

}  // namespace
}  // namespace weir
