#include "client/training/metrics.h"

#include <algorithm>

#include "client/initializers.h"
#include "client/ops.h"

namespace weir {
namespace metrics {
namespace {

Output SumOfAll(const Scope& scope, const Output& x) {
  return ops::Sum(scope, ops::Reshape(scope, x, Tensor::Vector<int32_t>({-1})), Tensor::Scalar<int32_t>(0));
}

Output AsFloat(const Scope& scope, const Output& x) { return x.type() == DT_FLOAT ? x : ops::Cast(scope, x, DT_FLOAT); }

// A vector of floats.
Output Flat(const Scope& scope, const Output& x) {
  return ops::Reshape(scope, AsFloat(scope, x), Tensor::Vector<int32_t>({-1}));
}

// `weights` for each element of `values`: ones if invalid.
Output WeightsOf(const Scope& scope, const Output& values, const Output& weights) {
  if (!weights.valid()) return ops::OnesLike(scope, values);
  return ops::BroadcastTo(scope, AsFloat(scope, weights), ops::Shape(scope, values));
}

// Positive examples, and those that are predicted to be.
struct Examples {
  Examples(const Scope& scope, const Output& predictions, const Output& labels, const Output& weights,
           double threshold) {
    const Output p = AsFloat(scope, predictions);
    predicted = AsFloat(scope, ops::Greater(scope, p, threshold));
    positive = AsFloat(scope, ops::Cast(scope, labels, DT_BOOL));
    weight = WeightsOf(scope, p, weights);
  }
  // The weight of examples with both properties.
  Output Count(const Scope& scope, const Output& a, const Output& b) const {
    return SumOfAll(scope, ops::Mul(scope, ops::Mul(scope, a, b), weight));
  }
  Output Not(const Scope& scope, const Output& a) const { return ops::Sub(scope, scope.Constant(1.0F), a); }

  Output predicted, positive, weight;
};

Output Fraction(const Scope& scope, const Output& part, const Output& rest) {
  return ops::DivNoNan(scope, part, ops::AddV2(scope, part, rest));
}

}  // namespace

Metric::Metric(const OpScope& at, absl::string_view default_name, const std::vector<StateSpec>& states) {
  const Scope& scope = at.scope();
  const Scope inner =
      at.Located().SubScope(scope.op_name().empty() ? default_name : absl::string_view(scope.op_name()));
  for (const StateSpec& state : states) {
    variables_.push_back(ResourceVariable::Make(inner.WithName(state.name), state.shape, DT_FLOAT,
                                                initializers::Zeros(),
                                                {.trainable = false,
                                                 .synchronization = VariableSynchronization::kOnRead,
                                                 .aggregation = VariableAggregation::kSum}));
  }
}

Operation Metric::Reset(const OpScope& at) const {
  const Scope scope = at.Located();
  std::vector<Operation> resets;
  for (const ResourceVariable& variable : variables_) {
    resets.push_back(variable.Assign(scope, ops::ZerosLike(scope, variable.value())));
  }
  return ops::NoOp(scope.WithControlDependencies(resets).WithName("reset"));
}

Operation Metric::Add(const Scope& scope, const std::vector<Output>& additions) const {
  std::vector<Operation> updates;
  for (size_t i = 0; i < additions.size(); ++i) updates.push_back(variables_[i].AssignAdd(scope, additions[i]));
  return ops::NoOp(scope.WithControlDependencies(updates).WithName("update"));
}

Operation Mean::Update(const OpScope& at, const Output& values, const Output& weights) const {
  const Scope scope = at.Located();
  const Output floats = AsFloat(scope, values), weight = WeightsOf(scope, floats, weights);
  return Add(scope, {SumOfAll(scope, ops::Mul(scope, floats, weight)), SumOfAll(scope, weight)});
}

Output Mean::Value(const OpScope& at) const {
  const Scope scope = at.Located();
  return ops::DivNoNan(scope, Read(scope, 0), Read(scope, 1));
}

Operation Accuracy::Update(const OpScope& at, const Output& predictions, const Output& labels,
                           const Output& weights) const {
  const Scope scope = at.Located();
  const Output largest = ops::ArgMax(scope, predictions, Tensor::Scalar<int32_t>(1), {.output_type = labels.type()});
  return Mean::Update(scope, ops::Cast(scope, ops::Equal(scope, largest, labels), DT_FLOAT), weights);
}

Operation TopKAccuracy::Update(const OpScope& at, const Output& predictions, const Output& labels,
                               const Output& weights) const {
  const Scope scope = at.Located();
  const Output k = labels.type() == DT_INT64 ? scope.Constant(Tensor::Scalar<int64_t>(k_))
                                             : scope.Constant(Tensor::Scalar<int32_t>(static_cast<int32_t>(k_)));
  return Mean::Update(scope, ops::Cast(scope, ops::InTopKV2(scope, predictions, labels, k), DT_FLOAT), weights);
}

Operation MeanSquaredError::Update(const OpScope& at, const Output& predictions, const Output& labels,
                                   const Output& weights) const {
  const Scope scope = at.Located();
  const Output squares = ops::SquaredDifference(scope, predictions, labels);
  return Mean::Update(scope, ops::Mean(scope, squares, Tensor::Scalar<int32_t>(-1)), weights);
}

Precision::Precision(const OpScope& at, double threshold)
    : Metric(at, "precision", {{"true_positives"}, {"false_positives"}}), threshold_(threshold) {}

Operation Precision::Update(const OpScope& at, const Output& predictions, const Output& labels,
                            const Output& weights) const {
  const Scope scope = at.Located();
  const Examples all(scope, predictions, labels, weights, threshold_);
  return Add(scope, {all.Count(scope, all.predicted, all.positive),
                     all.Count(scope, all.predicted, all.Not(scope, all.positive))});
}

Output Precision::Value(const OpScope& at) const {
  const Scope scope = at.Located();
  return Fraction(scope, Read(scope, 0), Read(scope, 1));
}

Recall::Recall(const OpScope& at, double threshold)
    : Metric(at, "recall", {{"true_positives"}, {"false_negatives"}}), threshold_(threshold) {}

Operation Recall::Update(const OpScope& at, const Output& predictions, const Output& labels,
                         const Output& weights) const {
  const Scope scope = at.Located();
  const Examples all(scope, predictions, labels, weights, threshold_);
  return Add(scope, {all.Count(scope, all.predicted, all.positive),
                     all.Count(scope, all.Not(scope, all.predicted), all.positive)});
}

Output Recall::Value(const OpScope& at) const {
  const Scope scope = at.Located();
  return Fraction(scope, Read(scope, 0), Read(scope, 1));
}

Auc::Auc(const OpScope& at, int64_t thresholds)
    : Metric(at, "auc",
             {{"true_positives", TensorShape({std::max<int64_t>(thresholds, 2)})},
              {"true_negatives", TensorShape({std::max<int64_t>(thresholds, 2)})},
              {"false_positives", TensorShape({std::max<int64_t>(thresholds, 2)})},
              {"false_negatives", TensorShape({std::max<int64_t>(thresholds, 2)})}}),
      thresholds_(std::max<int64_t>(thresholds, 2)) {
  if (thresholds >= 2) return;
  at.scope().UpdateStatus(errors::InvalidArgument("AUC needs at least 2 thresholds, not ", thresholds));
}

// The first is below 0 and the last above 1, so that all examples are on one side of them.
Tensor Auc::Thresholds() const {
  constexpr double kFuzz = 1e-7;
  Tensor all(DT_FLOAT, TensorShape({thresholds_, 1}));
  for (int64_t i = 0; i < thresholds_; ++i) {
    all.data<float>()[i] = static_cast<float>(static_cast<double>(i) / static_cast<double>(thresholds_ - 1));
  }
  all.data<float>()[0] = static_cast<float>(-kFuzz);
  all.data<float>()[thresholds_ - 1] = static_cast<float>(1 + kFuzz);
  return all;
}

Operation Auc::Update(const OpScope& at, const Output& predictions, const Output& labels, const Output& weights) const {
  const Scope scope = at.Located();
  const Output p = Flat(scope, predictions), positive = Flat(scope, ops::Cast(scope, labels, DT_BOOL));
  const Output weight = Flat(scope, WeightsOf(scope, AsFloat(scope, predictions), weights));
  const Output one = scope.Constant(1.0F);
  // [thresholds, examples]
  const Output above = ops::Cast(scope, ops::Greater(scope, p, Thresholds()), DT_FLOAT);
  const Output below = ops::Sub(scope, one, above);
  const Output of_positive = ops::Mul(scope, positive, weight);
  const Output of_negative = ops::Mul(scope, ops::Sub(scope, one, positive), weight);
  const auto count = [&](const Output& side, const Output& examples) {
    return ops::Sum(scope, ops::Mul(scope, side, examples), Tensor::Scalar<int32_t>(1));
  };
  return Add(scope, {count(above, of_positive), count(below, of_negative), count(above, of_negative),
                     count(below, of_positive)});
}

Output Auc::Value(const OpScope& at) const {
  const Scope scope = at.Located();
  const Output recall = Fraction(scope, Read(scope, 0), Read(scope, 3));
  const Output fallout = Fraction(scope, Read(scope, 2), Read(scope, 1));
  const auto count = static_cast<int32_t>(thresholds_ - 1);
  const auto part = [&](const Output& rates, int32_t begin) {
    return ops::Slice(scope, rates, Tensor::Vector<int32_t>({begin}), Tensor::Vector<int32_t>({count}));
  };
  const Output widths = ops::Sub(scope, part(fallout, 0), part(fallout, 1));
  const Output heights = ops::Mul(scope, ops::AddV2(scope, part(recall, 0), part(recall, 1)), 0.5);
  return SumOfAll(scope, ops::Mul(scope, widths, heights));
}

}  // namespace metrics
}  // namespace weir
