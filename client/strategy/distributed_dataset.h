// Input of a strategy: one pipeline on each task, whose batches go to the replicas of that task.
#pragma once

#include <functional>
#include <vector>

#include "client/input_context.h"
#include "client/strategy/strategy.h"

namespace weir {

// A dataset (a variant) and what its elements are.
struct DatasetOutput {
  Output dataset;
  DataTypeVector types;
  std::vector<PartialTensorShape> shapes;
};
// Builds a pipeline's dataset with ops of `scope`, which is on the CPU of the pipeline's task.
using DatasetFunction = std::function<DatasetOutput(const Scope& scope, const InputContext& input)>;

struct DistributeOptions {
  // The rows of a batch of the dataset, which are for all replicas together: each gets its part of each batch, whose
  // sizes differ by one at most. 0: batches are for one replica already, and pipelines know by their InputContext
  // which part of the data is theirs.
  int64_t global_batch_size = 0;
};

// Elements of a step, and what starts them over.
class DistributedDataset {
 public:
  // Use DistributeDataset.
  DistributedDataset(std::vector<PerReplica> next, Operation initializer)
      : next_(std::move(next)), initializer_(initializer) {}

  // Each component of the next element, for each replica. OUT_OF_RANGE ends the step when a replica has none left.
  const std::vector<PerReplica>& next() const { return next_; }
  // Begins from the beginning; to be run before the first step.
  const Operation& initializer() const { return initializer_; }

 private:
  std::vector<PerReplica> next_;
  Operation initializer_;
};

// InvalidArgument where elements cannot be cut: a global batch smaller than the number of replicas, a component that
// is a scalar. Errors are kept by the strategy's scope.
DistributedDataset DistributeDataset(const Strategy& strategy, const DatasetFunction& function,
                                     DistributeOptions options = {});

}  // namespace weir
