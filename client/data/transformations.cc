// Datasets that regroup, reorder or cache elements.
#include "client/data/dataset.h"
#include "client/data/element_specs.h"
#include "client/ops.h"
#include "graph/literal.h"

namespace weir {
namespace {

// Zero, or an empty string.
absl::StatusOr<Tensor> Zero(DataType type) {
  if (type == DT_STRING) return Tensor::Scalar<tstring>("");
  if (type == DT_BOOL) return Tensor::Scalar<bool>(false);
  return ConvertLiteral(Tensor::Scalar<int32_t>(0), type);
}

struct Padding {
  InputList shapes, values;
  TensorSpecs padded;  // elements
};

absl::StatusOr<Padding> MakePadding(const TensorSpecs& element, const PaddedBatchOptions& options) {
  const size_t components = element.types.size();
  if ((!options.shapes.empty() && options.shapes.size() != components) ||
      (!options.padding_values.empty() && options.padding_values.size() != components)) {
    return errors::InvalidArgument("A padded batch of ", components, " components has ", options.shapes.size(),
                                   " shapes and ", options.padding_values.size(), " padding values");
  }
  Padding padding{.padded = element};
  for (size_t i = 0; i < components; ++i) {
    if (!options.shapes.empty()) padding.padded.shapes[i] = options.shapes[i];
    const PartialTensorShape& shape = padding.padded.shapes[i];
    if (shape.unknown_rank()) {
      return errors::InvalidArgument("Component ", i, " of a padded batch has no known rank: give its shape");
    }
    padding.shapes.emplace_back(
        Tensor::Vector<int64_t>(std::vector<int64_t>(shape.dim_sizes().begin(), shape.dim_sizes().end())));
    if (!options.padding_values.empty()) {
      padding.values.emplace_back(options.padding_values[i]);
      continue;
    }
    ASSIGN_OR_RETURN(Tensor zero, Zero(element.types[i]));
    padding.values.emplace_back(std::move(zero));
  }
  return padding;
}

}  // namespace

Dataset Dataset::Batch(int64_t size, const BatchOptions& options) const {
  if (!usable()) return *this;
  TensorSpecs batched = Batched(element_, options.drop_remainder ? size : -1);
  const Tensor drop = Tensor::Scalar<bool>(options.drop_remainder);
  const Output variant = options.num_parallel_calls == 0
                             ? ops::BatchDatasetV2(*scope_, variant_, size, drop, batched.types, batched.shapes)
                             : ops::ParallelBatchDataset(*scope_, variant_, size, options.num_parallel_calls, drop,
                                                         batched.types, batched.shapes, {.deterministic = "true"});
  return With(variant, std::move(batched));
}

Dataset Dataset::PaddedBatch(int64_t size, const PaddedBatchOptions& options) const {
  if (!usable()) return *this;
  absl::StatusOr<Padding> padding = MakePadding(element_, options);
  if (!padding.ok()) {
    scope_->UpdateStatus(padding.status());
    return With(Output());
  }
  TensorSpecs batched = Batched(padding->padded, options.drop_remainder ? size : -1);
  const Output variant = ops::PaddedBatchDatasetV2(*scope_, variant_, size, padding->shapes, padding->values,
                                                   Tensor::Scalar<bool>(options.drop_remainder), batched.shapes);
  return With(variant, std::move(batched));
}

Dataset Dataset::Unbatch() const {
  if (!usable()) return *this;
  TensorSpecs element = Unbatched(element_);
  const Output variant = ops::UnbatchDataset(*scope_, variant_, element.types, element.shapes);
  return With(variant, std::move(element));
}

Dataset Dataset::Shuffle(int64_t buffer_size, const ShuffleOptions& options) const {
  if (!usable()) return *this;
  return With(ops::ShuffleDataset(*scope_, variant_, buffer_size, options.seed, options.seed2, element_.types,
                                  element_.shapes, {.reshuffle_each_iteration = options.reshuffle_each_iteration}));
}

Dataset Dataset::Repeat(int64_t count) const {
  if (!usable()) return *this;
  return With(ops::RepeatDataset(*scope_, variant_, count, element_.types, element_.shapes));
}

Dataset Dataset::Take(int64_t count) const {
  if (!usable()) return *this;
  return With(ops::TakeDataset(*scope_, variant_, count, element_.types, element_.shapes));
}

Dataset Dataset::Skip(int64_t count) const {
  if (!usable()) return *this;
  return With(ops::SkipDataset(*scope_, variant_, count, element_.types, element_.shapes));
}

Dataset Dataset::Shard(int64_t num_shards, int64_t index) const {
  if (!usable()) return *this;
  return With(ops::ShardDataset(*scope_, variant_, num_shards, index, element_.types, element_.shapes));
}

Dataset Dataset::Concatenate(const Dataset& after) const {
  if (!usable()) return *this;
  if (!after.valid() || after.types() != types()) {
    scope_->UpdateStatus(errors::InvalidArgument("Datasets of different types cannot be concatenated"));
    return With(Output());
  }
  TensorSpecs element = element_;
  for (size_t i = 0; i < element.shapes.size(); ++i) {
    if (!(element.shapes[i] == after.shapes()[i])) element.shapes[i] = PartialTensorShape();
  }
  const Output variant = ops::ConcatenateDataset(*scope_, variant_, after.variant(), element.types, element.shapes);
  return With(variant, std::move(element));
}

Dataset Dataset::Cache(const std::string& path) const {
  if (!usable()) return *this;
  return With(ops::CacheDataset(*scope_, variant_, Tensor::Scalar<tstring>(path), element_.types, element_.shapes));
}

Dataset Dataset::Prefetch(int64_t buffer_size) const {
  if (!usable()) return *this;
  return With(ops::PrefetchDataset(*scope_, variant_, buffer_size, element_.types, element_.shapes));
}

DataIterator Dataset::MakeIterator(const std::string& name) const {
  return usable() ? DataIterator(*scope_, name, variant_, {}, element_) : DataIterator();
}

DataIterator Dataset::MakeOneShotIterator(const std::string& name) const {
  if (!usable()) return {};
  const absl::StatusOr<BuiltFunction> factory = CopyToFunction(*scope_, name, {variant_});
  if (factory.ok()) return DataIterator(*scope_, name, Output(), factory->function, element_);
  scope_->UpdateStatus(factory.status());
  return {};
}

}  // namespace weir
