// Serialised examples as tensors.
#include <google/protobuf/io/coded_stream.h>

#include "absl/strings/escaping.h"
#include "kernels/parsing/example_batch.h"
#include "kernels/parsing/family.h"
#include "kernels/parsing/features.h"
#include "tensorflow/core/example/example.pb.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {
namespace {

// Specs of ParseExample's attributes; keys come with each call.
absl::Status ReadTypes(OpKernelConstruction& ctx, FeatureSpecs* specs, std::vector<PartialTensorShape>* shapes) {
  DataTypeVector sparse, dense;
  RETURN_IF_ERROR(ctx.GetAttr("sparse_types", &sparse));
  RETURN_IF_ERROR(ctx.GetAttr("Tdense", &dense));
  RETURN_IF_ERROR(ctx.GetAttr("dense_shapes", shapes));
  if (shapes->size() != dense.size()) {
    return errors::InvalidArgument("len(dense_types) != len(dense_shapes): ", dense.size(), " vs. ", shapes->size());
  }
  specs->sparse.resize(sparse.size());
  specs->dense.resize(dense.size());
  for (size_t i = 0; i < sparse.size(); ++i) specs->sparse[i].type = sparse[i];
  for (size_t i = 0; i < dense.size(); ++i) specs->dense[i].type = dense[i];
  for (const auto* types : {&sparse, &dense}) {
    for (DataType type : *types) {
      if (type == DT_FLOAT || type == DT_INT64 || type == DT_STRING) continue;
      return errors::InvalidArgument("Unsupported feature type ", DataTypeName(type));
    }
  }
  // Shapes are checked before any step.
  for (size_t i = 0; i < dense.size(); ++i) {
    const bool variable = (*shapes)[i].dims() > 0 && (*shapes)[i].dim_size(0) < 0;
    DenseFeatureSpec spec = specs->dense[i];
    const Tensor any(dense[i], variable ? TensorShape() : TensorShape({0}));
    RETURN_IF_ERROR(spec.Init((*shapes)[i], any, static_cast<int>(i)));
  }
  return absl::OkStatus();
}

// Counts that are attributes of their own agree with the lists of types.
absl::Status CheckOutputs(const OpKernelConstruction& ctx, const FeatureSpecs& specs) {
  const size_t outputs = 3 * specs.sparse.size() + specs.dense.size() + 2 * specs.ragged.size();
  if (ctx.output_types().size() == outputs) return absl::OkStatus();
  return errors::InvalidArgument("The node has ", ctx.output_types().size(), " outputs, its types ask for ", outputs);
}

absl::Status SetDefaults(const OpKernelContext& ctx, int first, const std::vector<PartialTensorShape>& shapes,
                         FeatureSpecs* specs) {
  for (int i = 0; i < static_cast<int>(specs->dense.size()); ++i) {
    RETURN_IF_ERROR(specs->dense[i].Init(shapes[i], ctx.input(first + i), i));
  }
  return absl::OkStatus();
}

// Passes a field that no example has. Of one that promises more bytes than there are, all that are there; groups are
// refused, as TensorFlow's reader does.
bool SkipUnknownField(google::protobuf::io::CodedInputStream& stream, uint32_t tag) {
  uint32_t narrow = 0;
  uint64_t wide = 0;
  switch (tag & 7) {
    case 0:
      return stream.ReadVarint32(&narrow);
    case 1:
      return stream.ReadLittleEndian64(&wide);
    case 2:
      if (!stream.ReadVarint32(&narrow)) return false;
      stream.Skip(static_cast<int>(narrow));
      return true;
    case 5:
      return stream.ReadLittleEndian32(&narrow);
    default:
      return false;
  }
}

// Whether each feature of a map has its key and its value and nothing else, which TensorFlow's reader asks for; the
// rest is left to the parser.
bool FeaturesAreWhole(absl::string_view features) {
  constexpr uint32_t kFeature = (tensorflow::Features::kFeatureFieldNumber << 3) | 2, kKey = (1 << 3) | 2,
                     kValue = (2 << 3) | 2;
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(features.data()),
                                                static_cast<int>(features.size()));
  while (const uint32_t tag = stream.ReadTag()) {
    if (tag != kFeature) {
      if (!SkipUnknownField(stream, tag)) return true;
      continue;
    }
    uint32_t length = 0, part = 0;
    if (!stream.ReadVarint32(&length)) return true;
    const auto limit = stream.PushLimit(static_cast<int>(length));
    for (int parts = 0; parts < 2; ++parts) {
      const uint32_t field = stream.ReadTag();
      if (field != kKey && field != kValue) return false;
      if (!stream.ReadVarint32(&part) || !stream.Skip(static_cast<int>(part))) return true;
    }
    if (stream.BytesUntilLimit() != 0) return false;
    stream.PopLimit(limit);
  }
  return true;
}

// Several examples one after another are merged.
bool ParseExample(absl::string_view text, tensorflow::Example* example) {
  constexpr uint32_t kFeatures = (tensorflow::Example::kFeaturesFieldNumber << 3) | 2;
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(text.data()),
                                                static_cast<int>(text.size()));
  while (!stream.ExpectAtEnd()) {
    const uint32_t tag = stream.ReadTag();
    if (tag != kFeatures) {
      if (tag == 0 || !SkipUnknownField(stream, tag)) return false;
      continue;
    }
    uint32_t length = 0;
    if (!stream.ReadVarint32(&length)) return false;
    const absl::string_view features = text.substr(stream.CurrentPosition(), length);  // all that is there
    if (!FeaturesAreWhole(features)) return false;
    if (!example->mutable_features()->MergeFromString(std::string(features))) return false;
    stream.Skip(static_cast<int>(features.size()));
  }
  return true;
}

// Examples that were parsed, and the batch that they are.
struct Parsed {
  std::vector<tensorflow::Example> examples;
  RecordBatch batch;
};

absl::Status Parse(const Tensor& serialized, const Tensor* names, Parsed* parsed) {
  const int64_t count = serialized.NumElements();
  parsed->examples.resize(count);
  for (int64_t i = 0; i < count; ++i) {
    const tstring& text = serialized.data<tstring>()[i];
    if (text.size() > INT32_MAX || !ParseExample(text, &parsed->examples[i])) {
      return errors::InvalidArgument("Could not parse example input, value: '",
                                     absl::CEscape(absl::string_view(text).substr(0, 1000)), "'");
    }
    parsed->batch.records.push_back(&parsed->examples[i].features());
    if (names != nullptr && names->NumElements() > 0) parsed->batch.names.push_back(names->data<tstring>()[i]);
  }
  parsed->batch.batched = serialized.dims() == 1;
  return absl::OkStatus();
}

// Places of outputs: sparse indices, values and shapes, dense values, ragged values and splits.
FeatureOutputs OutputsOf(const FeatureSpecs& specs) {
  const int sparse = static_cast<int>(specs.sparse.size()), dense = static_cast<int>(specs.dense.size());
  FeatureOutputs outputs;
  outputs.sparse_values = sparse;
  outputs.sparse_shapes = 2 * sparse;
  outputs.dense_values = 3 * sparse;
  outputs.ragged_values = 3 * sparse + dense;
  outputs.ragged_splits = outputs.ragged_values + static_cast<int>(specs.ragged.size());
  return outputs;
}

// serialized, names, a scalar for each sparse and each dense key, defaults.
class ParseExampleKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ReadTypes(ctx, &specs_, &shapes_));
    const size_t inputs = 2 + specs_.sparse.size() + 2 * specs_.dense.size();
    if (ctx.input_types().size() != inputs) {
      return errors::InvalidArgument("The node has ", ctx.input_types().size(), " inputs, its types ask for ", inputs);
    }
    return CheckOutputs(ctx, specs_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor &serialized = ctx.input(0), &names = ctx.input(1);
    if (serialized.dims() != 1) {
      return errors::InvalidArgument("Expected serialized to be a vector, got shape: ", serialized.shape().ToString());
    }
    if (names.NumElements() > 0 && names.shape() != serialized.shape()) {
      return errors::InvalidArgument("Expected len(names) == len(serialized), but got: ", names.shape().ToString(),
                                     " vs. ", serialized.shape().ToString());
    }
    FeatureSpecs specs = specs_;
    int next = 2;
    for (FeatureSpec& spec : specs.sparse) RETURN_IF_ERROR(ReadKey(ctx, next++, "sparse", &spec));
    for (FeatureSpec& spec : specs.dense) RETURN_IF_ERROR(ReadKey(ctx, next++, "dense", &spec));
    RETURN_IF_ERROR(SetDefaults(ctx, next, shapes_, &specs));
    Parsed parsed;
    RETURN_IF_ERROR(Parse(serialized, &names, &parsed));
    return EmitFeatures(ctx, specs, parsed.batch, OutputsOf(specs));
  }

 private:
  static absl::Status ReadKey(const OpKernelContext& ctx, int input, absl::string_view kind, FeatureSpec* spec) {
    if (ctx.input(input).NumElements() != 1) {
      return errors::InvalidArgument("Expected ", kind,
                                     "_keys to be scalars, got shape: ", ctx.input(input).shape().ToString());
    }
    spec->key = ctx.input(input).data<tstring>()[0];
    return absl::OkStatus();
  }

  FeatureSpecs specs_;
  std::vector<PartialTensorShape> shapes_;
};

// serialized, names, vectors of sparse, dense and ragged keys, defaults.
class ParseExampleV2Kernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ReadTypes(ctx, &specs_, &shapes_));
    DataTypeVector values, splits;
    RETURN_IF_ERROR(ctx.GetAttr("ragged_value_types", &values));
    RETURN_IF_ERROR(ctx.GetAttr("ragged_split_types", &splits));
    int64_t sparse;
    RETURN_IF_ERROR(ctx.GetAttr("num_sparse", &sparse));
    if (sparse != static_cast<int64_t>(specs_.sparse.size())) {
      return errors::InvalidArgument("len(sparse_types) must match num_sparse: ", specs_.sparse.size(), " vs. ",
                                     sparse);
    }
    if (values.size() != splits.size()) {
      return errors::InvalidArgument("len(ragged_value_types) != len(ragged_split_types): ", values.size(), " vs. ",
                                     splits.size());
    }
    specs_.ragged.resize(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      specs_.ragged[i].type = values[i];
      specs_.ragged[i].splits_type = splits[i];
    }
    return CheckOutputs(ctx, specs_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor &serialized = ctx.input(0), &names = ctx.input(1);
    if (serialized.dims() > 1) {
      return errors::InvalidArgument("Expected serialized to be a scalar or vector, got shape: ",
                                     serialized.shape().ToString());
    }
    if (names.NumElements() > 0 && names.shape() != serialized.shape()) {
      return errors::InvalidArgument("Expected names have the same shape as serialized: name.shape=",
                                     names.shape().ToString(), ", serialized.shape=", serialized.shape().ToString());
    }
    FeatureSpecs specs = specs_;
    RETURN_IF_ERROR(ReadKeys(ctx.input(2), "sparse", absl::MakeSpan(specs.sparse)));
    RETURN_IF_ERROR(ReadKeys(ctx.input(3), "dense", absl::MakeSpan(specs.dense)));
    RETURN_IF_ERROR(ReadKeys(ctx.input(4), "ragged", absl::MakeSpan(specs.ragged)));
    RETURN_IF_ERROR(SetDefaults(ctx, 5, shapes_, &specs));
    Parsed parsed;
    RETURN_IF_ERROR(Parse(serialized, &names, &parsed));
    return EmitFeatures(ctx, specs, parsed.batch, OutputsOf(specs));
  }

 private:
  template <typename Spec>
  static absl::Status ReadKeys(const Tensor& keys, absl::string_view kind, absl::Span<Spec> specs) {
    if (keys.NumElements() != static_cast<int64_t>(specs.size())) {
      return errors::InvalidArgument("Expected len(", kind, "_keys) == len(", kind,
                                     "_types) but got: ", keys.NumElements(), " vs. ", specs.size());
    }
    for (size_t i = 0; i < specs.size(); ++i) specs[i].key = keys.data<tstring>()[i];
    return absl::OkStatus();
  }

  FeatureSpecs specs_;
  std::vector<PartialTensorShape> shapes_;
};

// serialized, defaults; keys are attributes.
class ParseSingleExampleKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ReadTypes(ctx, &specs_, &shapes_));
    std::vector<std::string> sparse, dense;
    RETURN_IF_ERROR(ctx.GetAttr("sparse_keys", &sparse));
    RETURN_IF_ERROR(ctx.GetAttr("dense_keys", &dense));
    int64_t count;
    RETURN_IF_ERROR(ctx.GetAttr("num_sparse", &count));
    if (sparse.size() != specs_.sparse.size() || count != static_cast<int64_t>(sparse.size())) {
      return errors::InvalidArgument("len(sparse_keys) != len(sparse_types): ", sparse.size(), " vs. ",
                                     specs_.sparse.size(), ", num_sparse: ", count);
    }
    if (dense.size() != specs_.dense.size()) {
      return errors::InvalidArgument("len(dense_keys) != len(dense_types): ", dense.size(), " vs. ",
                                     specs_.dense.size());
    }
    for (size_t i = 0; i < sparse.size(); ++i) specs_.sparse[i].key = sparse[i];
    for (size_t i = 0; i < dense.size(); ++i) specs_.dense[i].key = dense[i];
    return CheckOutputs(ctx, specs_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    if (ctx.input(0).dims() != 0) {
      return errors::InvalidArgument("Expected serialized to be a scalar, got shape: ",
                                     ctx.input(0).shape().ToString());
    }
    FeatureSpecs specs = specs_;
    RETURN_IF_ERROR(SetDefaults(ctx, 1, shapes_, &specs));
    Parsed parsed;
    RETURN_IF_ERROR(Parse(ctx.input(0), nullptr, &parsed));
    return EmitFeatures(ctx, specs, parsed.batch, OutputsOf(specs));
  }

 private:
  FeatureSpecs specs_;
  std::vector<PartialTensorShape> shapes_;
};

}  // namespace

absl::StatusOr<ParsedBatch> ParseExampleBatch(Device* device, const FeatureSpecs& specs, const Tensor& serialized) {
  if (serialized.dtype() != DT_STRING || serialized.dims() != 1) {
    return errors::InvalidArgument("Expected serialized to be a vector of strings, got ",
                                   DataTypeName(serialized.dtype()), " of shape ", serialized.shape().ToString());
  }
  Parsed parsed;
  RETURN_IF_ERROR(Parse(serialized, nullptr, &parsed));
  DataTypeVector types(specs.sparse.size(), DT_INT64);
  for (const FeatureSpec& spec : specs.sparse) types.push_back(spec.type);
  types.insert(types.end(), specs.sparse.size(), DT_INT64);
  for (const FeatureSpec& spec : specs.dense) types.push_back(spec.type);
  for (const FeatureSpec& spec : specs.ragged) types.push_back(spec.type);
  for (const RaggedFeatureSpec& spec : specs.ragged) types.push_back(spec.splits_type);
  std::vector<OpOutput> outputs(types.size());
  StepContext step;
  step.device = device;
  const tensorflow::NodeDef node;
  OpKernelContext ctx(&step, &node, {}, types, absl::MakeSpan(outputs));
  const FeatureOutputs places = OutputsOf(specs);
  RETURN_IF_ERROR(EmitFeatures(ctx, specs, parsed.batch, places));
  ParsedBatch batch;
  for (size_t i = 0; i < specs.sparse.size(); ++i) {
    batch.sparse.push_back(
        {outputs[i].value, outputs[places.sparse_values + i].value, outputs[places.sparse_shapes + i].value});
  }
  for (size_t i = 0; i < specs.dense.size(); ++i) batch.dense.push_back(outputs[places.dense_values + i].value);
  for (size_t i = 0; i < specs.ragged.size(); ++i) {
    batch.ragged.push_back({outputs[places.ragged_values + i].value, outputs[places.ragged_splits + i].value});
  }
  return batch;
}

absl::Status RegisterExampleKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<ParseExampleKernel>(Kernel("ParseExample").Cpu()));
  RETURN_IF_ERROR(kernels.Register<ParseExampleV2Kernel>(Kernel("ParseExampleV2").Cpu()));
  return kernels.Register<ParseSingleExampleKernel>(Kernel("ParseSingleExample").Cpu());
}

}  // namespace weir
