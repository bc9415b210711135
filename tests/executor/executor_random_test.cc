// Random programs with branches and loops, against an interpreter.
#include <random>

#include "client/cond.h"
#include "client/while_loop.h"
#include "tests/executor/executor_worlds_testing.h"
#include "worker/executor/random_program_testing.h"

namespace weir {
namespace {

constexpr int kInputs = 3;

using Statement = RandomBlock::Statement;

// What BuildGraph of worker/executor/random_program_testing.h builds, by the client's ops: what waits or burns there is
// two negations, or adds one.
Output Build(const RandomBlock& block, OutputList values, const Scope& scope) {
  for (const Statement& s : block.statements) {
    const Output a = values[s.a], b = values[s.b];
    Output value;
    switch (s.kind) {
      case Statement::kAdd:
        value = ops::AddV2(scope, a, b);
        break;
      case Statement::kSub:
        value = ops::Sub(scope, a, b);
        break;
      case Statement::kMul:
        value = ops::Mul(scope, a, b);
        break;
      case Statement::kMax:
        value = ops::Maximum(scope, a, b);
        break;
      case Statement::kWait:
        value = ops::Neg(scope, ops::Neg(scope, a));
        break;
      case Statement::kBurn:
        value = ops::AddV2(scope, a, int64_t{1});
        break;
      case Statement::kConst:
        value = scope.Constant(s.number);
        break;
      case Statement::kIf:
        value = Cond(
            scope, ops::Less(scope, a, b),
            [&](const Scope& branch) { return OutputList{Build(*s.first, values, branch)}; },
            [&](const Scope& branch) { return OutputList{Build(*s.second, values, branch)}; })[0];
        break;
      case Statement::kWhile:
        value = WhileLoop(
            scope, {scope.Constant(int64_t{0}), a},
            [&](const Scope& loop, const OutputList& v) { return ops::Less(loop, v[0], s.number); },
            [&](const Scope& loop, const OutputList& v) {
              OutputList inside = values;
              inside.insert(inside.end(), {v[0], v[1]});
              const Output result = ops::AddV2(loop, Build(*s.first, inside, loop), v[0]);
              return OutputList{ops::AddV2(loop, v[0], int64_t{1}), result};
            })[1];
        break;
    }
    values.push_back(value);
  }
  return values.back();
}

class ExecutorRandomPrograms : public ExecutorConformance {};
INSTANTIATE_TEST_SUITE_P(, ExecutorRandomPrograms, testing::ValuesIn(ExecutorWorlds()),
                         [](const auto& info) { return info.param.name; });

TEST_P(ExecutorRandomPrograms, AgreeWithTheInterpreter) {
  constexpr int kPrograms = 12;
  std::vector<Output> inputs;
  for (int i = 0; i < kInputs; ++i) inputs.push_back(ops::Placeholder(On(), DT_INT64));
  std::vector<RandomBlock> blocks;
  std::vector<Output> outputs;
  std::mt19937 random(11);
  for (int i = 0; i < kPrograms; ++i) {
    blocks.push_back(MakeRandomBlock(kInputs, i % 3, random));
    outputs.push_back(Build(blocks.back(), inputs, On().SubScope(absl::StrCat("program", i))));
    ASSERT_TRUE(scope_.ok()) << scope_.status();
  }
  for (int step = 0; step < 5; ++step) {
    for (int i = 0; i < kPrograms; ++i) {
      std::vector<int64_t> values;
      FeedList feeds;
      for (const Output& input : inputs) {
        values.push_back(static_cast<int64_t>(random() % 21) - 10);
        feeds.push_back({input, AsScalar<int64_t>(values.back())});
      }
      ExpectTensorEqual(Run(feeds, {outputs[i]})[0], AsScalar<int64_t>(Interpret(blocks[i], values)));
    }
  }
  ExpectReplays(kPrograms);
}

}  // namespace
}  // namespace weir
