// sliding_window_batch: batches of the elements that a window sees as it moves over its input.
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/element_buffer.h"
#include "kernels/data/family.h"
#include "kernels/data/transformations/moving_window.h"

namespace weir {
namespace {

absl::StatusOr<Element> Batch(IteratorContext& ctx, const DatasetBase&, std::vector<Element> seen) {
  return StackElements(ctx, seen);
}

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
    return NewMovingWindowDataset("SlidingWindow", input, inputs.node().output_types(), inputs.node().output_shapes(),
                                  options, Batch);
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
