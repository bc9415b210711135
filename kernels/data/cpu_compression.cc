// CompressElement and UncompressElement.
#include "kernels/data/compressed_element.h"
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/family.h"

namespace weir {
namespace {

class CompressKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    Element element;
    for (int i = 0; i < ctx.num_inputs(); ++i) element.push_back(ctx.locked_input(i));
    ASSIGN_OR_RETURN(std::unique_ptr<CompressedElement> compressed, CompressedElement::Compress(element));
    ctx.set_output(0, Tensor::Scalar(Variant(std::move(compressed))));
    return absl::OkStatus();
  }
};

class UncompressKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (input.dims() != 0) {
      return errors::InvalidArgument(
          "UncompressElement requires its input to be a scalar, but encountered an input with ", input.dims(),
          " dimensions.");
    }
    const auto* compressed = input.scalar<Variant>().get<CompressedElement>();
    if (compressed == nullptr) {
      return errors::InvalidArgument("Input does not contain a compressed element. Instead got tensor ",
                                     input.DebugString());
    }
    ASSIGN_OR_RETURN(Element element, compressed->Uncompress(ctx.allocator()));
    if (static_cast<int>(element.size()) != ctx.num_outputs()) {
      return errors::FailedPrecondition("Expected ", ctx.num_outputs(), " outputs from uncompress, but got ",
                                        element.size());
    }
    for (int i = 0; i < ctx.num_outputs(); ++i) {
      if (element[i].dtype() != ctx.expected_output_dtype(i)) {
        return errors::FailedPrecondition("Expected a tensor of type ", DataTypeName(ctx.expected_output_dtype(i)),
                                          " but got a tensor of type ", DataTypeName(element[i].dtype()));
      }
    }
    for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, std::move(element[i]));
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterCompressionKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<CompressKernel>(Kernel("CompressElement").Cpu()));
  return kernels.Register<UncompressKernel>(Kernel("UncompressElement").Cpu());
}

}  // namespace weir
