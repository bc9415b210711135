// window: datasets of the elements that a window sees as it moves over its input.
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/element_list.h"
#include "kernels/data/families.h"
#include "kernels/data/moving_window.h"

namespace weir {
namespace {

class WindowDataset : public UnaryDataset {
 public:
  WindowDataset(const DatasetPtr& input, const WindowOptions& options)
      : UnaryDataset("Window", input, DataTypeVector(input->output_types().size(), DT_VARIANT),
                     std::vector<PartialTensorShape>(input->output_types().size(), TensorShape())),
        options_(options) {}

  int64_t Cardinality() const override { return options_.Cardinality(input()->Cardinality()); }

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public UnaryIterator<WindowDataset> {
   public:
    explicit Iterator(std::shared_ptr<const WindowDataset> dataset)
        : UnaryIterator(std::move(dataset)), window_(this->dataset().options_) {}
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      ASSIGN_OR_RETURN(const bool more, window_.Fill(ctx, *input_, dataset().input()->output_types()));
      if (!more) return false;
      *element = Contents();
      RETURN_IF_ERROR(window_.Advance(ctx, *input_));
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
    Element Contents() const {
      Element windows;
      const DatasetBase& input = *dataset().input();
      const std::vector<Element> seen = window_.Seen();
      for (size_t c = 0; c < input.output_types().size(); ++c) {
        std::vector<Element> elements;
        for (const Element& element : seen) elements.push_back({element[c]});
        windows.push_back(DatasetTensor(
            std::make_shared<ElementListDataset>("Window", DataTypeVector{input.output_types()[c]},
                                                 std::vector{input.output_shapes()[c]}, std::move(elements))));
      }
      return windows;
    }

    MovingWindow window_;
  };

  const WindowOptions options_;
};

class WindowKernel : public DatasetKernel {
 protected:
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    WindowOptions options;
    ASSIGN_OR_RETURN(options.size, inputs.Int("size"));
    ASSIGN_OR_RETURN(options.shift, inputs.Int("shift"));
    ASSIGN_OR_RETURN(options.stride, inputs.Int("stride"));
    ASSIGN_OR_RETURN(options.drop_remainder, inputs.Bool("drop_remainder"));
    RETURN_IF_ERROR(options.Check("Window stride"));
    return std::make_shared<WindowDataset>(input, options);
  }
};

}  // namespace

absl::Status RegisterWindowKernels(KernelRegistry& kernels) {
  return kernels.Register<WindowKernel>(Kernel("WindowDataset").Cpu());
}

}  // namespace weir
