// Datasets made from several: zip, concatenate, directed_interleave.
#include <algorithm>

#include "kernels/data/dataset_kernel.h"
#include "kernels/data/family.h"

namespace weir {
namespace {

// What both shapes allow: dimensions that differ are unknown.
PartialTensorShape Common(const PartialTensorShape& a, const PartialTensorShape& b) {
  if (a.unknown_rank() || b.unknown_rank() || a.dims() != b.dims()) return PartialTensorShape();
  DimVector dims(a.dim_sizes().begin(), a.dim_sizes().end());
  for (int i = 0; i < a.dims(); ++i) {
    if (dims[i] != b.dim_size(i)) dims[i] = -1;
  }
  absl::StatusOr<PartialTensorShape> shape = PartialTensorShape::Build(dims);
  return shape.ok() ? *shape : PartialTensorShape();
}

std::vector<PartialTensorShape> CommonShapes(const std::vector<DatasetPtr>& datasets) {
  std::vector<PartialTensorShape> shapes = datasets[0]->output_shapes();
  for (const DatasetPtr& dataset : datasets) {
    const std::vector<PartialTensorShape>& others = dataset->output_shapes();
    for (size_t i = 0; i < std::min(shapes.size(), others.size()); ++i) shapes[i] = Common(shapes[i], others[i]);
  }
  return shapes;
}

// --- Zip ---

DatasetBase::Spec ZipSpec(std::vector<DatasetPtr> inputs) {
  DatasetBase::Spec spec{"Zip", {}, {}, {}};
  for (const DatasetPtr& input : inputs) {
    spec.output_types.insert(spec.output_types.end(), input->output_types().begin(), input->output_types().end());
    spec.output_shapes.insert(spec.output_shapes.end(), input->output_shapes().begin(), input->output_shapes().end());
  }
  spec.inputs = std::move(inputs);
  return spec;
}

class ZipDataset : public DatasetBase {
 public:
  explicit ZipDataset(std::vector<DatasetPtr> inputs) : DatasetBase(ZipSpec(std::move(inputs))) {}

  int64_t CountElements(IteratorContext* ctx) const override {
    int64_t result = kInfiniteCardinality;
    for (const DatasetPtr& input : inputs()) {
      const int64_t n = input->CountElements(ctx);
      if (n == kUnknownCardinality) return n;
      if (n != kInfiniteCardinality && (result == kInfiniteCardinality || n < result)) result = n;
    }
    return result;
  }
  bool HasRandomAccess() const override { return true; }
  absl::Status CheckGlobalShuffle() const override { return CheckInputsGlobalShuffle(); }

 protected:
  absl::Status GetElement(IteratorContext& ctx, int64_t index, Element* element) const override {
    element->clear();
    for (const DatasetPtr& input : inputs()) {
      Element part;
      RETURN_IF_ERROR(input->Get(ctx, index, &part));
      element->insert(element->end(), part.begin(), part.end());
    }
    return absl::OkStatus();
  }
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public NaryIterator<ZipDataset> {
   public:
    using NaryIterator::NaryIterator;
    // After an error in one input the others are advanced too, so that they stay side by side.
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      element->clear();
      absl::Status status;
      for (const IteratorPtr& input : inputs_) {
        Element part;
        absl::StatusOr<bool> more = input->GetNext(ctx, &part);
        if (more.ok() && !*more) return status.ok() ? absl::StatusOr<bool>(false) : status;
        status.Update(more.status());
        std::move(part.begin(), part.end(), std::back_inserter(*element));
      }
      RETURN_IF_ERROR(status);
      return true;
    }
  };
};

class ZipKernel : public DatasetKernel {
 protected:
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(std::vector<DatasetPtr> datasets, inputs.Datasets("input_datasets"));
    return std::make_shared<ZipDataset>(std::move(datasets));
  }
};

// --- Concatenate ---

class ConcatenateDataset : public DatasetBase {
 public:
  explicit ConcatenateDataset(const std::vector<DatasetPtr>& inputs)
      : DatasetBase({"Concatenate", inputs[0]->output_types(), CommonShapes(inputs), inputs}) {}

  int64_t CountElements(IteratorContext* ctx) const override {
    const int64_t a = inputs()[0]->CountElements(ctx), b = inputs()[1]->CountElements(ctx);
    if (a == kInfiniteCardinality || b == kInfiniteCardinality) return kInfiniteCardinality;
    if (a < 0 || b < 0) return kUnknownCardinality;
    return a > INT64_MAX - b ? INT64_MAX : a + b;
  }
  bool HasRandomAccess() const override { return true; }
  absl::Status CheckGlobalShuffle() const override { return CheckInputsGlobalShuffle(); }

 protected:
  absl::Status GetElement(IteratorContext& ctx, int64_t index, Element* element) const override {
    const int64_t first = inputs()[0]->Cardinality();
    return index < first ? inputs()[0]->Get(ctx, index, element) : inputs()[1]->Get(ctx, index - first, element);
  }
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public DatasetIterator<ConcatenateDataset> {
   public:
    using DatasetIterator::DatasetIterator;
    absl::Status Initialize(IteratorContext& ctx) override {
      ASSIGN_OR_RETURN(current_, dataset().inputs()[0]->MakeIterator(ctx));
      return absl::OkStatus();
    }
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      for (;;) {
        ASSIGN_OR_RETURN(const bool more, current_->GetNext(ctx, element));
        if (more || index_ == 1) return more;
        index_ = 1;
        ASSIGN_OR_RETURN(current_, dataset().inputs()[1]->MakeIterator(ctx));
      }
    }
    absl::Status SaveState(IteratorContext& ctx, StateWriter writer) override {
      writer.Int("index", index_);
      return current_->Save(ctx, writer.Scope("input"));
    }
    absl::Status RestoreState(IteratorContext& ctx, const StateReader& reader) override {
      ASSIGN_OR_RETURN(index_, reader.Int("index", 0, 1));
      ASSIGN_OR_RETURN(current_, dataset().inputs()[index_]->MakeIterator(ctx));
      return current_->Restore(ctx, reader.Scope("input"));
    }

   private:
    int64_t index_ = 0;
    IteratorPtr current_;
  };
};

class ConcatenateKernel : public DatasetKernel {
 protected:
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr first, inputs.Dataset("input_dataset"));
    ASSIGN_OR_RETURN(DatasetPtr second, inputs.Dataset("another_dataset"));
    if (first->output_types() != second->output_types()) {
      return errors::InvalidArgument("input dataset and dataset to concatenate have different output_types ",
                                     DataTypeListName(first->output_types()), " and ",
                                     DataTypeListName(second->output_types()));
    }
    return std::make_shared<ConcatenateDataset>(std::vector<DatasetPtr>{first, second});
  }
};

// --- DirectedInterleave ---

// Each element of input 0 picks the input that yields the next element.
class DirectedInterleaveDataset : public DatasetBase {
 public:
  DirectedInterleaveDataset(const DatasetPtr& selector, std::vector<DatasetPtr> inputs, bool stop_on_empty)
      : DatasetBase(MakeSpec(selector, std::move(inputs))), stop_on_empty_(stop_on_empty) {}

  int64_t CountElements(IteratorContext* ctx) const override {
    for (size_t i = 1; i < inputs().size(); ++i) {
      if (inputs()[i]->CountElements(ctx) == kInfiniteCardinality) return kInfiniteCardinality;
    }
    return kUnknownCardinality;
  }

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  static Spec MakeSpec(const DatasetPtr& selector, std::vector<DatasetPtr> inputs) {
    Spec spec{"DirectedInterleave", inputs[0]->output_types(), CommonShapes(inputs), {selector}};
    spec.inputs.insert(spec.inputs.end(), inputs.begin(), inputs.end());
    return spec;
  }

  class Iterator : public NaryIterator<DirectedInterleaveDataset> {
   public:
    using NaryIterator::NaryIterator;
    absl::Status Initialize(IteratorContext& ctx) override {
      RETURN_IF_ERROR(NaryIterator::Initialize(ctx));
      active_ = static_cast<int64_t>(inputs_.size()) - 1;
      return absl::OkStatus();
    }
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      while (active_ > 0) {
        Element choice;
        ASSIGN_OR_RETURN(const bool chosen, inputs_[0]->GetNext(ctx, &choice));
        if (!chosen) return false;
        if (choice.size() != 1 || choice[0].dtype() != DT_INT64 || choice[0].NumElements() != 1) {
          return errors::InvalidArgument("The selector input must be a dataset of scalar int64 elements.");
        }
        const int64_t index = *choice[0].data<int64_t>();
        if (index < 0 || index >= static_cast<int64_t>(inputs_.size()) - 1) {
          return errors::InvalidArgument("Selector index out of range: ", index,
                                         " >= ", static_cast<int64_t>(inputs_.size()) - 1);
        }
        IteratorPtr& input = inputs_[index + 1];
        if (input == nullptr) continue;
        ASSIGN_OR_RETURN(const bool more, input->GetNext(ctx, element));
        if (more) return true;
        if (dataset().stop_on_empty_) return false;
        input.reset();
        --active_;
      }
      return false;
    }
    absl::Status SaveState(IteratorContext& ctx, StateWriter writer) override {
      for (size_t i = 0; i < inputs_.size(); ++i) {
        RETURN_IF_ERROR(SaveOptional(ctx, writer, absl::StrCat("input", i), inputs_[i].get()));
      }
      return absl::OkStatus();
    }
    absl::Status RestoreState(IteratorContext& ctx, const StateReader& reader) override {
      active_ = 0;
      for (size_t i = 0; i < inputs_.size(); ++i) {
        RETURN_IF_ERROR(RestoreOptional(ctx, reader, absl::StrCat("input", i), *dataset().inputs()[i], &inputs_[i]));
        if (i > 0 && inputs_[i] != nullptr) ++active_;
      }
      if (inputs_[0] == nullptr) return errors::InvalidArgument("The saved state has no selector");
      return absl::OkStatus();
    }

   private:
    int64_t active_ = 0;  // inputs that may have more; one that has none is null
  };

  const bool stop_on_empty_;
};

class DirectedInterleaveKernel : public DatasetKernel {
 protected:
  absl::Status InitDataset(OpKernelConstruction& ctx) override {
    return ctx.HasAttr("stop_on_empty_dataset") ? ctx.GetAttr("stop_on_empty_dataset", &stop_on_empty_)
                                                : absl::OkStatus();
  }
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr selector, inputs.Dataset("selector_input_dataset"));
    if (selector->output_types() != DataTypeVector{DT_INT64} ||
        !selector->output_shapes()[0].IsCompatibleWith(TensorShape())) {
      return errors::InvalidArgument("The selector input must be a dataset of scalar int64 elements.");
    }
    ASSIGN_OR_RETURN(std::vector<DatasetPtr> datasets, inputs.Datasets("data_input_datasets"));
    for (size_t i = 1; i < datasets.size(); ++i) {
      if (datasets[i]->output_types() == datasets[0]->output_types()) continue;
      return errors::InvalidArgument("All inputs must have the same output_types. Input ", i, " has other types.");
    }
    return std::make_shared<DirectedInterleaveDataset>(selector, std::move(datasets), stop_on_empty_);
  }

 private:
  bool stop_on_empty_ = false;
};

}  // namespace

absl::Status RegisterCombiningKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<ZipKernel>(Kernel("ZipDataset").Cpu()));
  RETURN_IF_ERROR(kernels.Register<ConcatenateKernel>(Kernel("ConcatenateDataset").Cpu()));
  RETURN_IF_ERROR(kernels.Register<DirectedInterleaveKernel>(Kernel("DirectedInterleaveDataset").Cpu()));
  return kernels.Register<DirectedInterleaveKernel>(Kernel("ExperimentalDirectedInterleaveDataset").Cpu());
}

}  // namespace weir
