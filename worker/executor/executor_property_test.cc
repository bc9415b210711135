#include <random>

#include "graph/graph_import.h"
#include "graph/partition.h"
#include "gtest/gtest.h"
#include "worker/executor/random_program_testing.h"

namespace weir {
namespace {

constexpr int kNumInputs = 3;

struct Program {
  explicit Program(uint32_t seed, int depth) : random(seed), block(MakeRandomBlock(kNumInputs, depth, random)) {
    std::vector<Out> args;
    for (int i = 0; i < kNumInputs; ++i) args.push_back(g.Arg(i));
    g.Ret(0, BuildGraph(block, args, nullptr, g));
  }
  std::vector<int64_t> NextInputs() {
    std::vector<int64_t> inputs(kNumInputs);
    for (int64_t& input : inputs) input = static_cast<int64_t>(random() % 21) - 10;
    return inputs;
  }
  static std::vector<Tensor> Tensors(const std::vector<int64_t>& values) {
    std::vector<Tensor> tensors;
    for (int64_t value : values) tensors.push_back(Tensor::Scalar<int64_t>(value));
    return tensors;
  }

  std::mt19937 random;
  RandomBlock block;
  TestGraph g;
};

class ExecutorPropertyTest : public ::testing::TestWithParam<int> {};

TEST_P(ExecutorPropertyTest, AgreesWithTheInterpreter) {
  ExecutorHarness h;
  for (uint32_t seed = GetParam() * 100; seed < GetParam() * 100 + 25; ++seed) {
    Program program(seed, seed % 4);
    auto executor = h.Compile(program.g.Take());
    ASSERT_TRUE(executor.ok()) << seed << executor.status();
    for (int step = 0; step < 4; ++step) {
      const std::vector<int64_t> inputs = program.NextInputs();
      auto results = h.RunStep(**executor, Program::Tensors(inputs));
      ASSERT_TRUE(results.ok()) << "seed " << seed << ": " << results.status();
      ASSERT_EQ((*results)[0].scalar<int64_t>(), Interpret(program.block, inputs)) << "seed " << seed;
    }
  }
}

// Two devices, with nodes assigned at random; the parts of one step share a rendezvous.
class TwoDevices {
 public:
  TwoDevices() : queue_(WorkQueue::Create({.name = "test", .compute_threads = 2})) {
    for (int i : {0, 1}) {
      devices_[i] = NewCpuDevice(*DeviceName::Parse("/job:worker/replica:0/task:0"), i, queue_.get());
    }
  }

  absl::Status Compile(Program& program) {
    std::unique_ptr<Graph> graph = program.g.Take();
    for (Node* node : graph->nodes()) {
      const bool is_terminal = node->op() == "_Arg" || node->op() == "_Retval";
      node->set_assigned_device(devices_[is_terminal ? 0 : program.random() % 2]->name());
    }
    for (Node* node : graph->nodes()) {
      if (!node->IsMerge()) continue;
      // A Merge gets its inputs in turn, which transfers would not preserve.
      for (int i : {0, 1}) {
        Node* src = node->input_edge(i)->src;
        if (src->IsEnter() || src->IsNextIteration()) src->set_assigned_device(node->assigned_device());
      }
    }
    PartitionOptions options;
    options.location = [](const Node& node) { return node.assigned_device(); };
    options.incarnation = [](absl::string_view) { return 1; };
    auto parts = PartitionGraph(options, graph.get());
    RETURN_IF_ERROR(parts.status());
    executors_.clear();
    for (auto& [name, def] : *parts) {
      Device* device = name == devices_[0]->name() ? devices_[0].get() : devices_[1].get();
      auto part = std::make_unique<Graph>(&ExecutorTestOps());
      ImportOptions import;
      import.allow_internal_ops = true;
      RETURN_IF_ERROR(ImportGraphDef(import, std::move(def), part.get()));
      Plan::Options plan;
      plan.device = device;
      plan.is_function = true;
      plan.kernels = [device](const Node& node) -> absl::StatusOr<std::shared_ptr<OpKernel>> {
        return CreateKernel(ExecutorTestKernels(), node.def(), node.op_def(), device);
      };
      ASSIGN_OR_RETURN(std::shared_ptr<const Plan> compiled, Plan::Compile(std::move(part), plan));
      executors_.push_back(Executor::Create(std::move(compiled)));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<int64_t> Run(const std::vector<Tensor>& inputs) {
    std::shared_ptr<Rendezvous> rendezvous = NewLocalRendezvous();
    CancellationManager cancellation;
    std::vector<StepContext> contexts(executors_.size());
    std::vector<std::vector<Tensor>> results(executors_.size());
    std::mutex mu;
    std::condition_variable all_done;
    size_t pending = executors_.size();
    absl::Status status;
    for (size_t i = 0; i < executors_.size(); ++i) {
      contexts[i].device = executors_[i]->plan().device;
      contexts[i].rendezvous = rendezvous.get();
      contexts[i].cancellation = &cancellation;
      const bool has_args = !executors_[i]->plan().arguments.empty();
      std::vector<Tensor> args(inputs.begin(), inputs.begin() + executors_[i]->plan().arguments.size());
      EXPECT_TRUE(!has_args || args.size() <= inputs.size());
      executors_[i]->RunAsync({.context = &contexts[i], .arguments = args, .results = &results[i]}, true,
                              [&](const absl::Status& part) {
                                std::lock_guard<std::mutex> lock(mu);
                                if (status.ok()) status = part;
                                if (--pending == 0) all_done.notify_one();
                              });
    }
    std::unique_lock<std::mutex> lock(mu);
    all_done.wait(lock, [&] { return pending == 0; });
    RETURN_IF_ERROR(status);
    for (const auto& values : results) {
      if (!values.empty()) return values[0].scalar<int64_t>();
    }
    return errors::Internal("no result");
  }

 private:
  std::unique_ptr<WorkQueue> queue_;
  std::unique_ptr<Device> devices_[2];
  std::vector<std::shared_ptr<Executor>> executors_;
};

TEST_P(ExecutorPropertyTest, PartitionsAgreeWithTheInterpreter) {
  TwoDevices devices;
  for (uint32_t seed = GetParam() * 100 + 50; seed < GetParam() * 100 + 65; ++seed) {
    Program program(seed, seed % 3);
    absl::Status compiled = devices.Compile(program);
    ASSERT_TRUE(compiled.ok()) << "seed " << seed << ": " << compiled;
    for (int step = 0; step < 3; ++step) {
      const std::vector<int64_t> inputs = program.NextInputs();
      auto result = devices.Run(Program::Tensors(inputs));
      ASSERT_TRUE(result.ok()) << "seed " << seed << ": " << result.status();
      ASSERT_EQ(*result, Interpret(program.block, inputs)) << "seed " << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ExecutorPropertyTest, ::testing::Range(0, 8));

}  // namespace
}  // namespace weir
