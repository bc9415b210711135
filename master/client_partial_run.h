// Tracks the feeds and fetches that a client's partial run still lacks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "distribute/transport/master_interface.h"
#include "graph/graph.h"
#include "master/client_graph.h"
#include "master/step.h"

namespace weir {

// Not thread-safe.
class ClientPartialRun {
 public:
  // One call's feeds and fetches, by their positions in the signature.
  struct Piece {
    std::shared_ptr<Step> step;
    std::vector<int> feed_indices, fetch_indices;
    std::vector<Tensor> feeds;
    bool is_last = false;
  };

  // The step computes `signature` of `graph`, the session's graph.
  ClientPartialRun(std::shared_ptr<Step> step, Signature signature, const Graph& graph);

  // InvalidArgument, without any effect, for a name that is not in the set-up, was used before, or cannot be computed
  // yet.
  absl::StatusOr<Piece> Take(const RunStepArgs& args);
  const std::shared_ptr<Step>& step() const { return step_; }

 private:
  absl::Status CheckFetch(int fetch, const std::vector<int>& feeds_now) const;

  const std::shared_ptr<Step> step_;
  const Signature signature_;
  const std::vector<std::vector<int>> feeds_of_fetch_;  // the feeds that each fetch depends on
  absl::flat_hash_set<int> pending_feeds_, pending_fetches_;
};

}  // namespace weir
