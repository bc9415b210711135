// The model of a training whose workers come and go.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/optimizer.h"
#include "client/session.h"
#include "client/strategy/strategy.h"
#include "core/api.h"

namespace WEIR_API weir {

// Rows [begin, end) of a step's global batch.
struct RowRange {
  int64_t begin = 0, end = 0;
};

// A generation: the workers that step together until one joins or leaves.
struct ElasticGeneration {
  int64_t number = 0;
  std::vector<std::string> tasks;  // of the workers, by rank
  int rank = 0;                    // of this worker
  // With BatchPolicy::kPerWorkerBatch the number of workers, divided by ElasticOptions::initial_workers; otherwise 1.
  double learning_rate_scale = 1;
};

// One worker's part, in the graph of one generation.
struct ElasticModel {
  PerReplica loss;  // a scalar for each replica: the mean over its rows
  std::shared_ptr<Optimizer> optimizer;
  std::vector<Output> fetches;  // values for ElasticOptions::after_step
  // Feeds for the step after `step`: rows[i] is the part of replica i of this worker. The global batch must be a
  // function of the step, so that a step that is repeated by other workers is the same.
  std::function<absl::StatusOr<FeedList>(int64_t step, const std::vector<RowRange>& rows)> feeds;
  // Runs in one worker, before the first step of a training, after its initial values: restores a checkpoint, say.
  std::function<absl::Status(Session& session)> start;
};

// Builds the model under the strategy. Called once a generation, in each of its workers, on a thread of its own: with
// the same ops and variables each time, apart from the number of replicas.
using ElasticModelFunction =
    std::function<absl::StatusOr<ElasticModel>(Strategy& strategy, const ElasticGeneration& generation)>;

// What stays the same when the number of workers changes.
enum class BatchPolicy {
  kGlobalBatch,     // the global batch: workers share its rows anew. The training ends with the same weights
  kPerWorkerBatch,  // each replica's rows: scale the learning rate
};

// The rows of each of `local` replicas, beginning with replica `first` of `replicas`. Parts of a global batch differ by
// at most one row.
std::vector<RowRange> RowsOfReplicas(BatchPolicy policy, int64_t batch_size, int replicas, int first, int local);

}  // namespace weir
