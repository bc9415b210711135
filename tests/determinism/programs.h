// Training programs whose results depend on the order of additions: large enough that their kernels share loops among
// threads.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "client/scope.h"
#include "client/session.h"

namespace weir {

// A graph and what runs in it.
struct Program {
  std::vector<Operation> initialize;  // each in a step of its own
  Operation train;
  std::vector<Output> results;  // fetched after the last step
};
using MakeProgram = std::function<Program(const Scope& scope)>;

// Convolutions, batch normalisation, pooling, dropout, a fully connected layer and softmax cross-entropy, with Adam.
Program Convnet(const Scope& scope);
// An LSTM over 12 steps, with momentum.
Program Lstm(const Scope& scope);
// An embedding whose batches have each row many times, with Adam: sparse gradients.
Program SparseEmbedding(const Scope& scope);
// Reads shuffled, interleaved elements to which a parallel map adds noise, and trains on them.
Program Pipeline(const Scope& scope);
// Sums of every kind over large inputs, and updates of the same rows and bins.
Program Sums(const Scope& scope);
// A loop with random numbers in each iteration, and its gradient.
Program RandomLoop(const Scope& scope);

// The bytes of all results after `steps` training steps.
absl::StatusOr<std::string> TrainedBits(const Program& program, Session& session, int steps);

}  // namespace weir
