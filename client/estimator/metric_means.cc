#include "client/estimator/metric_means.h"

#include <future>

#include "client/estimator/training_graph.h"

namespace weir {
namespace {

absl::StatusOr<double> ScalarOf(const Tensor& value, const std::string& name) {
  if (value.dtype() == DT_FLOAT && value.NumElements() == 1) return value.data<float>()[0];
  return errors::InvalidArgument("'", name, "' is ", value.DebugString(), "; a float scalar is needed");
}

}  // namespace

MetricMeans::MetricMeans(const Scope& scope, const std::vector<ModelSpec>& replicas) {
  Output one;
  for (const ModelSpec& spec : replicas) {
    std::map<std::string, Metric> metrics = spec.metrics;
    metrics["loss"] = {.value = spec.loss};
    fetches_.emplace_back();
    for (const auto& [name, metric] : metrics) {
      if (!metric.weight.valid() && !one.valid()) one = scope.Constant(1.0f);
      fetches_.back().push_back(metric.value);
      fetches_.back().push_back(metric.weight.valid() ? metric.weight : one);
      sums_[name] = {};
    }
  }
}

absl::Status MetricMeans::Check() const {
  MutexLock lock(mu_);
  size_t i = 0;
  for (const auto& [name, sum] : sums_) {
    RETURN_IF_ERROR(CheckScalar(fetches_[0][i++], name));
    RETURN_IF_ERROR(CheckScalar(fetches_[0][i++], "weight of " + name));
  }
  return absl::OkStatus();
}

absl::Status MetricMeans::AddBatches(Session& session, int64_t limit) {
  std::vector<std::future<absl::Status>> others;
  for (size_t i = 1; i < fetches_.size(); ++i) {
    others.push_back(
        std::async(std::launch::async, [this, i, limit, &session] { return AddBatchesOf(i, limit, session); }));
  }
  absl::Status status = AddBatchesOf(0, limit, session);
  for (auto& other : others) status.Update(other.get());
  RETURN_IF_ERROR(status);
  MutexLock lock(mu_);
  return batches_ > 0 ? absl::OkStatus() : errors::InvalidArgument("The input of an evaluation has no batch");
}

std::map<std::string, double> MetricMeans::Means() const {
  MutexLock lock(mu_);
  std::map<std::string, double> means;
  for (const auto& [name, sum] : sums_) means[name] = sum.weight == 0 ? 0 : sum.value / sum.weight;
  return means;
}

absl::Status MetricMeans::AddBatchesOf(size_t replica, int64_t limit, Session& session) {
  while (limit == 0 || begun_.fetch_add(1) < limit) {
    const auto values = session.Run(fetches_[replica]);
    if (absl::IsOutOfRange(values.status())) break;
    RETURN_IF_ERROR(values.status());
    RETURN_IF_ERROR(AddBatch(*values));
  }
  return absl::OkStatus();
}

absl::Status MetricMeans::AddBatch(const std::vector<Tensor>& values) {
  MutexLock lock(mu_);
  ++batches_;
  size_t i = 0;
  for (auto& [name, sum] : sums_) {
    ASSIGN_OR_RETURN(const double value, ScalarOf(values[i++], name));
    ASSIGN_OR_RETURN(const double weight, ScalarOf(values[i++], name));
    sum.value += value * weight;
    sum.weight += weight;
  }
  return absl::OkStatus();
}

}  // namespace weir
