#include "kernels/parsing/features.h"

#include <algorithm>

#include "core/tensor/index_tensor.h"
#include "kernels/device/elements.h"
#include "tensorflow/core/example/feature.pb.h"

namespace weir {
namespace {

using tensorflow::Feature;

// "Name: n, Key: k, Index: i.  what", or without a batch "Key: k.  what".
absl::Status BadFeature(const RecordBatch& batch, int64_t i, const FeatureSpec& spec, absl::string_view what) {
  if (!batch.batched) return errors::InvalidArgument("Key: ", spec.key, ".  ", what);
  return errors::InvalidArgument("Name: ", batch.name(i), ", Key: ", spec.key, ", Index: ", i, ".  ", what);
}

absl::Status CheckType(const RecordBatch& batch, int64_t i, const FeatureSpec& spec, const Feature& feature,
                       bool dense) {
  const DataType type = FeatureType(feature);
  if (type == spec.type) return absl::OkStatus();
  const std::string wanted = DataTypeName(spec.type), found = DataTypeName(type);
  return BadFeature(batch, i, spec,
                    dense ? absl::StrCat("Data types don't match. Data type: ", found, " but expected type: ", wanted)
                          : absl::StrCat("Data types don't match. Expected type: ", wanted, ", Actual type: ", found));
}

// The features of all records, of the right type; nullptr where one has none.
absl::StatusOr<std::vector<const Feature*>> Collect(const RecordBatch& batch, const FeatureSpec& spec, bool dense) {
  std::vector<const Feature*> found(batch.size());
  for (int64_t i = 0; i < batch.size(); ++i) {
    found[i] = FindFeature(*batch.records[i], spec.key);
    if (found[i] != nullptr) RETURN_IF_ERROR(CheckType(batch, i, spec, *found[i], dense));
  }
  return found;
}

int64_t SizeOf(const Feature* feature) { return feature == nullptr ? 0 : FeatureSize(*feature); }

// All values one after another.
absl::StatusOr<Tensor> JoinValues(OpKernelContext& ctx, DataType type, const std::vector<const Feature*>& features) {
  int64_t total = 0;
  for (const Feature* feature : features) total += SizeOf(feature);
  ASSIGN_OR_RETURN(Tensor values, ctx.allocate_temp(type, TensorShape({total})));
  int64_t at = 0;
  for (const Feature* feature : features) {
    if (feature == nullptr) continue;
    CopyFeature(*feature, &values, at);
    at += FeatureSize(*feature);
  }
  return values;
}

absl::Status EmitSparse(OpKernelContext& ctx, const FeatureSpec& spec, const RecordBatch& batch, int indices_output,
                        int values_output, int shape_output) {
  ASSIGN_OR_RETURN(const std::vector<const Feature*> features, Collect(batch, spec, false));
  ASSIGN_OR_RETURN(Tensor values, JoinValues(ctx, spec.type, features));
  const int64_t rank = batch.batched ? 2 : 1;
  ASSIGN_OR_RETURN(Tensor * indices, ctx.allocate_output(indices_output, TensorShape({values.NumElements(), rank})));
  int64_t* index = indices->data<int64_t>();
  int64_t longest = 0;
  for (int64_t i = 0; i < batch.size(); ++i) {
    const int64_t size = SizeOf(features[i]);
    longest = std::max(longest, size);
    for (int64_t j = 0; j < size; ++j) {
      if (batch.batched) *index++ = i;
      *index++ = j;
    }
  }
  ctx.set_output(values_output, std::move(values));
  ctx.set_output(shape_output,
                 batch.batched ? Tensor::Vector<int64_t>({batch.size(), longest}) : Tensor::Vector<int64_t>({longest}));
  return absl::OkStatus();
}

absl::Status EmitRagged(OpKernelContext& ctx, const RaggedFeatureSpec& spec, const RecordBatch& batch,
                        int values_output, int splits_output) {
  ASSIGN_OR_RETURN(const std::vector<const Feature*> features, Collect(batch, spec, false));
  ASSIGN_OR_RETURN(Tensor values, JoinValues(ctx, spec.type, features));
  ctx.set_output(values_output, std::move(values));
  DimVector splits;
  if (batch.batched) {
    splits.push_back(0);
    for (const Feature* feature : features) splits.push_back(splits.back() + SizeOf(feature));
  }
  ASSIGN_OR_RETURN(Tensor * output,
                   ctx.allocate_output(splits_output, TensorShape({static_cast<int64_t>(splits.size())})));
  return WriteIntegers(splits, output);
}

absl::Status CheckDenseSize(const RecordBatch& batch, int64_t i, const DenseFeatureSpec& spec, int64_t size) {
  if (spec.variable) {
    if (size % std::max<int64_t>(spec.stride, 1) == 0 && (spec.stride > 0 || size == 0)) return absl::OkStatus();
    if (!batch.batched) {
      return errors::InvalidArgument("Error while parsing feature with key ", spec.key,
                                     ": number of elements should be divisible by ", spec.stride, ", found ", size,
                                     " instead");
    }
    return BadFeature(
        batch, i, spec,
        absl::StrCat("Number of ", DataTypeName(spec.type), " values is not a multiple of stride length. Saw ", size,
                     " values but output shape is: ", spec.shape.ToString()));
  }
  if (size == spec.stride) return absl::OkStatus();
  if (batch.batched) {
    return BadFeature(batch, i, spec,
                      absl::StrCat("Number of ", DataTypeName(spec.type), " values != expected.  Values size: ", size,
                                   " but output shape: ", spec.shape.ToString()));
  }
  const char* const list = spec.type == DT_FLOAT ? "float" : spec.type == DT_INT64 ? "int64" : "bytes";
  return BadFeature(batch, i, spec,
                    absl::StrCat("Can't parse serialized Example: Some ", list, "_list slice was not parsed."));
}

absl::Status EmitDense(OpKernelContext& ctx, const DenseFeatureSpec& spec, const RecordBatch& batch, int output_index) {
  ASSIGN_OR_RETURN(const std::vector<const Feature*> features, Collect(batch, spec, true));
  int64_t longest = spec.variable ? 0 : spec.stride;
  for (int64_t i = 0; i < batch.size(); ++i) {
    if (features[i] != nullptr) {
      RETURN_IF_ERROR(CheckDenseSize(batch, i, spec, FeatureSize(*features[i])));
      if (spec.variable) longest = std::max(longest, FeatureSize(*features[i]));
    } else if (!spec.variable && spec.initial.NumElements() == 0) {
      const std::string what = absl::StrCat("Feature: ", spec.key, " (data type: ", DataTypeName(spec.type),
                                            ") is required but could not "
                                            "be found.");
      return batch.batched ? errors::InvalidArgument("Name: ", batch.name(i), ", ", what)
                           : errors::InvalidArgument(what);
    }
  }
  DimVector dims(spec.shape.dim_sizes().begin(), spec.shape.dim_sizes().end());
  if (spec.variable) dims[0] = spec.stride == 0 ? 0 : longest / spec.stride;
  if (batch.batched) dims.insert(dims.begin(), batch.size());
  ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build(dims));
  ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(output_index, shape));
  const int64_t width = DataTypeSize(spec.type);
  for (int64_t i = 0; i < batch.size(); ++i) {
    const int64_t begin = i * longest, size = SizeOf(features[i]);
    char* const rest = static_cast<char*>(output->raw_data()) + (begin + size) * width;
    if (features[i] != nullptr) CopyFeature(*features[i], output, begin);
    if (spec.variable) {
      FillElements(spec.type, spec.initial.raw_data(), rest, longest - size);
    } else if (features[i] == nullptr) {
      CopyElements(spec.type, rest, spec.initial.raw_data(), longest);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status DenseFeatureSpec::Init(const PartialTensorShape& wanted, const Tensor& value, int i) {
  shape = wanted;
  initial = value;
  bool known = !shape.unknown_rank();
  for (int d = 1; known && d < shape.dims(); ++d) known = shape.dim_size(d) >= 0;
  if (!known) {
    return errors::InvalidArgument("dense_shapes[", i,
                                   "] has unknown rank or unknown inner dimensions: ", shape.ToString());
  }
  variable = shape.dims() > 0 && shape.dim_size(0) < 0;
  if (value.dtype() != type) {
    return errors::InvalidArgument("dense_defaults[", i, "].dtype() == ", DataTypeName(value.dtype()),
                                   " != dense_types_[", i, "] == ", DataTypeName(type));
  }
  if (variable && value.NumElements() != 1) {
    return errors::InvalidArgument(
        "dense_shape[", i, "] is a variable length shape: ", shape.ToString(), ", therefore def_value[", i,
        "] must contain a single element (the padding element).  But its shape is: ", value.shape().ToString());
  }
  if (!variable && value.NumElements() > 0 && !shape.IsCompatibleWith(value.shape())) {
    return errors::InvalidArgument("def_value[", i, "].shape() == ", value.shape().ToString(),
                                   " is not compatible with dense_shapes_[", i, "] == ", shape.ToString());
  }
  DimVector row(shape.dim_sizes().begin() + (variable ? 1 : 0), shape.dim_sizes().end());
  ASSIGN_OR_RETURN(const TensorShape row_shape, TensorShape::Build(row));
  stride = row_shape.num_elements();
  return absl::OkStatus();
}

absl::Status EmitFeatures(OpKernelContext& ctx, const FeatureSpecs& specs, const RecordBatch& batch,
                          const FeatureOutputs& outputs) {
  for (size_t i = 0; i < specs.dense.size(); ++i) {
    RETURN_IF_ERROR(EmitDense(ctx, specs.dense[i], batch, outputs.dense_values + static_cast<int>(i)));
  }
  for (int i = 0; i < static_cast<int>(specs.sparse.size()); ++i) {
    RETURN_IF_ERROR(EmitSparse(ctx, specs.sparse[i], batch, outputs.sparse_indices + i, outputs.sparse_values + i,
                               outputs.sparse_shapes + i));
  }
  for (int i = 0; i < static_cast<int>(specs.ragged.size()); ++i) {
    RETURN_IF_ERROR(EmitRagged(ctx, specs.ragged[i], batch, outputs.ragged_values + i, outputs.ragged_splits + i));
  }
  return absl::OkStatus();
}

const Feature* FindFeature(const tensorflow::Features& features, const std::string& key) {
  const auto found = features.feature().find(key);
  if (found == features.feature().end() || found->second.kind_case() == Feature::KIND_NOT_SET) return nullptr;
  return &found->second;
}

DataType FeatureType(const Feature& feature) {
  switch (feature.kind_case()) {
    case Feature::kBytesList:
      return DT_STRING;
    case Feature::kFloatList:
      return DT_FLOAT;
    case Feature::kInt64List:
      return DT_INT64;
    default:
      return DT_INVALID;
  }
}

int64_t FeatureSize(const Feature& feature) {
  switch (feature.kind_case()) {
    case Feature::kBytesList:
      return feature.bytes_list().value_size();
    case Feature::kFloatList:
      return feature.float_list().value_size();
    case Feature::kInt64List:
      return feature.int64_list().value_size();
    default:
      return 0;
  }
}

void CopyFeature(const Feature& feature, Tensor* out, int64_t at) {
  switch (feature.kind_case()) {
    case Feature::kBytesList:
      std::copy(feature.bytes_list().value().begin(), feature.bytes_list().value().end(), out->data<tstring>() + at);
      break;
    case Feature::kFloatList:
      std::copy(feature.float_list().value().begin(), feature.float_list().value().end(), out->data<float>() + at);
      break;
    case Feature::kInt64List:
      std::copy(feature.int64_list().value().begin(), feature.int64_list().value().end(), out->data<int64_t>() + at);
      break;
    default:
      break;
  }
}

}  // namespace weir
