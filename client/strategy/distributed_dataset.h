// A strategy's input: one pipeline per task, whose batches go to the replicas of that task.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "client/input_context.h"
#include "client/strategy/strategy.h"
#include "core/api.h"

namespace WEIR_API weir {

// A dataset (a variant) with the types and shapes of its elements.
struct DatasetOutput {
  Output dataset;
  DataTypeVector types;
  std::vector<PartialTensorShape> shapes;
};
// Builds a pipeline's dataset with ops of `scope`, which is on the CPU of the pipeline's task.
using DatasetFunction = std::function<DatasetOutput(const Scope& scope, const InputContext& input)>;

// The input of one task: the replicas that it feeds.
struct InputPipeline {
  std::string device;  // the task's CPU
  InputContext context;
  int first_replica = 0;  // index among all replicas in sync
  int num_replicas = 0;
};
// The pipelines of this graph's replicas, in their order.
absl::StatusOr<std::vector<InputPipeline>> InputPipelinesOf(const Strategy& strategy);

struct DistributeOptions {
  // The number of rows of a batch of the dataset, which all replicas share: each gets a part of each batch, with sizes
  // that differ by at most one. 0: batches are per replica, and the InputContext says which part of the data a pipeline
  // reads.
  int64_t global_batch_size = 0;
};

// The elements of a step, and an op that restarts the input.
class DistributedDataset {
 public:
  // Use DistributeDataset.
  DistributedDataset(std::vector<PerReplica> next, Operation initializer)
      : next_(std::move(next)), initializer_(initializer) {}

  // Each component of the next element, for each replica. OUT_OF_RANGE ends the step when a replica has no element
  // left.
  const std::vector<PerReplica>& next() const { return next_; }
  // Starts from the beginning; must run before the first step.
  const Operation& initializer() const { return initializer_; }

 private:
  std::vector<PerReplica> next_;
  Operation initializer_;
};

// InvalidArgument if elements cannot be split: a global batch smaller than the number of replicas, or a scalar
// component. Errors are recorded in the strategy's scope.
DistributedDataset DistributeDataset(const Strategy& strategy, const DatasetFunction& function,
                                     DistributeOptions options = {});

}  // namespace weir
