// Measures the executor's own cost: whole steps of graphs whose kernels do next to nothing.
#include <benchmark/benchmark.h>

#include "worker/executor/executor_testing.h"

namespace weir {
namespace {

void RunSteps(benchmark::State& state, TestGraph& g, std::vector<Tensor> args, int64_t items) {
  ExecutorHarness h;
  auto executor = h.Compile(g.Take());
  if (!executor.ok()) return state.SkipWithError(executor.status().ToString().c_str());
  CancellationManager cancellation;
  StepContext context;
  context.device = h.device();
  context.cancellation = &cancellation;
  std::vector<Tensor> results;
  for (auto _ : state) {
    absl::Status status = (*executor)->RunSync({.context = &context, .arguments = args, .results = &results});
    if (!status.ok()) return state.SkipWithError(status.ToString().c_str());
  }
  state.SetItemsProcessed(state.iterations() * items);
}

// range(0) chains of range(1) nodes each.
void BM_NoOpChains(benchmark::State& state) {
  TestGraph g;
  for (int chain = 0; chain < state.range(0); ++chain) {
    Node* last = nullptr;
    for (int i = 0; i < state.range(1); ++i) {
      last = g.Add("NoOp", {}, {}, last == nullptr ? std::vector<Node*>() : std::vector<Node*>{last}).node;
    }
  }
  RunSteps(state, g, {}, state.range(0) * state.range(1));
}
BENCHMARK(BM_NoOpChains)
    ->Args({1, 1})
    ->Args({1, 1000})
    ->Args({8, 1000})
    ->Args({1000, 10})
    ->Unit(benchmark::kMicrosecond);

void BM_ScalarAddChain(benchmark::State& state) {
  TestGraph g;
  Out one = g.Const(Tensor::Scalar<float>(1));
  Out sum = g.Arg(0, DT_FLOAT);
  for (int i = 0; i < state.range(0); ++i) sum = g.Add("AddV2", {sum, one}, {TestGraph::A("T", DT_FLOAT)});
  g.Ret(0, sum, DT_FLOAT);
  RunSteps(state, g, {Tensor::Scalar<float>(0)}, state.range(0));
}
BENCHMARK(BM_ScalarAddChain)->Arg(1000)->Unit(benchmark::kMicrosecond);

// One counter from 0 to range(0).
void BM_WhileLoop(benchmark::State& state) {
  TestGraph g;
  const auto enter = [&g](Out x, bool is_constant) {
    return g.Add("Enter", {x},
                 {TestGraph::A("T", DT_INT64), TestGraph::A("frame_name", std::string("loop")),
                  TestGraph::A("is_constant", is_constant)});
  };
  Out merge =
      g.Add("Merge", {enter(g.Int(0), false), {nullptr}}, {TestGraph::A("T", DT_INT64), TestGraph::A("N", int64_t{2})});
  Out condition = g.Add("LoopCond", {g.I64("Less", {merge, enter(g.Int(state.range(0)), true)})});
  Node* branch = g.Add("Switch", {merge, condition}, {TestGraph::A("T", DT_INT64)}).node;
  Out body = g.I64("Identity", {{branch, 1}});
  g.Connect(g.I64("NextIteration", {g.I64("AddV2", {body, g.Int(1, {body.node})})}), merge.node, 1);
  g.Ret(0, g.I64("Exit", {{branch, 0}}));
  RunSteps(state, g, {}, state.range(0));
}
BENCHMARK(BM_WhileLoop)->Arg(10000)->Unit(benchmark::kMicrosecond);

void BM_FeedsAndFetches(benchmark::State& state) {
  TestGraph g;
  std::vector<Tensor> args;
  for (int i = 0; i < state.range(0); ++i) {
    g.Ret(i, g.Arg(i));
    args.push_back(Tensor::Scalar<int64_t>(i));
  }
  RunSteps(state, g, args, state.range(0));
}
BENCHMARK(BM_FeedsAndFetches)->Arg(0)->Arg(100)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace weir

BENCHMARK_MAIN();
