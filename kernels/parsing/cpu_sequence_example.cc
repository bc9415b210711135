// Serialised sequence examples as tensors.
#include "absl/strings/escaping.h"
#include "kernels/parsing/family.h"
#include "kernels/parsing/sequence_features.h"
#include "tensorflow/core/example/example.pb.h"

namespace weir {
namespace {

// Types and shapes of a node's features. Their keys are attributes or inputs.
struct SequenceSpecs {
  absl::Status Init(OpKernelConstruction& ctx) {
    DataTypeVector context_sparse, context_dense, list_sparse, list_dense;
    std::vector<PartialTensorShape> list_shapes;
    RETURN_IF_ERROR(ctx.GetAttr("context_sparse_types", &context_sparse));
    RETURN_IF_ERROR(ctx.GetAttr("Tcontext_dense", &context_dense));
    RETURN_IF_ERROR(ctx.GetAttr("context_dense_shapes", &context_shapes));
    RETURN_IF_ERROR(ctx.GetAttr("feature_list_sparse_types", &list_sparse));
    RETURN_IF_ERROR(ctx.GetAttr("feature_list_dense_types", &list_dense));
    RETURN_IF_ERROR(ctx.GetAttr("feature_list_dense_shapes", &list_shapes));
    if (context_shapes.size() != context_dense.size()) {
      return errors::InvalidArgument("len(context_dense_shapes) != len(Tcontext_dense): ", context_shapes.size(),
                                     " vs. ", context_dense.size());
    }
    if (list_shapes.size() != list_dense.size()) {
      return errors::InvalidArgument("num_feature_list_dense must match the size of feature_list_dense_types (",
                                     list_dense.size(), ") and feature_list_dense_shapes (", list_shapes.size(), ")");
    }
    for (DataType type : context_sparse) context.sparse.push_back({"", type});
    for (size_t i = 0; i < context_dense.size(); ++i) {
      RETURN_IF_ERROR(context_shapes[i].AsTensorShape().status());
      context.dense.emplace_back().type = context_dense[i];
    }
    for (DataType type : list_sparse) lists.sparse.push_back({"", type});
    for (size_t i = 0; i < list_dense.size(); ++i) {
      DenseListSpec& spec = lists.dense.emplace_back();
      spec.type = list_dense[i];
      ASSIGN_OR_RETURN(spec.shape, list_shapes[i].AsTensorShape());
    }
    return CheckCounts(ctx);
  }

  absl::Status InitRagged(OpKernelConstruction& ctx) {
    RETURN_IF_ERROR(ReadRagged(ctx, "context_ragged", &context.ragged));
    return ReadRagged(ctx, "feature_list_ragged", &lists.ragged);
  }

  // The defaults in inputs `first` and after it.
  absl::Status SetDefaults(const OpKernelContext& ctx, int first) {
    for (int i = 0; i < static_cast<int>(context.dense.size()); ++i) {
      const Tensor& initial = ctx.input(first + i);
      if (initial.NumElements() > 0 && !context_shapes[i].IsCompatibleWith(initial.shape())) {
        return errors::InvalidArgument("def_value[", i, "].shape() == ", initial.shape().ToString(),
                                       " != context_dense_shapes_[", i, "] == ", context_shapes[i].ToString());
      }
      RETURN_IF_ERROR(context.dense[i].Init(context_shapes[i], initial, i));
    }
    return absl::OkStatus();
  }

  FeatureSpecs context;
  std::vector<PartialTensorShape> context_shapes;
  FeatureListSpecs lists;

 private:
  static absl::Status ReadRagged(OpKernelConstruction& ctx, const std::string& prefix,
                                 std::vector<RaggedFeatureSpec>* specs) {
    DataTypeVector values, splits;
    RETURN_IF_ERROR(ctx.GetAttr(prefix + "_value_types", &values));
    RETURN_IF_ERROR(ctx.GetAttr(prefix + "_split_types", &splits));
    if (values.size() != splits.size()) {
      return errors::InvalidArgument("len(", prefix, "_value_types) != len(", prefix, "_split_types): ", values.size(),
                                     " vs. ", splits.size());
    }
    for (size_t i = 0; i < values.size(); ++i) {
      RaggedFeatureSpec& spec = specs->emplace_back();
      spec.type = values[i];
      spec.splits_type = splits[i];
    }
    return absl::OkStatus();
  }

  absl::Status CheckCounts(OpKernelConstruction& ctx) const {
    const std::pair<const char*, size_t> counts[] = {{"Ncontext_sparse", context.sparse.size()},
                                                     {"Ncontext_dense", context.dense.size()},
                                                     {"Nfeature_list_sparse", lists.sparse.size()},
                                                     {"Nfeature_list_dense", lists.dense.size()}};
    for (const auto& [attr, size] : counts) {
      if (!ctx.HasAttr(attr)) continue;
      int64_t count;
      RETURN_IF_ERROR(ctx.GetAttr(attr, &count));
      if (count != static_cast<int64_t>(size)) {
        return errors::InvalidArgument(attr, " (", count, ") must match the number of types (", size, ")");
      }
    }
    return absl::OkStatus();
  }
};

template <typename Spec>
absl::Status SetKeys(absl::Span<const tstring> keys, absl::string_view what, std::vector<Spec>* specs) {
  if (keys.size() != specs->size()) {
    return errors::InvalidArgument("Expected len(", what, "_keys) == len(", what, "_types) but got: ", keys.size(),
                                   " vs. ", specs->size());
  }
  for (size_t i = 0; i < keys.size(); ++i) (*specs)[i].key = keys[i];
  return absl::OkStatus();
}

// Sequence examples that were parsed, as context and lists.
struct ParsedSequences {
  std::vector<tensorflow::SequenceExample> examples;
  RecordBatch context;
  SequenceBatch lists;
};

absl::Status Parse(const Tensor& serialized, const Tensor& names, bool single, ParsedSequences* parsed) {
  const int64_t count = serialized.NumElements();
  parsed->examples.resize(count);
  parsed->context.batched = parsed->lists.batched = serialized.dims() == 1;
  for (int64_t i = 0; i < count; ++i) {
    const std::string name = names.NumElements() > 0 ? names.data<tstring>()[i] : single ? "" : "<unknown>";
    const tstring& text = serialized.data<tstring>()[i];
    tensorflow::SequenceExample& example = parsed->examples[i];
    if (text.size() > INT32_MAX || !example.ParseFromString(text)) {
      if (!single) return errors::InvalidArgument("Invalid protocol message input, example id: ", name);
      return errors::InvalidArgument("Could not parse example input, value: '",
                                     absl::CEscape(absl::string_view(text).substr(0, 1000)), "'");
    }
    parsed->context.records.push_back(&example.context());
    parsed->lists.records.push_back(&example.feature_lists());
    parsed->context.names.push_back(name);
    parsed->lists.names.push_back(name);
  }
  return absl::OkStatus();
}

// The most values that a record has of a feature are as many as its shape asks for, unless all go without.
absl::Status CheckMost(const DenseFeatureSpec& spec, const RecordBatch& batch) {
  int64_t most = 0;
  bool is_there = spec.initial.NumElements() == 0;
  for (const tensorflow::Features* record : batch.records) {
    const tensorflow::Feature* const feature = FindFeature(*record, spec.key);
    if (feature == nullptr) continue;
    if (FeatureType(*feature) != spec.type && FeatureType(*feature) != DT_INVALID) return absl::OkStatus();
    is_there = true;
    most = std::max(most, FeatureSize(*feature));
  }
  if (!is_there || most == spec.stride || batch.size() == 0) return absl::OkStatus();
  return errors::InvalidArgument("Inconsistent max number of elements for feature ", spec.key, ": expected ",
                                 spec.stride, ", but found ", most);
}

// What is wrong with the context, in the words that these ops have for it.
absl::Status CheckContext(const SequenceSpecs& specs, const ParsedSequences& parsed, bool single) {
  const RecordBatch& batch = parsed.context;
  const auto check_type = [&batch](const FeatureSpec& spec, int64_t i) {
    const tensorflow::Feature* const feature = FindFeature(*batch.records[i], spec.key);
    if (feature == nullptr || FeatureType(*feature) == spec.type) return absl::OkStatus();
    return errors::InvalidArgument("Name: ", batch.name(i), ", Context feature: ", spec.key,
                                   ".  Data types don't match. Expected type: ", DataTypeName(spec.type));
  };
  for (const DenseFeatureSpec& spec : specs.context.dense) {
    if (!single) RETURN_IF_ERROR(CheckMost(spec, batch));
  }
  for (int64_t i = 0; i < batch.size(); ++i) {
    for (const FeatureSpec& spec : specs.context.sparse) RETURN_IF_ERROR(check_type(spec, i));
    for (const RaggedFeatureSpec& spec : specs.context.ragged) RETURN_IF_ERROR(check_type(spec, i));
    for (const DenseFeatureSpec& spec : specs.context.dense) {
      RETURN_IF_ERROR(check_type(spec, i));
      const tensorflow::Feature* const feature = FindFeature(*batch.records[i], spec.key);
      if (feature == nullptr && spec.initial.NumElements() == 0 && spec.stride > 0) {
        if (single) {
          return errors::InvalidArgument("Name: ", batch.name(i), ", Context feature '", spec.key,
                                         "' is required but could not be found.");
        }
        return errors::InvalidArgument("Feature: ", spec.key, " (data type: ", DataTypeName(spec.type),
                                       ") is required but could not be found.");
      }
      if (feature != nullptr && FeatureSize(*feature) != spec.stride) {
        if (!single) {
          return errors::InvalidArgument("Unexpected number of elements in example ", batch.name(i), ": feature ",
                                         spec.key, " has ", FeatureSize(*feature), " values, expected ", spec.stride);
        }
        return errors::InvalidArgument(
            "Name: ", batch.name(i), ", Key: ", spec.key, ", Index: ", i, ".  Number of ", DataTypeName(spec.type),
            " values != expected.  values size: ", FeatureSize(*feature), " but output shape: ", spec.shape.ToString());
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSerialized(const Tensor& serialized, const Tensor& names, int max_rank) {
  if (serialized.dims() > max_rank) {
    return errors::InvalidArgument("Expected serialized to be a scalar", max_rank > 0 ? " or vector" : "",
                                   ", got shape: ", serialized.shape().ToString());
  }
  if (names.NumElements() > 0 && names.NumElements() != serialized.NumElements()) {
    return errors::InvalidArgument("example_names must be empty or have the correct number of elements");
  }
  return absl::OkStatus();
}

// The order of outputs is that of the ops' definitions.
absl::Status Emit(OpKernelContext& ctx, const SequenceSpecs& specs, const ParsedSequences& parsed, bool has_ragged,
                  bool has_lengths) {
  int next = 0;
  const auto take = [&next](size_t count) {
    const int first = next;
    next += static_cast<int>(count);
    return first;
  };
  FeatureOutputs context;
  FeatureListOutputs lists;
  context.sparse_indices = take(specs.context.sparse.size());
  context.sparse_values = take(specs.context.sparse.size());
  context.sparse_shapes = take(specs.context.sparse.size());
  context.dense_values = take(specs.context.dense.size());
  if (has_ragged) {
    context.ragged_values = take(specs.context.ragged.size());
    context.ragged_splits = take(specs.context.ragged.size());
  }
  lists.sparse_indices = take(specs.lists.sparse.size());
  lists.sparse_values = take(specs.lists.sparse.size());
  lists.sparse_shapes = take(specs.lists.sparse.size());
  lists.dense_values = take(specs.lists.dense.size());
  if (has_lengths) lists.dense_lengths = take(specs.lists.dense.size());
  if (has_ragged) {
    lists.ragged_values = take(specs.lists.ragged.size());
    lists.ragged_outer_splits = take(specs.lists.ragged.size());
    lists.ragged_inner_splits = take(specs.lists.ragged.size());
  }
  if (next != ctx.num_outputs()) {
    return errors::InvalidArgument("The node has ", ctx.num_outputs(), " outputs, its types ask for ", next);
  }
  RETURN_IF_ERROR(CheckContext(specs, parsed, !has_lengths));
  RETURN_IF_ERROR(EmitFeatures(ctx, specs.context, parsed.context, context));
  return EmitFeatureLists(ctx, specs.lists, parsed.lists, lists);
}

// serialized, debug_name, context defaults; keys are attributes.
class ParseSequenceExampleKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(specs_.Init(ctx));
    RETURN_IF_ERROR(ReadKeys(ctx, "context_sparse", &specs_.context.sparse));
    RETURN_IF_ERROR(ReadKeys(ctx, "context_dense", &specs_.context.dense));
    RETURN_IF_ERROR(ReadKeys(ctx, "feature_list_sparse", &specs_.lists.sparse));
    RETURN_IF_ERROR(ReadKeys(ctx, "feature_list_dense", &specs_.lists.dense));
    std::vector<std::string> missing;
    RETURN_IF_ERROR(ctx.GetAttr("feature_list_dense_missing_assumed_empty", &missing));
    for (DenseListSpec& spec : specs_.lists.dense) {
      spec.may_be_missing = std::find(missing.begin(), missing.end(), spec.key) != missing.end();
    }
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    RETURN_IF_ERROR(CheckSerialized(ctx.input(0), ctx.input(1), 1));
    SequenceSpecs specs = specs_;
    RETURN_IF_ERROR(specs.SetDefaults(ctx, 2));
    ParsedSequences parsed;
    RETURN_IF_ERROR(Parse(ctx.input(0), ctx.input(1), false, &parsed));
    return Emit(ctx, specs, parsed, false, true);
  }

 private:
  template <typename Spec>
  static absl::Status ReadKeys(OpKernelConstruction& ctx, const std::string& what, std::vector<Spec>* specs) {
    std::vector<std::string> keys;
    RETURN_IF_ERROR(ctx.GetAttr(what + "_keys", &keys));
    return SetKeys(keys, what, specs);
  }

  SequenceSpecs specs_;
};

// serialized, debug_name, vectors of keys: context sparse, dense, ragged, lists sparse, dense, ragged; which dense
// lists may be missing; context defaults.
class ParseSequenceExampleV2Kernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(specs_.Init(ctx));
    return specs_.InitRagged(ctx);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    RETURN_IF_ERROR(CheckSerialized(ctx.input(0), ctx.input(1), 1));
    SequenceSpecs specs = specs_;
    const auto keys = [&ctx](int input) { return ctx.input(input).flat<tstring>(); };
    RETURN_IF_ERROR(SetKeys(keys(2), "context_sparse", &specs.context.sparse));
    RETURN_IF_ERROR(SetKeys(keys(3), "context_dense", &specs.context.dense));
    RETURN_IF_ERROR(SetKeys(keys(4), "context_ragged", &specs.context.ragged));
    RETURN_IF_ERROR(SetKeys(keys(5), "feature_list_sparse", &specs.lists.sparse));
    RETURN_IF_ERROR(SetKeys(keys(6), "feature_list_dense", &specs.lists.dense));
    RETURN_IF_ERROR(SetKeys(keys(7), "feature_list_ragged", &specs.lists.ragged));
    const Tensor& missing = ctx.input(8);
    if (missing.NumElements() != static_cast<int64_t>(specs.lists.dense.size())) {
      return errors::InvalidArgument(
          "Expected len(feature_list_dense_missing_assumed_empty to match Nfeature_list_dense");
    }
    for (size_t i = 0; i < specs.lists.dense.size(); ++i) specs.lists.dense[i].may_be_missing = missing.data<bool>()[i];
    RETURN_IF_ERROR(specs.SetDefaults(ctx, 9));
    ParsedSequences parsed;
    RETURN_IF_ERROR(Parse(ctx.input(0), ctx.input(1), false, &parsed));
    return Emit(ctx, specs, parsed, true, true);
  }

 private:
  SequenceSpecs specs_;
};

// serialized, lists that may be missing, a scalar for each key, context defaults, debug_name.
class ParseSingleSequenceExampleKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(specs_.Init(ctx));
    const size_t inputs = 3 + specs_.context.sparse.size() + 2 * specs_.context.dense.size() +
                          specs_.lists.sparse.size() + specs_.lists.dense.size();
    if (ctx.input_types().size() == inputs) return absl::OkStatus();
    return errors::InvalidArgument("The node has ", ctx.input_types().size(), " inputs, its types ask for ", inputs);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& name = ctx.input(ctx.num_inputs() - 1);
    RETURN_IF_ERROR(CheckSerialized(ctx.input(0), name, 0));
    SequenceSpecs specs = specs_;
    int next = 2;
    RETURN_IF_ERROR(ReadKeys(ctx, &next, &specs.context.sparse));
    RETURN_IF_ERROR(ReadKeys(ctx, &next, &specs.context.dense));
    RETURN_IF_ERROR(ReadKeys(ctx, &next, &specs.lists.sparse));
    RETURN_IF_ERROR(ReadKeys(ctx, &next, &specs.lists.dense));
    RETURN_IF_ERROR(specs.SetDefaults(ctx, next));
    const absl::Span<const tstring> missing = ctx.input(1).flat<tstring>();
    for (DenseListSpec& spec : specs.lists.dense) {
      spec.may_be_missing = std::find(missing.begin(), missing.end(), spec.key) != missing.end();
    }
    ParsedSequences parsed;
    RETURN_IF_ERROR(Parse(ctx.input(0), name, true, &parsed));
    return Emit(ctx, specs, parsed, false, false);
  }

 private:
  template <typename Spec>
  static absl::Status ReadKeys(const OpKernelContext& ctx, int* next, std::vector<Spec>* specs) {
    for (Spec& spec : *specs) {
      const Tensor& key = ctx.input((*next)++);
      if (key.NumElements() != 1) {
        return errors::InvalidArgument("Expected keys to be scalars, got shape: ", key.shape().ToString());
      }
      spec.key = key.data<tstring>()[0];
    }
    return absl::OkStatus();
  }

  SequenceSpecs specs_;
};

}  // namespace

absl::Status RegisterSequenceExampleKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<ParseSequenceExampleKernel>(Kernel("ParseSequenceExample").Cpu()));
  RETURN_IF_ERROR(kernels.Register<ParseSequenceExampleV2Kernel>(Kernel("ParseSequenceExampleV2").Cpu()));
  return kernels.Register<ParseSingleSequenceExampleKernel>(Kernel("ParseSingleSequenceExample").Cpu());
}

}  // namespace weir
