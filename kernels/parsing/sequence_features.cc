#include "kernels/parsing/sequence_features.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "core/tensor/index_tensor.h"
#include "kernels/device/elements.h"
#include "tensorflow/core/example/feature.pb.h"

namespace weir {
namespace {

using tensorflow::FeatureList;

const FeatureList* FindList(const tensorflow::FeatureLists& lists, const std::string& key) {
  const auto found = lists.feature_list().find(key);
  return found == lists.feature_list().end() ? nullptr : &found->second;
}

// The lists of all records, whose steps have values of the right type or none; nullptr where one has no list.
absl::StatusOr<std::vector<const FeatureList*>> Collect(const SequenceBatch& batch, const FeatureSpec& spec) {
  std::vector<const FeatureList*> lists(batch.size());
  for (int64_t i = 0; i < batch.size(); ++i) {
    lists[i] = FindList(*batch.records[i], spec.key);
    for (int step = 0; lists[i] != nullptr && step < lists[i]->feature_size(); ++step) {
      const DataType type = FeatureType(lists[i]->feature(step));
      if (type == spec.type || type == DT_INVALID) continue;
      return errors::InvalidArgument("Name: ", batch.name(i), ", Feature List: ", spec.key, ", Index: ", step,
                                     ".  Data types don't match. Expected type: ", DataTypeName(spec.type));
    }
  }
  return lists;
}

int Steps(const FeatureList* list) { return list == nullptr ? 0 : list->feature_size(); }

// All values of all steps one after another.
absl::StatusOr<Tensor> JoinValues(OpKernelContext& ctx, DataType type, const std::vector<const FeatureList*>& lists) {
  int64_t total = 0;
  for (const FeatureList* list : lists) {
    for (int step = 0; step < Steps(list); ++step) total += FeatureSize(list->feature(step));
  }
  ASSIGN_OR_RETURN(Tensor values, ctx.allocate_temp(type, TensorShape({total})));
  int64_t at = 0;
  for (const FeatureList* list : lists) {
    for (int step = 0; step < Steps(list); ++step) {
      CopyFeature(list->feature(step), &values, at);
      at += FeatureSize(list->feature(step));
    }
  }
  return values;
}

absl::Status EmitSparse(OpKernelContext& ctx, const FeatureSpec& spec, const SequenceBatch& batch, int indices_output,
                        int values_output, int shape_output) {
  ASSIGN_OR_RETURN(const std::vector<const FeatureList*> lists, Collect(batch, spec));
  ASSIGN_OR_RETURN(Tensor values, JoinValues(ctx, spec.type, lists));
  const int64_t rank = batch.batched ? 3 : 2;
  ASSIGN_OR_RETURN(Tensor * indices, ctx.allocate_output(indices_output, TensorShape({values.NumElements(), rank})));
  int64_t* index = indices->data<int64_t>();
  int64_t most_steps = 0, most_values = 0;
  for (int64_t i = 0; i < batch.size(); ++i) {
    most_steps = std::max<int64_t>(most_steps, Steps(lists[i]));
    for (int step = 0; step < Steps(lists[i]); ++step) {
      const int64_t size = FeatureSize(lists[i]->feature(step));
      most_values = std::max(most_values, size);
      for (int64_t j = 0; j < size; ++j) {
        if (batch.batched) *index++ = i;
        *index++ = step;
        *index++ = j;
      }
    }
  }
  ctx.set_output(values_output, std::move(values));
  ctx.set_output(shape_output, batch.batched ? Tensor::Vector<int64_t>({batch.size(), most_steps, most_values})
                                             : Tensor::Vector<int64_t>({most_steps, most_values}));
  return absl::OkStatus();
}

absl::Status EmitSplits(OpKernelContext& ctx, int output, const DimVector& splits) {
  ASSIGN_OR_RETURN(Tensor * tensor, ctx.allocate_output(output, TensorShape({static_cast<int64_t>(splits.size())})));
  return WriteIntegers(splits, tensor);
}

absl::Status EmitRagged(OpKernelContext& ctx, const RaggedFeatureSpec& spec, const SequenceBatch& batch,
                        int values_output, int outer_output, int inner_output) {
  ASSIGN_OR_RETURN(const std::vector<const FeatureList*> lists, Collect(batch, spec));
  ASSIGN_OR_RETURN(Tensor values, JoinValues(ctx, spec.type, lists));
  DimVector outer = {0}, inner = {0};
  for (const FeatureList* list : lists) {
    outer.push_back(outer.back() + Steps(list));
    for (int step = 0; step < Steps(list); ++step) {
      inner.push_back(inner.back() + FeatureSize(list->feature(step)));
    }
  }
  ctx.set_output(values_output, std::move(values));
  RETURN_IF_ERROR(EmitSplits(ctx, inner_output, inner));
  if (batch.batched) return EmitSplits(ctx, outer_output, outer);
  // A single record has one list: nothing to divide.
  ASSIGN_OR_RETURN(Tensor * none, ctx.allocate_output(outer_output, TensorShape()));
  return WriteIntegers({int64_t{0}}, none);
}

// That the values of all steps could make whole ones.
absl::Status CheckTotal(const DenseListSpec& spec, const FeatureList* list) {
  int64_t total = 0;
  for (int step = 0; step < Steps(list); ++step) total += FeatureSize(list->feature(step));
  const int64_t size = spec.shape.num_elements();
  if (size == 0 || total % size == 0) return absl::OkStatus();
  return errors::InvalidArgument(
      "Feature list '", spec.key, "' has an unexpected number of values.  Total values size: ", total,
      " is not consistent with output shape: [?,", absl::StrJoin(spec.shape.dim_sizes(), ","), "]");
}

absl::Status EmitDense(OpKernelContext& ctx, const DenseListSpec& spec, const SequenceBatch& batch, int values_output,
                       int lengths_output) {
  ASSIGN_OR_RETURN(const std::vector<const FeatureList*> lists, Collect(batch, spec));
  const int64_t size = spec.shape.num_elements();
  int64_t longest = 0;
  DimVector lengths;
  for (int64_t i = 0; i < batch.size(); ++i) {
    if (lists[i] == nullptr && !spec.may_be_missing) {
      return errors::InvalidArgument("Name: ", batch.name(i), ", Feature list '", spec.key,
                                     "' is required but could not be found.  Did you mean to include it in "
                                     "feature_list_dense_missing_assumed_empty or feature_list_dense_defaults?");
    }
    if (lengths_output >= 0) RETURN_IF_ERROR(CheckTotal(spec, lists[i]));
    for (int step = 0; step < Steps(lists[i]); ++step) {
      const int64_t found = FeatureSize(lists[i]->feature(step));
      if (found == size) continue;
      return errors::InvalidArgument("Name: ", batch.name(i), ", Key: ", spec.key, ", Index: ", step, ".  Number of ",
                                     lengths_output < 0 ? absl::StrCat(DataTypeName(spec.type), " ") : "",
                                     "values != expected.  values size: ", found,
                                     " but output shape: ", spec.shape.ToString());
    }
    lengths.push_back(Steps(lists[i]));
    longest = std::max<int64_t>(longest, lengths.back());
  }
  TensorShape shape = spec.shape;
  RETURN_IF_ERROR(shape.InsertDim(0, longest));
  if (batch.batched) RETURN_IF_ERROR(shape.InsertDim(0, batch.size()));
  ASSIGN_OR_RETURN(Tensor * values, ctx.allocate_output(values_output, shape));
  ZeroElements(spec.type, values->raw_data(), values->NumElements());
  for (int64_t i = 0; i < batch.size(); ++i) {
    for (int step = 0; step < Steps(lists[i]); ++step) {
      CopyFeature(lists[i]->feature(step), values, (i * longest + step) * size);
    }
  }
  if (lengths_output < 0) return absl::OkStatus();
  ctx.set_output(lengths_output,
                 batch.batched ? Tensor::Vector<int64_t>(lengths) : Tensor::Scalar<int64_t>(lengths[0]));
  return absl::OkStatus();
}

}  // namespace

absl::Status EmitFeatureLists(OpKernelContext& ctx, const FeatureListSpecs& specs, const SequenceBatch& batch,
                              const FeatureListOutputs& outputs) {
  for (int i = 0; i < static_cast<int>(specs.dense.size()); ++i) {
    RETURN_IF_ERROR(EmitDense(ctx, specs.dense[i], batch, outputs.dense_values + i,
                              outputs.dense_lengths < 0 ? -1 : outputs.dense_lengths + i));
  }
  for (int i = 0; i < static_cast<int>(specs.sparse.size()); ++i) {
    RETURN_IF_ERROR(EmitSparse(ctx, specs.sparse[i], batch, outputs.sparse_indices + i, outputs.sparse_values + i,
                               outputs.sparse_shapes + i));
  }
  for (int i = 0; i < static_cast<int>(specs.ragged.size()); ++i) {
    RETURN_IF_ERROR(EmitRagged(ctx, specs.ragged[i], batch, outputs.ragged_values + i, outputs.ragged_outer_splits + i,
                               outputs.ragged_inner_splits + i));
  }
  return absl::OkStatus();
}

}  // namespace weir
