// Evaluates nodes of a graph under construction, for passes that run in the client.
#pragma once

#include <memory>

#include "core/status.h"
#include "graph/passes/pass.h"

namespace weir {

// Owns a CPU device and this build's kernels.
class GraphEvaluator {
 public:
  // `ops` outlives the object.
  static absl::StatusOr<std::unique_ptr<GraphEvaluator>> Create(const OpRegistry* ops);
  ~GraphEvaluator();

  // Valid while the object lives.
  Evaluator evaluator() const;

 private:
  struct State;
  explicit GraphEvaluator(std::unique_ptr<State> state);
  const std::unique_ptr<State> state_;
};

}  // namespace weir
