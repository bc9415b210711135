// A small classifier, and running it, for the tests of this folder.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/session.h"
#include "client/strategy/pipeline.h"
#include "client/variables.h"

namespace weir {

// An embedding of 8 tokens, three dense layers of 8 units and a head of 4 classes; inputs are int32 [batch].
ChainModel SmallModel();

// Its training step.
struct SmallProgram {
  Scope scope = Scope::NewRoot();
  Output input, labels, loss;
  Operation initialize, train;
};
// On one device, with a batch of 8, by Adam.
SmallProgram OnOneDevice();
SmallProgram WithInputs();  // nothing but the inputs
void Train(SmallProgram* program, const std::vector<GradientAndVariable>& gradients);

// In this process, with so many CPU devices; aborts the test program where that fails.
std::unique_ptr<Session> LocalSession(const Scope& scope, int devices);
// The losses of four steps, or the error.
absl::StatusOr<std::vector<float>> Losses(const SmallProgram& program, Session* session);

}  // namespace weir
