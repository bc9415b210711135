// Dataset sources.
#include "client/data/dataset.h"
#include "client/data/element_specs.h"
#include "client/ops.h"
#include "graph/shapes/shape_refiner.h"

namespace weir {
namespace {

const TensorSpecs& Strings() {
  static const auto* specs = new TensorSpecs{{DT_STRING}, {TensorShape()}};
  return *specs;
}

// File names as a vector; `files` may also be a scalar.
Output FileNames(const Scope& scope, const Input& files) {
  if (!files.is_constant()) return files.output();
  return scope.Constant(files);
}

// The statically known shape.
PartialTensorShape ShapeOf(const Scope& scope, const Output& output) {
  const absl::StatusOr<ShapeRefiner> shapes = InferShapes(*scope.graph(), {.strict = false});
  return shapes.ok() ? shapes->shape(*output.node(), output.index()) : PartialTensorShape();
}

struct Components {
  OutputList tensors;
  TensorSpecs specs;
};

Components MakeComponents(const Scope& scope, const InputList& inputs) {
  Components components;
  for (const Input& input : inputs) {
    components.tensors.push_back(scope.Constant(input));
    components.specs.types.push_back(input.type());
    const bool known = input.is_constant() || !components.tensors.back().valid();
    components.specs.shapes.push_back(known ? PartialTensorShape(input.tensor().shape())
                                            : ShapeOf(scope, components.tensors.back()));
  }
  return components;
}

InputList Inputs(const OutputList& outputs) { return InputList(outputs.begin(), outputs.end()); }

}  // namespace

Dataset::Dataset(const Scope& scope, Output variant, TensorSpecs element)
    : scope_(scope.WithNoControlDependencies()), variant_(std::move(variant)), element_(std::move(element)) {}

Dataset Dataset::FromVariant(const Scope& scope, const Output& variant, TensorSpecs element) {
  if (scope.ok() && (!variant.valid() || variant.type() != DT_VARIANT)) {
    scope.UpdateStatus(errors::InvalidArgument("A dataset is a variant; this is ", DataTypeName(variant.type())));
  }
  return Dataset(scope, variant, std::move(element));
}

Dataset Dataset::Range(const Scope& scope, int64_t start, int64_t stop, int64_t step) {
  TensorSpecs element{{DT_INT64}, {TensorShape()}};
  const Output range = ops::RangeDataset(scope, start, stop, step, element.types, element.shapes);
  return Dataset(scope, range, std::move(element));
}

Dataset Dataset::FromTensors(const Scope& scope, const InputList& tensors) {
  Components components = MakeComponents(scope, tensors);
  if (!scope.ok()) return Dataset(scope, Output(), {});
  const Output variant = ops::TensorDataset(scope, Inputs(components.tensors), components.specs.shapes);
  return Dataset(scope, variant, std::move(components.specs));
}

Dataset Dataset::FromTensorSlices(const Scope& scope, const InputList& tensors) {
  Components components = MakeComponents(scope, tensors);
  if (!scope.ok()) return Dataset(scope, Output(), {});
  for (const PartialTensorShape& shape : components.specs.shapes) {
    if (shape.dims() != 0) continue;
    scope.UpdateStatus(errors::InvalidArgument("A scalar has no slices"));
    return Dataset(scope, Output(), {});
  }
  components.specs = Unbatched(components.specs);
  const Output variant = ops::TensorSliceDataset(scope, Inputs(components.tensors), components.specs.shapes);
  return Dataset(scope, variant, std::move(components.specs));
}

Dataset Dataset::Files(const Scope& scope, const Input& patterns) {
  return Dataset(scope, ops::MatchingFilesDataset(scope, FileNames(scope, patterns)), Strings());
}

Dataset Dataset::TfRecord(const Scope& scope, const Input& files, const FileOptions& options) {
  const Output variant = ops::TFRecordDataset(scope, FileNames(scope, files),
                                              Tensor::Scalar<tstring>(options.compression), options.buffer_size);
  return Dataset(scope, variant, Strings());
}

Dataset Dataset::TextLines(const Scope& scope, const Input& files, const FileOptions& options) {
  const Output variant = ops::TextLineDataset(scope, FileNames(scope, files),
                                              Tensor::Scalar<tstring>(options.compression), options.buffer_size);
  return Dataset(scope, variant, Strings());
}

Dataset Dataset::FixedLengthRecords(const Scope& scope, const Input& files, const FixedLengthOptions& options) {
  const Output variant = ops::FixedLengthRecordDatasetV2(
      scope, FileNames(scope, files), options.header_bytes, options.record_bytes, options.footer_bytes,
      options.file.buffer_size, Tensor::Scalar<tstring>(options.file.compression));
  return Dataset(scope, variant, Strings());
}

Dataset Dataset::Csv(const Scope& scope, const Input& files, const std::vector<Tensor>& defaults,
                     const CsvOptions& options) {
  TensorSpecs element;
  InputList record_defaults;
  for (const Tensor& value : defaults) {
    element.types.push_back(value.dtype());
    element.shapes.push_back(TensorShape());
    if (value.NumElements() > 1) {
      scope.UpdateStatus(errors::InvalidArgument("The default of a column is one value, not ", value.NumElements()));
      return Dataset(scope, Output(), {});
    }
    // The op takes vectors of one element or none.
    record_defaults.emplace_back(*value.Reshaped(TensorShape({value.NumElements()})));
  }
  const Output variant =
      ops::CSVDatasetV2(scope, FileNames(scope, files), Tensor::Scalar<tstring>(options.file.compression),
                        options.file.buffer_size, Tensor::Scalar<bool>(options.header),
                        Tensor::Scalar<tstring>(options.field_delim), Tensor::Scalar<bool>(options.use_quote_delim),
                        Tensor::Scalar<tstring>(options.na_value), Tensor::Vector<int64_t>(options.select_cols),
                        record_defaults, Tensor::Vector<int64_t>(std::vector<int64_t>()), element.shapes);
  return Dataset(scope, variant, std::move(element));
}

Dataset Dataset::Zip(const std::vector<Dataset>& datasets) {
  if (datasets.empty() || !datasets[0].usable()) return datasets.empty() ? Dataset() : datasets[0];
  InputList variants;
  TensorSpecs element;
  for (const Dataset& dataset : datasets) {
    if (!dataset.valid()) {
      datasets[0].scope().UpdateStatus(errors::InvalidArgument("A dataset to zip was never built"));
      return Dataset(datasets[0].scope(), Output(), {});
    }
    variants.emplace_back(dataset.variant());
    element.types.insert(element.types.end(), dataset.types().begin(), dataset.types().end());
    element.shapes.insert(element.shapes.end(), dataset.shapes().begin(), dataset.shapes().end());
  }
  const Output variant = ops::ZipDataset(datasets[0].scope(), variants, element.types, element.shapes);
  return datasets[0].With(variant, std::move(element));
}

}  // namespace weir
