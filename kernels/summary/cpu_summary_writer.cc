// SummaryWriter, what opens and closes its file, and what writes to it.
#include "core/tensor/index_tensor.h"
#include "kernels/device/blocking_kernel.h"
#include "kernels/device/named_resource.h"
#include "kernels/summary/event_writer.h"
#include "kernels/summary/family.h"
#include "kernels/summary/summary_values.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/framework/summary.pb.h"
#include "tensorflow/core/util/event.pb.h"

namespace weir {
namespace {

absl::StatusOr<std::string> WriterString(const Tensor& tensor, const char* name) {
  if (tensor.dtype() == DT_STRING && tensor.dims() == 0) return tensor.scalar<tstring>();
  return errors::InvalidArgument(name, " must be scalar, got shape ", tensor.shape().ToString());
}

// Only names the writer; CreateSummaryFileWriter makes it.
class WriterHandleKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(const ResourceName where, ResourceName::Read(ctx, /*use_node_name=*/true));
    handle_ = Tensor::Scalar(ctx.device()->resources()->MakeHandle<EventWriter>(ctx.device()->name(), where.container,
                                                                                where.name, "SummaryWriterInterface"));
    return absl::OkStatus();
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    ctx.set_output(0, handle_);
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }

 private:
  Tensor handle_;
};

class CreateFileWriterKernel : public BlockingKernel {
 protected:
  absl::Status Work(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const ResourceHandle* handle, ResourceFromInput(ctx, 0));
    EventWriter::Options options;
    ASSIGN_OR_RETURN(options.directory, WriterString(ctx.input(1), "logdir"));
    ASSIGN_OR_RETURN(options.max_queue, ReadScalarInteger(ctx.input(2), "max_queue"));
    ASSIGN_OR_RETURN(options.flush_millis, ReadScalarInteger(ctx.input(3), "flush_millis"));
    ASSIGN_OR_RETURN(options.suffix, WriterString(ctx.input(4), "filename_suffix"));
    ASSIGN_OR_RETURN(FileSystem * files, ctx.device()->file_systems()->Find(options.directory));
    return ctx.resources()
        ->LookupOrCreate<EventWriter>(handle->container, handle->name,
                                      [files, &options] { return EventWriter::Create(files, options); })
        .status();
  }
};

class FlushWriterKernel : public BlockingKernel {
 protected:
  absl::Status Work(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<EventWriter> writer, FindResource<EventWriter>(ctx, 0));
    return writer->Flush();
  }
};

class CloseWriterKernel : public BlockingKernel {
 protected:
  absl::Status Work(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const ResourceHandle* handle, ResourceFromInput(ctx, 0));
    ASSIGN_OR_RETURN(std::shared_ptr<EventWriter> writer, FindResource<EventWriter>(ctx, 0));
    RETURN_IF_ERROR(writer->Flush());
    return ctx.resources()->Delete(*handle);
  }
};

// Inputs: the writer and the step; then what Fill reads.
class WriteKernel : public BlockingKernel {
 protected:
  absl::Status Work(OpKernelContext& ctx) final {
    ASSIGN_OR_RETURN(std::shared_ptr<EventWriter> writer, FindResource<EventWriter>(ctx, 0));
    ASSIGN_OR_RETURN(const int64_t step, ReadScalarInteger(ctx.input(1), "step"));
    tensorflow::Event event;
    event.set_step(step);
    RETURN_IF_ERROR(Fill(ctx, &event));
    return writer->Write(&event);
  }
  virtual absl::Status Fill(OpKernelContext& ctx, tensorflow::Event* event) = 0;
};

class WriteSummaryKernel : public WriteKernel {
 protected:
  absl::Status Fill(OpKernelContext& ctx, tensorflow::Event* event) override {
    ASSIGN_OR_RETURN(const std::string tag, WriterString(ctx.input(3), "tag"));
    ASSIGN_OR_RETURN(const std::string metadata, WriterString(ctx.input(4), "summary_metadata"));
    return FillTensorValue(tag, ctx.input(2), metadata, event->mutable_summary()->add_value());
  }
};

class WriteScalarKernel : public WriteKernel {
 protected:
  absl::Status Fill(OpKernelContext& ctx, tensorflow::Event* event) override {
    ASSIGN_OR_RETURN(const std::string tag, WriterString(ctx.input(2), "tag"));
    ASSIGN_OR_RETURN(const double number, NumberFrom(ctx.input(3)));
    AddScalar(tag, number, event->mutable_summary());
    return absl::OkStatus();
  }
};

class WriteHistogramKernel : public WriteKernel {
 protected:
  absl::Status Fill(OpKernelContext& ctx, tensorflow::Event* event) override {
    ASSIGN_OR_RETURN(const std::string tag, WriterString(ctx.input(2), "tag"));
    auto* const value = event->mutable_summary()->add_value();
    value->set_tag(tag);
    return FillHistogram(ctx.input(3), tag, value->mutable_histo());
  }
};

class WriteImageKernel : public WriteKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("max_images", &max_images_); }

 protected:
  absl::Status Fill(OpKernelContext& ctx, tensorflow::Event* event) override {
    ASSIGN_OR_RETURN(const std::string tag, WriterString(ctx.input(2), "tag"));
    const Tensor& bad = ctx.input(4);
    if (bad.dims() != 1) return errors::InvalidArgument("bad_color must be a vector, got ", bad.shape().ToString());
    return AddImages(tag, ctx.input(3), max_images_, bad.flat<uint8_t>(), event->mutable_summary());
  }

 private:
  int64_t max_images_ = 0;
};

class WriteAudioKernel : public WriteKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("max_outputs", &max_outputs_); }

 protected:
  absl::Status Fill(OpKernelContext& ctx, tensorflow::Event* event) override {
    ASSIGN_OR_RETURN(const std::string tag, WriterString(ctx.input(2), "tag"));
    ASSIGN_OR_RETURN(const double rate, NumberFrom(ctx.input(4)));
    return AddSounds(tag, ctx.input(3), max_outputs_, static_cast<float>(rate), event->mutable_summary());
  }

 private:
  int64_t max_outputs_ = 0;
};

class WriteRawProtoKernel : public WriteKernel {
 protected:
  absl::Status Fill(OpKernelContext& ctx, tensorflow::Event* event) override {
    const Tensor& summaries = ctx.input(2);
    for (int64_t i = 0; i < summaries.NumElements(); ++i) {
      if (!event->mutable_summary()->MergeFromString(summaries.data<tstring>()[i])) {
        return errors::DataLoss("Bad tf.compat.v1.Summary binary proto tensor string at index ", i);
      }
    }
    return absl::OkStatus();
  }
};

class WriteGraphKernel : public WriteKernel {
 protected:
  absl::Status Fill(OpKernelContext& ctx, tensorflow::Event* event) override {
    ASSIGN_OR_RETURN(const std::string bytes, WriterString(ctx.input(2), "tensor"));
    tensorflow::GraphDef graph;
    if (!graph.ParseFromString(bytes)) return errors::DataLoss("Bad tf.GraphDef binary proto tensor string");
    event->set_graph_def(bytes);
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterSummaryWriterKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<WriterHandleKernel>(Kernel("SummaryWriter").Cpu()));
  RETURN_IF_ERROR(kernels.Register<CreateFileWriterKernel>(Kernel("CreateSummaryFileWriter").Cpu()));
  RETURN_IF_ERROR(kernels.Register<FlushWriterKernel>(Kernel("FlushSummaryWriter").Cpu()));
  RETURN_IF_ERROR(kernels.Register<CloseWriterKernel>(Kernel("CloseSummaryWriter").Cpu()));
  RETURN_IF_ERROR(kernels.Register<WriteSummaryKernel>(Kernel("WriteSummary").Cpu()));
  RETURN_IF_ERROR(kernels.Register<WriteScalarKernel>(Kernel("WriteScalarSummary").Cpu()));
  RETURN_IF_ERROR(kernels.Register<WriteHistogramKernel>(Kernel("WriteHistogramSummary").Cpu()));
  RETURN_IF_ERROR(kernels.Register<WriteImageKernel>(Kernel("WriteImageSummary").Cpu()));
  RETURN_IF_ERROR(kernels.Register<WriteAudioKernel>(Kernel("WriteAudioSummary").Cpu()));
  RETURN_IF_ERROR(kernels.Register<WriteRawProtoKernel>(Kernel("WriteRawProtoSummary").Cpu()));
  return kernels.Register<WriteGraphKernel>(Kernel("WriteGraphSummary").Cpu());
}

}  // namespace weir
