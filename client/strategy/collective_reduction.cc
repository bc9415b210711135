#include "client/strategy/collective_reduction.h"

#include "client/ops.h"
#include "client/strategy/gradient_packs.h"
#include "client/wire.h"
#include "core/op/attr_value.h"
#include "core/rendezvous/collective.h"
#include "graph/collectives.h"

namespace weir {

OutputList CollectiveReduction::AllReduce(const std::vector<Scope>& scopes, ReduceOp op, const OutputList& values,
                                          const std::string& wire) {
  const int instance_key = next_instance_key_++;
  OutputList results;
  for (size_t i = 0; i < values.size(); ++i) {
    results.push_back(ops::CollectiveReduceV2(scopes[i], values[i], group_size_, group_key_, instance_key, {}, "Add",
                                              op == ReduceOp::kMean ? "Div" : "Id", {.timeout_seconds = timeout()}));
    if (results.back().valid()) SetWire(scopes[i], results.back().op(), wire);
  }
  return results;
}

OutputList CollectiveReduction::Gather(const std::vector<Scope>& scopes, const OutputList& values,
                                       const std::string& wire) {
  const int instance_key = next_instance_key_++;
  OutputList results;
  for (size_t i = 0; i < values.size(); ++i) {
    results.push_back(ops::CollectiveGatherV2(scopes[i], values[i], group_size_, group_key_, instance_key, InputList(),
                                              {.timeout_seconds = timeout()}));
    if (results.back().valid()) SetWire(scopes[i], results.back().op(), wire);
  }
  return results;
}

// The op gathers equal shapes: rows are padded to the largest number of any rank, and the padding is removed.
OutputList CollectiveReduction::AllGatherRows(const std::vector<Scope>& scopes, const OutputList& values,
                                              const std::string& wire) {
  const Tensor zero = Tensor::Scalar<int32_t>(0), first = Tensor::Vector<int32_t>({0});
  OutputList counts;
  for (size_t i = 0; i < values.size(); ++i) {
    const Output shape = ops::Shape(scopes[i], values[i]);
    counts.push_back(ops::Slice(scopes[i], shape, first, Tensor::Vector<int32_t>({1})));
  }
  counts = Gather(scopes, counts, "");
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
  padded = Gather(scopes, padded, wire);
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

std::vector<Gradient> CollectiveReduction::AllReduceSparse(const std::vector<Scope>& scopes, ReduceOp op,
                                                           const std::vector<Gradient>& parts) {
  OutputList values, indices;
  for (const Gradient& part : parts) {
    values.push_back(part.values);
    indices.push_back(part.indices);
  }
  values = AllGatherRows(scopes, values, options_.wire);
  indices = AllGatherRows(scopes, indices, options_.wire);
  std::vector<Gradient> results;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Output rows = op == ReduceOp::kMean ? ops::Mul(scopes[i], values[i], 1.0 / group_size_) : values[i];
    results.emplace_back(rows, indices[i], parts[i].dense_shape);
  }
  return results;
}

void CollectiveReduction::AllReducePack(const std::vector<Scope>& scopes, ReduceOp op,
                                        const std::vector<std::vector<Gradient>>& gradients,
                                        const std::vector<TensorShape>& shapes, const std::vector<int>& pack,
                                        std::vector<std::vector<Gradient>>* results) {
  const Tensor axis = Tensor::Scalar<int32_t>(0), flat = Tensor::Vector<int32_t>({-1});
  std::vector<int64_t> sizes;
  for (const int k : pack) sizes.push_back(shapes[k].num_elements());
  OutputList packed;
  for (size_t i = 0; i < scopes.size(); ++i) {
    InputList parts;
    if (pack.size() == 1) {
      packed.push_back(gradients[pack[0]][i].values);
      continue;
    }
    for (const int k : pack) parts.emplace_back(ops::Reshape(scopes[i], gradients[k][i].values, flat));
    packed.push_back(ops::ConcatV2(scopes[i], parts, axis));
  }
  packed = AllReduce(scopes, op, packed, options_.wire);
  for (size_t i = 0; i < scopes.size() && scopes[i].ok(); ++i) {
    if (pack.size() == 1) {
      (*results)[pack[0]].emplace_back(packed[i]);
      continue;
    }
    const auto num_parts = static_cast<int64_t>(pack.size());
    const OutputList parts = ops::SplitV(scopes[i], packed[i], Tensor::Vector<int64_t>(sizes), axis, num_parts);
    for (size_t m = 0; m < pack.size() && scopes[i].ok(); ++m) {
      const Tensor shape = Tensor::Vector<int64_t>(shapes[pack[m]].dim_sizes());
      (*results)[pack[m]].emplace_back(ops::Reshape(scopes[i], parts[m], shape));
    }
  }
}

std::vector<std::vector<Gradient>> CollectiveReduction::AllReduceGradients(
    const std::vector<Scope>& scopes, ReduceOp op, const std::vector<std::vector<Gradient>>& gradients,
    const std::vector<TensorShape>& shapes) {
  std::vector<std::vector<Gradient>> results(gradients.size());
  std::vector<PackedGradient> dense;
  std::vector<int> variable_of;
  for (size_t k = 0; k < gradients.size(); ++k) {
    const Gradient& first = gradients[k][0];
    if (first.is_sparse()) {
      results[k] = AllReduceSparse(scopes, op, gradients[k]);
      continue;
    }
    const DataType dtype = first.values.type();
    // Gradients are created in an order in which they can be computed.
    dense.push_back({.order = first.values.node()->id(),
                     .dtype = dtype,
                     .bytes = shapes[k].num_elements() * static_cast<int64_t>(DataTypeSize(dtype))});
    variable_of.push_back(static_cast<int>(k));
  }
  for (std::vector<int> pack : PackGradients(dense, options_.bytes_per_pack)) {
    for (int& member : pack) member = variable_of[member];
    AllReducePack(scopes, op, gradients, shapes, pack, &results);
  }
  return results;
}

void CollectiveReduction::BeginAnew(const GraphRegion& region) {
  for (Node* const node : region.graph->nodes()) {
    if (region.Contains(*node) && IsCollective(node->op())) SetNodeAttr(kBeginsAnewAttr, true, node->mutable_def());
  }
}

Output CollectiveReduction::Broadcast(const Scope& scope, const Output& value, const TensorShape& shape,
                                      DataType dtype) {
  const int instance_key = next_instance_key_++;
  if (value.valid()) {
    return ops::CollectiveBcastSendV2(scope, value, group_size_, group_key_, instance_key,
                                      {.timeout_seconds = timeout()});
  }
  return ops::CollectiveBcastRecvV2(scope, group_size_, group_key_, instance_key,
                                    Tensor::Vector<int64_t>(shape.dim_sizes()), dtype, {.timeout_seconds = timeout()});
}

}  // namespace weir
