// A kernel that runs and awaits a step: completions of other steps on its thread continue meanwhile.
#include <future>

#include "core/testing.h"
#include "worker/executor/executor_testing.h"

namespace weir {
namespace {

constexpr char kDevice[] = "/job:worker/replica:0/task:0/device:CPU:0";
constexpr auto kPatience = std::chrono::seconds(20);

std::vector<TestGraph::Attr> Transfer(const std::string& name, bool is_send) {
  return {TestGraph::A(is_send ? "T" : "tensor_type", DT_INT64), TestGraph::A("tensor_name", name),
          TestGraph::A("send_device", std::string(kDevice)), TestGraph::A("recv_device", std::string(kDevice)),
          TestGraph::A("send_device_incarnation", int64_t{1})};
}

Out Receive(TestGraph& g, const std::string& name) { return g.Add("_Recv", {}, Transfer(name, false), {}, name); }
Node* Send(TestGraph& g, const std::string& name, Out value) {
  return g.Add("_Send", {value}, Transfer(name, true), {}, name).node;
}

// Receives nothing itself: sends "there", and waits for "back".
class NestingKernel : public OpKernel {
 public:
  explicit NestingKernel(std::shared_ptr<Executor> inner) : inner_(std::move(inner)) {}
  absl::Status Compute(OpKernelContext& ctx) override {
    std::vector<Tensor> results;
    RETURN_IF_ERROR(inner_->RunSync({.context = &ctx.step(), .results = &results}));
    ctx.set_output(0, results[0]);
    return absl::OkStatus();
  }

 private:
  const std::shared_ptr<Executor> inner_;
};

class NestedStepTest : public ::testing::Test {
 protected:
  NestedStepTest() {
    context_.device = h_.device();
    context_.rendezvous = rendezvous_.get();
    context_.cancellation = &cancellation_;
    TestGraph inner;
    Send(inner, "there", inner.Int(1));
    inner.Ret(0, Receive(inner, "back"));
    inner_ = *h_.Compile(inner.Take());
  }

  // A node whose kernel runs the inner step.
  Out Nesting(TestGraph& g, Out x) {
    return g.Add("TestBurn", {x}, {TestGraph::A("micros", int64_t{0})}, {}, "nesting");
  }
  std::shared_ptr<Executor> Compile(TestGraph& g) {
    Plan::Options options = h_.Options();
    options.kernels = [this, usual = options.kernels](const Node& node) -> absl::StatusOr<std::shared_ptr<OpKernel>> {
      if (node.name() == "nesting") return std::make_shared<NestingKernel>(inner_);
      return usual(node);
    };
    return Executor::Create(*Plan::Compile(g.Take(), options));
  }
  // The result of a step on its own thread; an error if it does not end.
  absl::StatusOr<int64_t> Run(Executor& executor) {
    auto step = std::async(std::launch::async, [&]() -> absl::StatusOr<int64_t> {
      std::vector<Tensor> results;
      RETURN_IF_ERROR(executor.RunSync({.context = &context_, .results = &results}));
      return results[0].scalar<int64_t>();
    });
    if (step.wait_for(kPatience) != std::future_status::ready) {
      rendezvous_->StartAbort(errors::DeadlineExceeded("the step did not end"));
    }
    return step.get();
  }

  ExecutorHarness h_;
  std::shared_ptr<Rendezvous> rendezvous_ = NewLocalRendezvous();
  CancellationManager cancellation_;
  StepContext context_;
  std::shared_ptr<Executor> inner_;
};

TEST_F(NestedStepTest, AnotherStepGoesOnThatItCompleted) {
  TestGraph other, outer;
  Send(other, "back", other.I64("AddV2", {Receive(other, "there"), other.Int(41)}));
  other.Ret(0, other.Int(0));
  outer.Ret(0, Nesting(outer, outer.Int(0)));
  std::vector<Tensor> results;
  std::promise<absl::Status> ended;
  const std::shared_ptr<Executor> waits = Compile(other);
  waits->RunAsync({.context = &context_, .results = &results}, /*on_caller=*/true,
                  [&](absl::Status status) { ended.set_value(std::move(status)); });
  const absl::StatusOr<int64_t> result = Run(*Compile(outer));
  ASSERT_THAT(result.status(), IsOk());
  EXPECT_EQ(*result, 42);
  EXPECT_THAT(ended.get_future().get(), IsOk());
}

TEST_F(NestedStepTest, TheStepAroundItGoesOn) {
  TestGraph g;
  const Out there = Receive(g, "there");
  Send(g, "back", g.I64("AddV2", {there, g.Int(41)}));
  // The receive is under way before the kernel runs: that is the last of a chain of nodes.
  Out x = g.Int(0);
  for (int i = 0; i < 8; ++i) x = g.I64("AddV2", {x, g.Int(1)});
  g.Ret(0, Nesting(g, x));
  const absl::StatusOr<int64_t> result = Run(*Compile(g));
  ASSERT_THAT(result.status(), IsOk());
  EXPECT_EQ(*result, 42);
}

}  // namespace
}  // namespace weir
