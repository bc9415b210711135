// sliding_window_batch: batches of the elements that a window sees as it moves over its input.
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/element_buffer.h"
#include "kernels/data/moving_window.h"
#include "kernels/data/rare_families.h"

namespace weir {
namespace {

class SlidingWindowDataset : public UnaryDataset {
 public:
  SlidingWindowDataset(const DatasetPtr& input, const NodeArguments& node, const WindowOptions& options)
      : UnaryDataset("SlidingWindow", input, node.output_types(), node.output_shapes()), options_(options) {}

  int64_t Cardinality() const override { return options_.Cardinality(input()->Cardinality()); }

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public UnaryIterator<SlidingWindowDataset> {
   public:
    explicit Iterator(std::shared_ptr<const SlidingWindowDataset> dataset)
        : UnaryIterator(std::move(dataset)), window_(this->dataset().options_) {}
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      ASSIGN_OR_RETURN(const bool more, window_.Fill(ctx, *input_, dataset().input()->output_types()));
      if (!more) return false;
      const std::vector<Element> seen = window_.Seen();
      RETURN_IF_ERROR(window_.Advance(ctx, *input_));
      ASSIGN_OR_RETURN(*element, StackElements(ctx, seen));
      return true;
    }
    absl::Status SaveState(IteratorContext& ctx, StateWriter writer) override {
      window_.Save(writer);
      return UnaryIterator::SaveState(ctx, writer);
    }
    absl::Status RestoreState(IteratorContext& ctx, const StateReader& reader) override {
      RETURN_IF_ERROR(window_.Restore(reader, dataset().input()->output_types()));
      return UnaryIterator::RestoreState(ctx, reader);
    }

   private:
    MovingWindow window_;
  };

  const WindowOptions options_;
};

class SlidingWindowKernel : public DatasetKernel {
 protected:
  absl::Status InitDataset(OpKernelConstruction& ctx) override {
    return ctx.HasAttr("drop_remainder") ? ctx.GetAttr("drop_remainder", &drop_remainder_) : absl::OkStatus();
  }
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    WindowOptions options;
    options.drop_remainder = drop_remainder_;
    ASSIGN_OR_RETURN(options.size, inputs.Int("window_size"));
    ASSIGN_OR_RETURN(options.shift, inputs.Int("window_shift"));
    ASSIGN_OR_RETURN(options.stride, inputs.Int("window_stride"));
    RETURN_IF_ERROR(options.Check("window_stride"));
    return std::make_shared<SlidingWindowDataset>(input, inputs.node(), options);
  }

 private:
  bool drop_remainder_ = true;
};

}  // namespace

absl::Status RegisterSlidingWindowKernels(KernelRegistry& kernels) {
  for (const char* op : {"SlidingWindowDataset", "ExperimentalSlidingWindowDataset"}) {
    RETURN_IF_ERROR(kernels.Register<SlidingWindowKernel>(Kernel(op).Cpu()));
  }
  return absl::OkStatus();
}

}  // namespace weir
