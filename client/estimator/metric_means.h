// The means of a model's metrics over an evaluation.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "client/estimator/model.h"
#include "client/session.h"
#include "core/mutex.h"

namespace weir {

// Weighted means over batches, each of which one replica takes. Adds ops to the scope. Thread-safe.
class MetricMeans {
 public:
  MetricMeans(const Scope& scope, const std::vector<ModelSpec>& replicas);

  // InvalidArgument, naming the metric, unless all values and weights are floats.
  absl::Status Check() const;
  // Up to `limit` batches; 0: until the input ends. Replicas take batches in parallel. InvalidArgument if there are
  // none.
  absl::Status AddBatches(Session& session, int64_t limit);
  // By name, the loss among them.
  std::map<std::string, double> Means() const;

 private:
  struct Sum {
    double value = 0, weight = 0;
  };

  absl::Status AddBatchesOf(size_t replica, int64_t limit, Session& session);
  absl::Status AddBatch(const std::vector<Tensor>& values);

  std::vector<std::vector<Output>> fetches_;  // of each replica: value and weight of each metric
  std::atomic<int64_t> begun_{0};
  mutable Mutex mu_;
  std::map<std::string, Sum> sums_ GUARDED_BY(mu_);
  int64_t batches_ GUARDED_BY(mu_) = 0;
};

}  // namespace weir
