#include "tests/chaos/job.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "client/initializers.h"
#include "client/layers.h"
#include "client/ops.h"
#include "client/optimizer.h"
#include "tests/chaos/dice.h"

namespace weir::chaos {
namespace {

constexpr int64_t kFeatures = 16, kHidden = 32, kClasses = 4, kBatch = 8;
constexpr int64_t kExamples = 96;  // of a worker

std::string Task(const std::string& job, int index) { return absl::StrCat("/job:", job, "/task:", index); }

// Initializers run again after some losses, and random ones would give other values then.
Initializer Waves(const TensorShape& shape) {
  Tensor values(DT_FLOAT, shape);
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    values.data<float>()[i] = static_cast<float>(0.3 * std::sin(1.7 * static_cast<double>(i + 1)));
  }
  return initializers::Value(values);
}

Tensor Frequencies() {
  Tensor values(DT_FLOAT, TensorShape({1, kFeatures}));
  for (int64_t i = 0; i < kFeatures; ++i) values.data<float>()[i] = 0.1f * static_cast<float>(i + 1);
  return values;
}

ResourceVariable Weights(const Scope& scope, const std::string& name, const TensorShape& shape) {
  return ResourceVariable::Make(scope.WithName(name), shape, DT_FLOAT, Waves(shape));
}

}  // namespace

Job BuildJob(const Scope& scope, int64_t steps) {
  Job job;
  const Scope first = scope.WithDevice(Task("ps", 0)), last = scope.WithDevice(Task("ps", kServers - 1));
  job.global_step = GlobalStep(first);
  const ResourceVariable hidden = Weights(first, "hidden", TensorShape({kFeatures, kHidden}));
  const ResourceVariable logits = Weights(last, "logits", TensorShape({kHidden, kClasses}));
  const ResourceVariable ledger =
      ResourceVariable::Make(last.WithName("ledger"), TensorShape({steps, kWorkers * kBatch}), DT_INT64,
                             initializers::Zeros(), {.trainable = false});
  const std::unique_ptr<Optimizer> optimizer = AdamOptimizer(0.01);
  std::vector<std::vector<GradientAndVariable>> replicas;
  InputList examples;
  for (int i = 0; i < kWorkers; ++i) {
    const Scope replica = scope.WithDevice(Task("worker", i)).SubScope(absl::StrCat("replica_", i));
    const Output ids = ops::Placeholder(replica.WithName("ids"), DT_INT64, {.shape = TensorShape({kBatch})});
    job.ids.push_back(ids);
    examples.push_back(ids);
    const Output column = ops::Reshape(replica, ops::Cast(replica, ids, DT_FLOAT), Tensor::Vector<int32_t>({-1, 1}));
    const Output features = ops::Sin(replica, ops::Mul(replica, column, Frequencies()));
    const Output labels = ops::Cast(replica, ops::FloorMod(replica, ids, kClasses), DT_INT32);
    const Output active = ops::Tanh(replica, ops::MatMul(replica, features, hidden.value()));
    const Output loss = layers::SparseSoftmaxLoss(replica, ops::MatMul(replica, active, logits.value()), labels);
    replicas.push_back(optimizer->ComputeGradients(replica, loss));
  }
  // The step's row, before the step is counted.
  const Output row = ops::ConcatV2(last, examples, 0);
  const Output place = ops::Reshape(last, job.global_step.value(), Tensor::Vector<int32_t>({1}));
  const Operation append = ops::ResourceScatterAdd(
      last, ledger.handle(), place, ops::Reshape(last, row, Tensor::Vector<int64_t>({1, kWorkers * kBatch})));
  const Operation apply = optimizer->ApplyGradients(scope, AverageGradients(scope, replicas));
  job.train = job.global_step.AssignAdd(first.WithControlDependencies({apply, append}), int64_t{1});
  return job;
}

FeedList FeedsOf(const Job& job, int64_t global_step) {
  FeedList feeds;
  for (size_t worker = 0; worker < job.ids.size(); ++worker) {
    Dice dice(worker, static_cast<uint64_t>(global_step));
    Tensor ids(DT_INT64, TensorShape({kBatch}));
    for (int64_t i = 0; i < kBatch; ++i) {
      ids.data<int64_t>()[i] = static_cast<int64_t>(worker) * kExamples + dice.Below(kExamples);
    }
    feeds.emplace_back(job.ids[worker], ids);
  }
  return feeds;
}

}  // namespace weir::chaos
