// HistogramSummary, ImageSummary, AudioSummary, TensorSummary.
#include "kernels/summary/family.h"
#include "kernels/summary/summary_values.h"
#include "tensorflow/core/framework/summary.pb.h"

namespace weir {
namespace {

absl::Status SetSummary(OpKernelContext& ctx, const tensorflow::Summary& summary) {
  ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, TensorShape()));
  if (summary.SerializeToString(&output->scalar<tstring>())) return absl::OkStatus();
  return errors::InvalidArgument("The summary is too large");
}

absl::StatusOr<std::string> StringScalar(const Tensor& tensor, const char* name) {
  if (tensor.dtype() == DT_STRING && tensor.dims() == 0) return tensor.scalar<tstring>();
  return errors::InvalidArgument(name, " must be a scalar, got shape ", tensor.shape().ToString());
}

class HistogramSummaryKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    node_ = ctx.name();
    return absl::OkStatus();
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const std::string tag, StringScalar(ctx.input(0), "tags"));
    tensorflow::Summary summary;
    auto* const value = summary.add_value();
    value->set_tag(tag);
    RETURN_IF_ERROR(FillHistogram(ctx.input(1), node_, value->mutable_histo()));
    return SetSummary(ctx, summary);
  }

 private:
  std::string node_;
};

class ImageSummaryKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("max_images", &max_images_));
    RETURN_IF_ERROR(ctx.GetAttr("bad_color", &bad_color_));
    if (bad_color_.dtype() != DT_UINT8) {
      return errors::InvalidArgument("bad_color must be uint8, got ", DataTypeName(bad_color_.dtype()));
    }
    if (bad_color_.dims() == 1) return absl::OkStatus();
    return errors::InvalidArgument("bad_color must be a vector, got shape ", bad_color_.shape().ToString());
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const std::string tag, StringScalar(ctx.input(0), "Tags"));
    tensorflow::Summary summary;
    RETURN_IF_ERROR(AddImages(tag, ctx.input(1), max_images_, std::as_const(bad_color_).flat<uint8_t>(), &summary));
    return SetSummary(ctx, summary);
  }

 private:
  int64_t max_images_ = 0;
  Tensor bad_color_;
};

// The first version has the sample rate as an attribute.
class AudioSummaryKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("max_outputs", &max_outputs_));
    has_rate_ = ctx.HasAttr("sample_rate");
    return has_rate_ ? ctx.GetAttr("sample_rate", &sample_rate_) : absl::OkStatus();
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const std::string tag, StringScalar(ctx.input(0), "Tag"));
    float rate = sample_rate_;
    if (!has_rate_) {
      if (ctx.input(2).dims() != 0) {
        return errors::InvalidArgument("sample_rate must be scalar, got shape ", ctx.input(2).shape().ToString());
      }
      rate = ctx.input(2).scalar<float>();
    }
    tensorflow::Summary summary;
    RETURN_IF_ERROR(AddSounds(tag, ctx.input(1), max_outputs_, rate, &summary));
    return SetSummary(ctx, summary);
  }

 private:
  int64_t max_outputs_ = 0;
  bool has_rate_ = false;
  float sample_rate_ = 0;
};

class TensorSummaryKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    node_ = ctx.name();
    return absl::OkStatus();
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    tensorflow::Summary summary;
    auto* const value = summary.add_value();
    RETURN_IF_ERROR(FillTensorValue("", ctx.input(0), "", value));
    value->set_node_name(node_);
    return SetSummary(ctx, summary);
  }

 private:
  std::string node_;
};

class TensorSummaryV2Kernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const std::string tag, StringScalar(ctx.input(0), "tag"));
    ASSIGN_OR_RETURN(const std::string metadata, StringScalar(ctx.input(2), "serialized_summary_metadata"));
    tensorflow::Summary summary;
    auto* const value = summary.add_value();
    RETURN_IF_ERROR(FillTensorValue(tag, ctx.input(1), metadata, value));
    value->mutable_metadata();  // there even when it is empty
    return SetSummary(ctx, summary);
  }
};

}  // namespace

absl::Status RegisterMediaSummaryKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<HistogramSummaryKernel>(Kernel("HistogramSummary").Cpu()));
  RETURN_IF_ERROR(kernels.Register<ImageSummaryKernel>(Kernel("ImageSummary").Cpu()));
  RETURN_IF_ERROR(kernels.Register<AudioSummaryKernel>(Kernel("AudioSummary").Cpu()));
  RETURN_IF_ERROR(kernels.Register<AudioSummaryKernel>(Kernel("AudioSummaryV2").Cpu()));
  RETURN_IF_ERROR(kernels.Register<TensorSummaryKernel>(Kernel("TensorSummary").Cpu()));
  return kernels.Register<TensorSummaryV2Kernel>(Kernel("TensorSummaryV2").Cpu());
}

}  // namespace weir
