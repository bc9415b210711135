#include "distribute/strategy/collective_reduction.h"

#include "client/ops.h"

namespace weir {

OutputList CollectiveReduction::AllReduce(const std::vector<Scope>& scopes, ReduceOp op, const OutputList& values) {
  const int instance_key = next_instance_key_++;
  OutputList results;
  for (size_t i = 0; i < values.size(); ++i) {
    results.push_back(ops::CollectiveReduceV2(scopes[i], values[i], group_size_, group_key_, instance_key, {}, "Add",
                                              op == ReduceOp::kMean ? "Div" : "Id"));
  }
  return results;
}

OutputList CollectiveReduction::Gather(const std::vector<Scope>& scopes, const OutputList& values) {
  const int instance_key = next_instance_key_++;
  OutputList results;
  for (size_t i = 0; i < values.size(); ++i) {
    results.push_back(
        ops::CollectiveGatherV2(scopes[i], values[i], group_size_, group_key_, instance_key, InputList()));
  }
  return results;
}

// The op gathers equal shapes: rows are padded to the most that a rank has, and the padding is cut off.
OutputList CollectiveReduction::AllGatherRows(const std::vector<Scope>& scopes, const OutputList& values) {
  const Tensor zero = Tensor::Scalar<int32_t>(0), first = Tensor::Vector<int32_t>({0});
  OutputList counts;
  for (size_t i = 0; i < values.size(); ++i) {
    const Output shape = ops::Shape(scopes[i], values[i]);
    counts.push_back(ops::Slice(scopes[i], shape, first, Tensor::Vector<int32_t>({1})));
  }
  counts = Gather(scopes, counts);
  OutputList padded;
  for (size_t i = 0; i < values.size(); ++i) {
    const Scope& scope = scopes[i];
    const Output shape = ops::Shape(scope, values[i]);
    const Output own = ops::Slice(scope, shape, first, Tensor::Vector<int32_t>({1}));
    const Output missing = ops::Sub(scope, ops::Max(scope, counts[i], zero), own);
    const Output others = ops::Slice(scope, shape, Tensor::Vector<int32_t>({1}), Tensor::Vector<int32_t>({-1}));
    const Output padding_shape = ops::ConcatV2(scope, {missing, others}, zero);
    const Output padding = ops::Fill(scope, padding_shape, scope.Constant(int64_t{0}, values[i].type()));
    padded.push_back(ops::ConcatV2(scope, {values[i], padding}, zero));
  }
  padded = Gather(scopes, padded);
  OutputList results;
  for (size_t i = 0; i < values.size(); ++i) {
    const Scope& scope = scopes[i];
    // [rank, row] → whether the rank has that row.
    const Output most = ops::Max(scope, counts[i], zero);
    const Output rows = ops::Range(scope, scope.Constant(zero), most, scope.Constant(Tensor::Scalar<int32_t>(1)));
    const Output is_real = ops::Less(scope, ops::ExpandDims(scope, rows, zero),
                                     ops::ExpandDims(scope, counts[i], Tensor::Scalar<int32_t>(1)));
    const Output flat = ops::Reshape(scope, is_real, Tensor::Vector<int32_t>({-1}));
    const Output where = ops::Reshape(scope, ops::Where(scope, flat), Tensor::Vector<int32_t>({-1}));
    results.push_back(ops::GatherV2(scope, padded[i], where, zero));
  }
  return results;
}

std::vector<Gradient> CollectiveReduction::AllReduceGradients(const std::vector<Scope>& scopes, ReduceOp op,
                                                              const std::vector<Gradient>& parts) {
  OutputList values, indices;
  for (const Gradient& part : parts) {
    values.push_back(part.values);
    if (part.is_sparse()) indices.push_back(part.indices);
  }
  std::vector<Gradient> results;
  if (indices.empty()) {
    for (const Output& sum : AllReduce(scopes, op, values)) results.emplace_back(sum);
    return results;
  }
  values = AllGatherRows(scopes, values);
  indices = AllGatherRows(scopes, indices);
  for (size_t i = 0; i < parts.size(); ++i) {
    const Output rows = op == ReduceOp::kMean ? ops::Mul(scopes[i], values[i], 1.0 / group_size_) : values[i];
    results.emplace_back(rows, indices[i], parts[i].dense_shape);
  }
  return results;
}

Output CollectiveReduction::Broadcast(const Scope& scope, const Output& value, const TensorShape& shape,
                                      DataType dtype) {
  const int instance_key = next_instance_key_++;
  if (value.valid()) return ops::CollectiveBcastSendV2(scope, value, group_size_, group_key_, instance_key);
  return ops::CollectiveBcastRecvV2(scope, group_size_, group_key_, instance_key,
                                    Tensor::Vector<int64_t>(shape.dim_sizes()), dtype);
}

}  // namespace weir
