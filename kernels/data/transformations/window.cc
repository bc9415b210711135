// window: datasets of the elements that a window sees as it moves over its input.
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/element_list.h"
#include "kernels/data/family.h"
#include "kernels/data/transformations/moving_window.h"

namespace weir {
namespace {

// Of each component, a dataset of its elements.
absl::StatusOr<Element> Datasets(IteratorContext&, const DatasetBase& input, std::vector<Element> seen) {
  Element windows;
  for (size_t c = 0; c < input.output_types().size(); ++c) {
    std::vector<Element> elements;
    for (const Element& element : seen) elements.push_back({element[c]});
    windows.push_back(DatasetTensor(
        std::make_shared<ElementListDataset>("Window", DataTypeVector{input.output_types()[c]},
                                             std::vector{input.output_shapes()[c]}, std::move(elements))));
  }
  return windows;
}

class WindowKernel : public DatasetKernel {
 protected:
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    WindowOptions options{.errors_take_a_place = true};
    ASSIGN_OR_RETURN(options.size, inputs.Int("size"));
    ASSIGN_OR_RETURN(options.shift, inputs.Int("shift"));
    ASSIGN_OR_RETURN(options.stride, inputs.Int("stride"));
    ASSIGN_OR_RETURN(options.drop_remainder, inputs.Bool("drop_remainder"));
    RETURN_IF_ERROR(options.Check("Window stride"));
    const size_t components = input->output_types().size();
    return NewMovingWindowDataset("Window", input, DataTypeVector(components, DT_VARIANT),
                                  std::vector<PartialTensorShape>(components, TensorShape()), options, Datasets);
  }
};

}  // namespace

absl::Status RegisterWindowKernels(KernelRegistry& kernels) {
  return kernels.Register<WindowKernel>(Kernel("WindowDataset").Cpu());
}

}  // namespace weir
