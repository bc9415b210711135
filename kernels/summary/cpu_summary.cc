// Summaries: the serialised tensorflow.Summary that TensorBoard's events carry.
#include "absl/container/flat_hash_set.h"
#include "core/tensor/numeric_types.h"
#include "kernels/summary/family.h"
#include "tensorflow/core/framework/summary.pb.h"

namespace weir {
namespace {

absl::Status SetSerialized(OpKernelContext& ctx, const tensorflow::Summary& summary) {
  ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, TensorShape()));
  if (summary.SerializeToString(&output->scalar<tstring>())) return absl::OkStatus();
  return errors::InvalidArgument("The summary is too large");
}

template <typename T>
class ScalarSummaryKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& tags = ctx.input(0);
    const Tensor& values = ctx.input(1);
    if (tags.shape() != values.shape()) {
      const std::string one =
          tags.dims() == 0 ? absl::StrCat(" (tag '", absl::string_view(tags.scalar<tstring>()), "')") : "";
      return errors::InvalidArgument("tags and values are not the same shape: ", tags.shape().ToString(),
                                     " != ", values.shape().ToString(), one);
    }
    tensorflow::Summary summary;
    for (int64_t i = 0; i < tags.NumElements(); ++i) {
      auto* const value = summary.add_value();
      value->set_tag(tags.data<tstring>()[i]);
      value->set_simple_value(static_cast<float>(values.data<T>()[i]));
    }
    return SetSerialized(ctx, summary);
  }
};

class MergeSummaryKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    tensorflow::Summary merged;
    absl::flat_hash_set<std::string> tags;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      const Tensor& input = ctx.input(i);
      for (int64_t k = 0; k < input.NumElements(); ++k) {
        tensorflow::Summary summary;
        if (!summary.ParseFromString(input.data<tstring>()[k])) {
          return errors::InvalidArgument("Could not parse one of the summary inputs");
        }
        for (auto& value : *summary.mutable_value()) {
          if (!value.tag().empty() && !tags.insert(value.tag()).second) {
            return errors::InvalidArgument("Duplicate tag ", value.tag(), " found in summary inputs");
          }
          *merged.add_value() = std::move(value);
        }
      }
    }
    return SetSerialized(ctx, merged);
  }
};

template <typename T>
absl::Status RegisterScalarSummary(KernelRegistry& kernels) {
  return kernels.Register<ScalarSummaryKernel<T>>(Kernel("ScalarSummary").Cpu().Type<T>("T"));
}

template <typename... Ts>
absl::Status RegisterScalarSummaries(KernelRegistry& kernels) {
  absl::Status status;
  (status.Update(RegisterScalarSummary<Ts>(kernels)), ...);
  return status;
}

}  // namespace

absl::Status RegisterSummaryKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR((RegisterScalarSummaries<float, double, half, bfloat16, int8_t, int16_t, int32_t, int64_t, uint8_t,
                                           uint16_t, uint32_t, uint64_t>(kernels)));
  return kernels.Register<MergeSummaryKernel>(Kernel("MergeSummary").Cpu());
}

}  // namespace weir
