#include "client/strategy/gradient_accumulators.h"

#include <limits>

#include "client/ops.h"

namespace weir {
namespace {

// A sparse gradient is extended by a row of ones after the variable's last row: their sum is the number of gradients in
// an accumulator, whichever rows they have. (Its own mean counts only the gradients that have a row.)
TensorShape WithRowOfCounts(const TensorShape& shape) {
  std::vector<int64_t> dims(shape.dim_sizes().begin(), shape.dim_sizes().end());
  ++dims[0];
  return TensorShape(dims);
}

}  // namespace

void GradientAccumulators::Add(const ResourceVariable& variable, bool sparse) {
  const Scope beside = scope_.ColocateWith(variable.handle().op()).WithName("accumulator");
  const std::string shared_name = absl::StrCat(shared_prefix_, variable.name());
  const Output handle =
      sparse ? ops::SparseConditionalAccumulator(beside, variable.dtype(), WithRowOfCounts(variable.shape()),
                                                 {.shared_name = shared_name, .reduction_type = "SUM"})
             : ops::ResourceConditionalAccumulator(
                   beside, variable.dtype(), variable.shape(),
                   {.shared_name = shared_name, .reduction_type = op_ == ReduceOp::kMean ? "MEAN" : "SUM"});
  all_.push_back({variable, sparse, handle});
}

Operation GradientAccumulators::HandIn(size_t k, const Gradient& gradient, const Output& step) const {
  const Accumulator& accumulator = all_[k];
  if (accumulator.sparse) return HandInRows(accumulator, gradient, step);
  return ops::ResourceAccumulatorApplyGradient(Beside(accumulator), accumulator.handle, step, gradient.values);
}

Operation GradientAccumulators::HandInRows(const Accumulator& accumulator, const Gradient& gradient,
                                           const Output& step) const {
  const Scope beside = Beside(accumulator);
  return AddRows(accumulator, step, {ops::Cast(beside, gradient.indices, DT_INT64)}, {gradient.values});
}

// The row of counts comes last.
Operation GradientAccumulators::AddRows(const Accumulator& accumulator, const Output& step, const InputList& indices,
                                        const InputList& values) const {
  const Scope beside = Beside(accumulator);
  const TensorShape& shape = accumulator.variable.shape();
  std::vector<int64_t> one_row(shape.dim_sizes().begin(), shape.dim_sizes().end());
  one_row[0] = 1;
  const Output ones =
      ops::Fill(beside, Tensor::Vector<int64_t>(one_row), beside.Constant(1.0, accumulator.variable.dtype()));
  const Tensor axis = Tensor::Scalar<int32_t>(0);
  const Output last = beside.Constant(Tensor::Vector<int64_t>({shape.dim_size(0)}));
  InputList all_indices = indices, all_values = values;
  all_indices.push_back(last);
  all_values.push_back(ones);
  const bool alone = indices.empty();
  return ops::SparseAccumulatorApplyGradient(beside, accumulator.handle, step,
                                             alone ? last : ops::ConcatV2(beside, all_indices, axis),
                                             alone ? ones : ops::ConcatV2(beside, all_values, axis),
                                             Tensor::Vector<int64_t>(WithRowOfCounts(shape).dim_sizes()),
                                             /*has_known_shape=*/true);
}

// Taking waits for one gradient and takes them all: so one is added first.
Operation GradientAccumulators::Clear() const {
  std::vector<Operation> all;
  for (const Accumulator& accumulator : all_) {
    const Scope beside = Beside(accumulator);
    const DataType dtype = accumulator.variable.dtype();
    const Output any_step = beside.Constant(Tensor::Scalar<int64_t>(std::numeric_limits<int64_t>::max()));
    if (accumulator.sparse) {
      const Scope then = beside.WithControlDependencies(std::vector<Operation>{AddRows(accumulator, any_step, {}, {})});
      all.push_back(ops::SparseAccumulatorTakeGradient(then, accumulator.handle, 1, dtype).values.op());
      continue;
    }
    const Output zeros = ops::Fill(beside, Tensor::Vector<int64_t>(accumulator.variable.shape().dim_sizes()),
                                   beside.Constant(0.0, dtype));
    const Operation added = ops::ResourceAccumulatorApplyGradient(beside, accumulator.handle, any_step, zeros);
    const Scope then = beside.WithControlDependencies(std::vector<Operation>{added});
    all.push_back(ops::ResourceAccumulatorTakeGradient(then, accumulator.handle, 1, dtype).op());
  }
  return ops::NoOp(scope_.WithControlDependencies(all).WithName("cleared"));
}

Operation GradientAccumulators::SetStep(const Output& step) const {
  std::vector<Operation> all;
  for (const Accumulator& accumulator : all_) {
    const Scope beside = Beside(accumulator);
    all.push_back(accumulator.sparse ? ops::AccumulatorSetGlobalStep(beside, accumulator.handle, step)
                                     : ops::ResourceAccumulatorSetGlobalStep(beside, accumulator.handle, step));
  }
  return ops::NoOp(scope_.ColocateWith(step.op()).WithControlDependencies(all).WithName("at_step"));
}

// The row of counts is the last, because accumulators keep rows in order.
Gradient GradientAccumulators::TakeRows(const Accumulator& accumulator, int num_required) const {
  const Scope beside = Beside(accumulator);
  const auto sum =
      ops::SparseAccumulatorTakeGradient(beside, accumulator.handle, num_required, accumulator.variable.dtype());
  const Tensor axis = Tensor::Scalar<int32_t>(0);
  const Output num_rows = ops::Sub(beside, ops::Size(beside, sum.indices), 1);
  const Output sizes = ops::Pack(beside, {num_rows, beside.Constant(1)});
  const OutputList values = ops::SplitV(beside, sum.values, sizes, axis, 2);
  const Output indices = ops::SplitV(beside, sum.indices, sizes, axis, 2)[0];
  const Output rows = op_ == ReduceOp::kMean ? ops::Div(beside, values[0], values[1]) : values[0];
  return Gradient(rows, indices, sum.shape);
}

std::vector<GradientAndVariable> GradientAccumulators::Take(int num_required) const {
  std::vector<Gradient> taken;
  std::vector<Operation> all;
  for (const Accumulator& accumulator : all_) {
    if (accumulator.sparse) {
      taken.push_back(TakeRows(accumulator, num_required));
    } else {
      taken.emplace_back(ops::ResourceAccumulatorTakeGradient(Beside(accumulator), accumulator.handle, num_required,
                                                              accumulator.variable.dtype()));
    }
    all.push_back(taken.back().values.op());
  }
  std::vector<GradientAndVariable> result;
  for (size_t k = 0; k < taken.size(); ++k) {
    const Scope after = Beside(all_[k]).WithControlDependencies(all);
    taken[k].values = ops::Identity(after, taken[k].values);
    if (taken[k].is_sparse()) taken[k].indices = ops::Identity(after, taken[k].indices);
    result.push_back({taken[k], all_[k].variable});
  }
  return result;
}

}  // namespace weir
