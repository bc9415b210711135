// scan: a map that carries a state along.
#include "kernels/data/family.h"
#include "kernels/data/map_function.h"

namespace weir {
namespace {

class ScanDataset : public UnaryDataset {
 public:
  ScanDataset(const DatasetPtr& input, const NodeArguments& node, Element initial, MapFunction map)
      : UnaryDataset("Scan", input, node.output_types(), node.output_shapes()),
        initial_(std::move(initial)),
        map_(std::move(map)) {
    for (const Tensor& tensor : initial_) types_.push_back(tensor.dtype());
    for (DataType dtype : node.output_types()) types_.push_back(dtype);
  }
  int64_t CountElements(IteratorContext* ctx) const override { return map_.CountElements(ctx, *input()); }

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public UnaryIterator<ScanDataset> {
   public:
    using UnaryIterator::UnaryIterator;
    absl::Status Initialize(IteratorContext& ctx) override {
      state_ = dataset().initial_;
      return UnaryIterator::Initialize(ctx);
    }
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      Element next;
      ASSIGN_OR_RETURN(const bool more, input_->GetNext(ctx, &next));
      if (!more) return false;
      Element args = state_, results;
      std::move(next.begin(), next.end(), std::back_inserter(args));
      const MapFunction& map = dataset().map_;
      ASSIGN_OR_RETURN(const bool goes_on,
                       map.Finish(map.function.Call(ctx, std::move(args)), dataset().types_, &results));
      if (!goes_on) return false;
      const auto outputs = results.begin() + static_cast<int64_t>(state_.size());
      element->assign(std::make_move_iterator(outputs), std::make_move_iterator(results.end()));
      results.erase(outputs, results.end());
      state_ = std::move(results);
      return true;
    }
    absl::Status SaveState(IteratorContext& ctx, StateWriter writer) override {
      writer.Tensors("state", state_);
      return UnaryIterator::SaveState(ctx, writer);
    }
    absl::Status RestoreState(IteratorContext& ctx, const StateReader& reader) override {
      const DataTypeVector& types = dataset().types_;
      ASSIGN_OR_RETURN(
          state_, reader.Tensors("state", DataTypeVector(types.begin(), types.begin() + dataset().initial_.size())));
      return UnaryIterator::RestoreState(ctx, reader);
    }

   private:
    Element state_;
  };

  const Element initial_;
  const MapFunction map_;
  DataTypeVector types_;  // of the function's results: the state's, then the element's
};

class ScanKernel : public DatasetKernel {
 protected:
  absl::Status InitDataset(OpKernelConstruction& ctx) override {
    return ctx.GetAttr("preserve_cardinality", &preserve_cardinality_);
  }
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    return std::make_shared<ScanDataset>(input, inputs.node(), inputs.List("initial_state"),
                                         MapFunction{inputs.Function("f", "other_arguments"), preserve_cardinality_});
  }

 private:
  bool preserve_cardinality_ = false;
};

}  // namespace

absl::Status RegisterScanDatasetKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<ScanKernel>(Kernel("ScanDataset").Cpu()));
  return kernels.Register<ScanKernel>(Kernel("ExperimentalScanDataset").Cpu());
}

}  // namespace weir
