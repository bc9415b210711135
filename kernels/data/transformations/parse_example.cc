// parse_example_dataset: batches of serialised examples become their features.
#include <map>

#include "core/tensor/tensor_variant.h"
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/family.h"
#include "kernels/data/map_function.h"
#include "kernels/parsing/example_batch.h"
#include "kernels/ragged/ragged_variant.h"

namespace weir {
namespace {

enum class Kind { kSparse, kDense, kRagged };
// A feature by its key: components of an element are in the order of keys.
using Places = std::map<std::string, std::pair<Kind, size_t>>;

class ParseExampleDataset : public UnaryDataset {
 public:
  ParseExampleDataset(const DatasetPtr& input, const NodeArguments& node, FeatureSpecs specs, Places places)
      : UnaryDataset("ParseExample", input, node.output_types(), node.output_shapes()),
        specs_(std::move(specs)),
        places_(std::move(places)) {}
  int64_t CountElements(IteratorContext* ctx) const override { return input()->CountElements(ctx); }

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  absl::Status Parse(IteratorContext& ctx, const Element& batch, Element* element) const {
    RETURN_IF_ERROR(CheckElement(batch, input()->output_types()));
    ASSIGN_OR_RETURN(const ParsedBatch parsed, ParseExampleBatch(ctx.device(), specs_, batch[0]));
    element->clear();
    for (const auto& [key, place] : places_) {
      switch (place.first) {
        case Kind::kSparse: {
          const ParsedBatch::Sparse& sparse = parsed.sparse[place.second];
          Tensor serialized(DT_VARIANT, TensorShape({3}));
          serialized.data<Variant>()[0] = MakeTensorVariant(sparse.indices);
          serialized.data<Variant>()[1] = MakeTensorVariant(sparse.values);
          serialized.data<Variant>()[2] = MakeTensorVariant(sparse.shape);
          element->push_back(std::move(serialized));
          break;
        }
        case Kind::kDense:
          element->push_back(parsed.dense[place.second]);
          break;
        case Kind::kRagged: {
          const ParsedBatch::Ragged& ragged = parsed.ragged[place.second];
          element->push_back(Tensor::Scalar(
              Variant(std::make_shared<RaggedVariant>(std::vector<Tensor>{ragged.splits}, ragged.values))));
          break;
        }
      }
    }
    return CheckElement(*element, output_types());
  }

  class Iterator : public UnaryIterator<ParseExampleDataset> {
   public:
    using UnaryIterator::UnaryIterator;
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      Element batch;
      ASSIGN_OR_RETURN(const bool more, input_->GetNext(ctx, &batch));
      if (!more) return false;
      RETURN_IF_ERROR(dataset().Parse(ctx, batch, element));
      return true;
    }
  };

  const FeatureSpecs specs_;
  const Places places_;
};

class ParseExampleKernel : public DatasetKernel {
 protected:
  absl::Status InitDataset(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ReadFeatures(ctx, "sparse_keys", "sparse_types", Kind::kSparse, &specs_.sparse));
    RETURN_IF_ERROR(ReadFeatures(ctx, "dense_keys", "Tdense", Kind::kDense, &specs_.dense));
    const bool has_ragged = ctx.HasAttr("ragged_keys");  // not in its first version
    if (has_ragged) {
      RETURN_IF_ERROR(ReadFeatures(ctx, "ragged_keys", "ragged_value_types", Kind::kRagged, &specs_.ragged));
    }
    RETURN_IF_ERROR(ctx.GetAttr("dense_shapes", &shapes_));
    if (shapes_.size() != specs_.dense.size()) {
      return errors::InvalidArgument("len(dense_keys) != len(dense_shapes): ", specs_.dense.size(), " vs. ",
                                     shapes_.size());
    }
    DataTypeVector splits;
    if (has_ragged) RETURN_IF_ERROR(ctx.GetAttr("ragged_split_types", &splits));
    if (splits.size() != specs_.ragged.size()) {
      return errors::InvalidArgument("len(ragged_keys) != len(ragged_split_types): ", specs_.ragged.size(), " vs. ",
                                     splits.size());
    }
    for (size_t i = 0; i < splits.size(); ++i) specs_.ragged[i].splits_type = splits[i];
    return absl::OkStatus();
  }

  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    RETURN_IF_ERROR(ParallelCalls(inputs).status());
    if (input->output_types() != DataTypeVector{DT_STRING}) {
      return errors::InvalidArgument("Input dataset should be a dataset of vectors of strings");
    }
    if (inputs.node().output_types().size() != places_.size()) {
      return errors::InvalidArgument("The dataset has ", inputs.node().output_types().size(), " components, its keys ",
                                     "ask for ", places_.size());
    }
    const Element defaults = inputs.List("dense_defaults");
    if (defaults.size() != specs_.dense.size()) {
      return errors::InvalidArgument("Expected len(dense_defaults) == len(dense_keys) but got: ", defaults.size(),
                                     " vs. ", specs_.dense.size());
    }
    FeatureSpecs specs = specs_;
    for (size_t i = 0; i < defaults.size(); ++i) {
      RETURN_IF_ERROR(specs.dense[i].Init(shapes_[i], defaults[i], static_cast<int>(i)));
    }
    return std::make_shared<ParseExampleDataset>(input, inputs.node(), std::move(specs), places_);
  }

 private:
  template <typename Spec>
  absl::Status ReadFeatures(OpKernelConstruction& ctx, const char* keys_attr, const char* types_attr, Kind kind,
                            std::vector<Spec>* specs) {
    std::vector<std::string> keys;
    DataTypeVector types;
    RETURN_IF_ERROR(ctx.GetAttr(keys_attr, &keys));
    RETURN_IF_ERROR(ctx.GetAttr(types_attr, &types));
    if (keys.size() != types.size()) {
      return errors::InvalidArgument("len(", keys_attr, ") != len(", types_attr, "): ", keys.size(), " vs. ",
                                     types.size());
    }
    specs->resize(keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      if (types[i] != DT_FLOAT && types[i] != DT_INT64 && types[i] != DT_STRING) {
        return errors::InvalidArgument("Unsupported feature type ", DataTypeName(types[i]));
      }
      (*specs)[i].key = keys[i];
      (*specs)[i].type = types[i];
      if (!places_.emplace(keys[i], std::pair(kind, i)).second) {
        return errors::InvalidArgument("The key ", keys[i], " occurs twice");
      }
    }
    return absl::OkStatus();
  }

  FeatureSpecs specs_;
  Places places_;
  std::vector<PartialTensorShape> shapes_;
};

}  // namespace

absl::Status RegisterParseExampleDatasetKernels(KernelRegistry& kernels) {
  for (const char* op : {"ParseExampleDataset", "ParseExampleDatasetV2", "ExperimentalParseExampleDataset"}) {
    RETURN_IF_ERROR(kernels.Register<ParseExampleKernel>(Kernel(op).Cpu()));
  }
  return absl::OkStatus();
}

}  // namespace weir
