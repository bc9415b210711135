// Datasets that flatten by index: index_flat_map, the inputs of a weighted mix one after the other, and WindowOp, whose
// elements are its inputs.
#include <algorithm>
#include <limits>

#include "absl/strings/str_join.h"
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/element_list.h"
#include "kernels/data/family.h"

namespace weir {
namespace {

// --- WindowOp ---

class WindowKernel : public DatasetKernel {
 protected:
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    const Element tensors = inputs.List("inputs");
    const DataTypeVector& types = inputs.node().output_types();
    std::vector<Element> elements;
    // What is left over makes no element.
    for (size_t i = 0; i + types.size() <= tensors.size(); i += types.size()) {
      elements.emplace_back(tensors.begin() + i, tensors.begin() + i + types.size());
      RETURN_IF_ERROR(CheckElement(elements.back(), types));
    }
    return std::make_shared<ElementListDataset>("Window", types, inputs.node().output_shapes(), std::move(elements));
  }
};

// --- IndexFlatMap ---

// A function makes tensors of each element of the input. Another tells of each element of the result which of them it
// comes from, and which row of its tensors it is; a scalar stands for all its rows.
class IndexFlatMapDataset : public UnaryDataset {
 public:
  IndexFlatMapDataset(const DatasetPtr& input, const NodeArguments& node, CapturedFunction map,
                      CapturedFunction index_map, int64_t cardinality)
      : UnaryDataset("IndexFlatMap", input, node.output_types(), node.output_shapes()),
        map_(std::move(map)),
        index_map_(std::move(index_map)),
        cardinality_(cardinality) {}
  int64_t CountElements(IteratorContext*) const override { return cardinality_; }
  absl::Status CheckGlobalShuffle() const override { return CheckInputsGlobalShuffle(); }

 protected:
  absl::Status GetElement(IteratorContext& ctx, int64_t index, Element* element) const override {
    ASSIGN_OR_RETURN(const Place place, PlaceOf(ctx, index));
    Element args;
    RETURN_IF_ERROR(input()->Get(ctx, place.element, &args));
    ASSIGN_OR_RETURN(const Element mapped, map_.Call(ctx, std::move(args)));
    return TakeRow(ctx, mapped, place.row, element);
  }
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  struct Place {
    int64_t element = 0, row = 0;
  };

  absl::StatusOr<Place> PlaceOf(IteratorContext& ctx, int64_t index) const {
    ASSIGN_OR_RETURN(const Element found, index_map_.Call(ctx, {Tensor::Scalar<int64_t>(index)}));
    if (found.size() != 2) {
      std::vector<std::string> got;
      for (const Tensor& tensor : found) got.push_back(tensor.DebugString());
      return errors::InvalidArgument(
          "The `index_map_fn` for `index_flat_map` is expected to return two int values representing the element index "
          "and an offset within the element. Got: {",
          absl::StrJoin(got, ", "), "}");
    }
    Place place;
    ASSIGN_OR_RETURN(place.element, ValueOf(found[0]));
    ASSIGN_OR_RETURN(place.row, ValueOf(found[1]));
    return place;
  }
  static absl::StatusOr<int64_t> ValueOf(const Tensor& tensor) {
    if (tensor.NumElements() == 1 && tensor.dtype() == DT_INT64) return tensor.flat<int64_t>()[0];
    if (tensor.NumElements() == 1 && tensor.dtype() == DT_INT32) return tensor.flat<int32_t>()[0];
    return errors::InvalidArgument(
        "The `index_map_fn` for `index_flat_map` is expected to return two int values representing the element index "
        "and an offset within the element. Got: ",
        tensor.DebugString());
  }

  absl::Status TakeRow(IteratorContext& ctx, const Element& mapped, int64_t row, Element* element) const {
    element->clear();
    for (const Tensor& tensor : mapped) {
      if (tensor.dims() == 0) {
        element->push_back(tensor);
        continue;
      }
      if (row < 0 || row >= tensor.dim_size(0)) {
        return errors::InvalidArgument("The `index_map_fn` for `index_flat_map` gives offset ", row,
                                       " in a tensor of shape ", tensor.shape().ToString());
      }
      ASSIGN_OR_RETURN(element->emplace_back(), tensor.SubSlice(row).DeepCopy(ctx.allocator()));
    }
    return CheckElement(*element, output_types());
  }

  class Iterator : public UnaryIterator<IndexFlatMapDataset> {
   public:
    using UnaryIterator::UnaryIterator;
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      ASSIGN_OR_RETURN(const Place place, dataset().PlaceOf(ctx, next_));
      if (mapped_.empty() || place.element > mapped_index_) {
        Element args;
        ASSIGN_OR_RETURN(const bool more, input_->GetNext(ctx, &args));
        if (!more) return false;
        ASSIGN_OR_RETURN(mapped_, dataset().map_.Call(ctx, std::move(args)));
        mapped_index_ = place.element;
      }
      RETURN_IF_ERROR(dataset().TakeRow(ctx, mapped_, place.row, element));
      ++next_;
      return true;
    }
    absl::Status SaveState(IteratorContext&, StateWriter) override {
      return errors::Unimplemented("An iterator of index_flat_map cannot be saved.");
    }
    absl::Status RestoreState(IteratorContext&, const StateReader&) override {
      return errors::Unimplemented("An iterator of index_flat_map cannot be restored.");
    }

   private:
    int64_t next_ = 0;
    int64_t mapped_index_ = 0;
    Element mapped_;  // of the input's current element
  };

  const CapturedFunction map_, index_map_;
  const int64_t cardinality_;
};

class IndexFlatMapKernel : public DatasetKernel {
 protected:
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    ASSIGN_OR_RETURN(const int64_t cardinality, inputs.Int("output_cardinality"));
    return std::make_shared<IndexFlatMapDataset>(
        input, inputs.node(), inputs.Function("map_func", "map_func_other_args"),
        inputs.Function("index_map_func", "index_map_func_other_args"), std::max(cardinality, kUnknownCardinality));
  }
};

// --- WeightedFlatMap ---

// So many elements of each input that one of them is used up and their numbers are as the weights.
absl::StatusOr<std::vector<int64_t>> WeightedCounts(const std::vector<double>& weights,
                                                    const std::vector<int64_t>& sizes) {
  const double greatest = *std::max_element(weights.begin(), weights.end());
  double least = std::numeric_limits<double>::max();
  size_t scarcest = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const double scaled = static_cast<double>(sizes[i]) * weights[i] / greatest;
    if (scaled < least) {
      least = scaled;
      scarcest = i;
    }
  }
  std::vector<int64_t> counts;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const double count = least * weights[i] / weights[scarcest];
    if (!(count < static_cast<double>(sizes[i]) + 1)) {
      return errors::InvalidArgument("Input ", i, " needs to have at least ", count, " elements. It only has ",
                                     sizes[i], " elements.");
    }
    counts.push_back(static_cast<int64_t>(count));
  }
  return counts;
}

class WeightedFlatMapDataset : public DatasetBase {
 public:
  WeightedFlatMapDataset(const NodeArguments& node, std::vector<DatasetPtr> inputs, std::vector<int64_t> counts)
      : DatasetBase({"WeightedFlatMap", node.output_types(), node.output_shapes(), std::move(inputs)}),
        counts_(std::move(counts)) {}
  int64_t CountElements(IteratorContext*) const override {
    int64_t sum = 0;
    for (const int64_t count : counts_) sum = sum > INT64_MAX - count ? INT64_MAX : sum + count;
    return sum;
  }

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public NaryIterator<WeightedFlatMapDataset> {
   public:
    using NaryIterator::NaryIterator;
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      while (current_ < inputs_.size() && taken_ >= dataset().counts_[current_]) {
        ++current_;
        taken_ = 0;
      }
      if (current_ == inputs_.size()) return false;
      ++taken_;
      return inputs_[current_]->GetNext(ctx, element);
    }
    absl::Status SaveState(IteratorContext& ctx, StateWriter writer) override {
      writer.Int("current", static_cast<int64_t>(current_));
      writer.Int("taken", taken_);
      return NaryIterator::SaveState(ctx, writer);
    }
    absl::Status RestoreState(IteratorContext& ctx, const StateReader& reader) override {
      ASSIGN_OR_RETURN(current_, reader.Int("current", 0, static_cast<int64_t>(inputs_.size())));
      ASSIGN_OR_RETURN(taken_, reader.Int("taken"));
      return NaryIterator::RestoreState(ctx, reader);
    }

   private:
    size_t current_ = 0;
    int64_t taken_ = 0;  // of the current input
  };

  const std::vector<int64_t> counts_;  // of the elements of each input that are used
};

class WeightedFlatMapKernel : public DatasetKernel {
 protected:
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(std::vector<DatasetPtr> datasets, inputs.Datasets("input_datasets"));
    std::vector<double> weights;
    for (const Tensor& weight : inputs.List("weights")) {
      if (weight.dtype() != DT_DOUBLE || weight.NumElements() != 1) {
        return errors::InvalidArgument("`weights` must be scalars");
      }
      weights.push_back(weight.flat<double>()[0]);
    }
    if (datasets.size() != weights.size()) {
      return errors::InvalidArgument("`input_datasets` and `weights` of the WeightedFlatMap must have the same size. ",
                                     "Got ", datasets.size(), " datasets and ", weights.size(), " weights.");
    }
    std::vector<int64_t> sizes;
    for (size_t i = 0; i < datasets.size(); ++i) {
      if (!(weights[i] > 0)) {
        return errors::InvalidArgument("`weights` must be greater than 0.0. Input ", i, " has a weight of ",
                                       weights[i]);
      }
      RETURN_IF_ERROR(CheckTypesMatch(inputs.node().output_types(), datasets[i]->output_types()));
      sizes.push_back(datasets[i]->Cardinality());
      if (sizes[i] >= 0) continue;
      return errors::InvalidArgument("Cardinalities of the inputs must be known. Input ", i, " has ",
                                     sizes[i] == kInfiniteCardinality ? "INFINITE" : "UNKNOWN", " cardinality.");
    }
    ASSIGN_OR_RETURN(std::vector<int64_t> counts, WeightedCounts(weights, sizes));
    return std::make_shared<WeightedFlatMapDataset>(inputs.node(), std::move(datasets), std::move(counts));
  }
};

}  // namespace

absl::Status RegisterFlatteningKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<WindowKernel>(Kernel("WindowOp").Cpu()));
  RETURN_IF_ERROR(kernels.Register<IndexFlatMapKernel>(Kernel("IndexFlatMapDataset").Cpu()));
  return kernels.Register<WeightedFlatMapKernel>(Kernel("WeightedFlatMapDataset").Cpu());
}

}  // namespace weir
