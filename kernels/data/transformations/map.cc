// map, one element after the other.
#include "kernels/data/family.h"
#include "kernels/data/map_function.h"
#include "kernels/data/stateful_functions.h"

namespace weir {

absl::StatusOr<int64_t> ParallelCalls(const NodeInputs& inputs) {
  ASSIGN_OR_RETURN(const int64_t calls, inputs.Int("num_parallel_calls"));
  if (calls < 1 && calls != -1) return errors::InvalidArgument("num_parallel_calls must be greater than zero.");
  if (CallsInOrder(inputs)) return 1;
  return calls == -1 ? inputs.ctx().work_queue()->num_threads() : calls;
}

namespace {

class MapDataset : public UnaryDataset {
 public:
  MapDataset(const DatasetPtr& input, const NodeArguments& node, MapFunction map)
      : UnaryDataset("Map", input, node.output_types(), node.output_shapes()), map_(std::move(map)) {}
  int64_t CountElements(IteratorContext* ctx) const override { return map_.CountElements(ctx, *input()); }
  bool HasRandomAccess() const override { return true; }
  absl::Status CheckGlobalShuffle() const override { return CheckInputsGlobalShuffle(); }

 protected:
  absl::Status GetElement(IteratorContext& ctx, int64_t index, Element* element) const override {
    Element args;
    RETURN_IF_ERROR(input()->Get(ctx, index, &args));
    return map_.Get(ctx, *this, std::move(args), element);
  }
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public UnaryIterator<MapDataset> {
   public:
    using UnaryIterator::UnaryIterator;
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      Element args;
      ASSIGN_OR_RETURN(const bool more, input_->GetNext(ctx, &args));
      if (!more) return false;
      const MapFunction& map = dataset().map_;
      return map.Finish(InFunctionOf(dataset(), map.function.Call(ctx, std::move(args))), dataset().output_types(),
                        element);
    }
  };

  const MapFunction map_;
};

class MapKernel : public DatasetKernel {
 protected:
  absl::Status InitDataset(OpKernelConstruction& ctx) override {
    return ctx.GetAttr("preserve_cardinality", &preserve_cardinality_);
  }
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    return std::make_shared<MapDataset>(input, inputs.node(),
                                        MapFunction{inputs.Function("f", "other_arguments"), preserve_cardinality_});
  }

 private:
  bool preserve_cardinality_ = false;
};

}  // namespace

absl::Status RegisterMapKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<MapKernel>(Kernel("MapDataset").Cpu()));
  return kernels.Register<MapKernel>(Kernel("ExperimentalMapDataset").Cpu());
}

}  // namespace weir
