// Tests when a polling thread of a step releases its turn.
#include <google/protobuf/text_format.h>

#include <map>
#include <string>

#include "core/testing.h"
#include "tensorflow/core/framework/function.pb.h"
#include "worker/executor/executor_testing.h"
#include "worker/executor/node_kernel.h"
#include "worker/local_function_runtime.h"

namespace weir {
namespace {

constexpr char kCpuDevice[] = "/job:worker/replica:0/task:0/device:CPU:0";

// Sends the tensor that a step waits for when the step polls, and keeps the turn.
class Bringer : public BusyPoller {
 public:
  Bringer(Rendezvous* rendezvous, Tensor value) : rendezvous_(rendezvous), value_(std::move(value)) {}

  void Await(absl::FunctionRef<bool()> enough) override {
    AwaitAndStay(enough);
    Rest();
  }
  void AwaitAndStay(absl::FunctionRef<bool()> enough) override {
    EXPECT_THAT(
        rendezvous_->Send(absl::StrCat(RendezvousKey::Prefix(kCpuDevice, 1, kCpuDevice, "t"), ";0:0"), value_, false),
        IsOk());
    EXPECT_TRUE(enough());
    keeps_turn_ = true;
  }
  void Rest() override { keeps_turn_ = false; }
  bool RunSoon(absl::AnyInvocable<void()>&) override { return false; }
  bool IsInAwait() const override { return false; }

  bool keeps_turn() const { return keeps_turn_; }

 private:
  Rendezvous* const rendezvous_;
  const Tensor value_;
  bool keeps_turn_ = false;
};

// Records whether the turn was kept when a node was done.
class TurnObserver : public StepObserver {
 public:
  explicit TurnObserver(const Bringer& bringer) : bringer_(bringer) {}
  void NodeDone(const Node& node, int64_t, int64_t, absl::Span<const OpOutput>) override {
    kept[node.name()] = bringer_.keeps_turn();
  }
  std::map<std::string, bool> kept;

 private:
  const Bringer& bringer_;
};

class StepPollerTest : public ::testing::Test {
 protected:
  StepPollerTest() {
    tensorflow::FunctionDef function;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        R"(signature { name: "Same" input_arg { name: "x" type: DT_INT64 } output_arg { name: "y" type: DT_INT64 } }
           ret { key: "y" value: "x" })",
        &function));
    EXPECT_THAT(library_.Add(function), IsOk());
    const auto kernels = [this](const Node& node, FunctionRuntime* runtime) {
      return CreateNodeKernel(ExecutorTestKernels(), ExecutorTestOps(), node, h_.device(), runtime);
    };
    runtime_ = std::make_unique<LocalFunctionRuntime>(LocalFunctionRuntime::Options{
        .device = h_.device(), .ops = &ExecutorTestOps(), .library = library_, .kernels = kernels});
  }

  Out Received() {
    return g_.Add(
        "_Recv", {},
        {TestGraph::A("tensor_type", DT_INT64), TestGraph::A("tensor_name", std::string("t")),
         TestGraph::A("send_device", std::string(kCpuDevice)), TestGraph::A("recv_device", std::string(kCpuDevice)),
         TestGraph::A("send_device_incarnation", int64_t{1})},
        {}, "_recv");
  }
  std::shared_ptr<Executor> Compile() {
    Plan::Options options = h_.Options();
    options.kernels = [this](const Node& node) {
      return CreateNodeKernel(ExecutorTestKernels(), ExecutorTestOps(), node, h_.device(), runtime_.get());
    };
    auto plan = Plan::Compile(g_.Take(), options);
    EXPECT_THAT(plan.status(), IsOk());
    return plan.ok() ? Executor::Create(*plan) : nullptr;
  }
  // True for each node that was done while the turn was kept, in a step that receives `value`.
  std::map<std::string, bool> Run(Executor& executor, const Tensor& value) {
    const std::shared_ptr<Rendezvous> rendezvous = NewLocalRendezvous();
    CancellationManager cancellation;
    Bringer bringer(rendezvous.get(), value);
    TurnObserver observer(bringer);
    StepContext context;
    context.device = h_.device();
    context.rendezvous = rendezvous.get();
    context.cancellation = &cancellation;
    context.functions = runtime_.get();
    std::vector<Tensor> results;
    EXPECT_THAT(executor.RunSync({.context = &context, .results = &results, .observer = &observer, .poller = &bringer}),
                IsOk());
    EXPECT_FALSE(bringer.keeps_turn());
    return observer.kept;
  }

  TestGraph g_;
  ExecutorHarness h_;
  FunctionLibrary library_;
  std::unique_ptr<LocalFunctionRuntime> runtime_;
};

TEST_F(StepPollerTest, KeepsItsTurnThroughWhatIsShort) {
  const Out x = Received();
  g_.Ret(0, g_.Add("AddV2", {x, x}, {TestGraph::A("T", DT_INT64)}, {}, "sum"));
  EXPECT_TRUE(Run(*Compile(), Tensor::Scalar<int64_t>(1)).at("sum"));
}

TEST_F(StepPollerTest, RestsBeforeElementsThatAreMany) {
  const Out x = Received();
  g_.Ret(0, g_.Add("AddV2", {x, x}, {TestGraph::A("T", DT_INT64)}, {}, "sum"));
  EXPECT_FALSE(Run(*Compile(), Tensor(DT_INT64, {1 << 16})).at("sum"));
}

TEST_F(StepPollerTest, RestsBeforeAKernelThatWasNeverMeasured) {
  g_.Ret(0, g_.Add("TestBurn", {Received()}, {TestGraph::A("micros", int64_t{0})}, {}, "work"));
  const std::shared_ptr<Executor> executor = Compile();
  EXPECT_FALSE(Run(*executor, Tensor::Scalar<int64_t>(1)).at("work"));
}

TEST_F(StepPollerTest, RestsBeforeACall) {
  TestGraph::Attr called = TestGraph::A("f", std::string());
  called.second.mutable_func()->set_name("Same");
  TestGraph::Attr in = TestGraph::A("Tin", DT_INT64), out = TestGraph::A("Tout", DT_INT64);
  for (TestGraph::Attr* types : {&in, &out}) types->second.mutable_list()->add_type(tensorflow::DT_INT64);
  g_.Ret(0, g_.Add("PartitionedCall", {Received()}, {called, in, out}, {}, "call"));
  EXPECT_FALSE(Run(*Compile(), Tensor::Scalar<int64_t>(1)).at("call"));
}

}  // namespace
}  // namespace weir
