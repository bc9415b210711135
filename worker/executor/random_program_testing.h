// Random programs with branches and loops: a reference that interprets them, and their graphs.
#pragma once

#include <memory>
#include <random>
#include <vector>

#include "worker/executor/executor_testing.h"

namespace weir {

// Statements work on a growing list of values; a block's value is its last one.
struct RandomBlock {
  struct Statement {
    enum Kind { kAdd, kSub, kMul, kMax, kWait, kBurn, kConst, kIf, kWhile } kind = kAdd;
    int a = 0, b = 0;
    int64_t number = 0;
    // kIf: values[a] < values[b] ? first : second. kWhile: `first` runs number times with the counter and the carried
    // value (at first values[a]) behind the others; its value plus the counter is carried on.
    std::unique_ptr<RandomBlock> first, second;
  };
  std::vector<Statement> statements;
};

// With `num_values` values to start from; `depth` bounds how deep branches and loops nest.
RandomBlock MakeRandomBlock(int num_values, int depth, std::mt19937& random);
int64_t Interpret(const RandomBlock& block, std::vector<int64_t> values);
// The same in `g`. A constant that needs a reason to be made takes `pivot`.
Out BuildGraph(const RandomBlock& block, std::vector<Out> values, Node* pivot, TestGraph& g);

}  // namespace weir
