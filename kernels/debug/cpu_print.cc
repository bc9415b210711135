// Assert, Print and PrintV2.
#include <atomic>
#include <cstdio>

#include "core/device/device.h"
#include "core/files/file_system.h"
#include "kernels/debug/family.h"
#include "kernels/device/blocking_kernel.h"
#include "kernels/device/summarize.h"

namespace weir {
namespace {

// "[1 2 3...] [4]" for inputs [first, …).
std::string SummarizeInputs(OpKernelContext& ctx, int first, int64_t entries) {
  std::string text;
  for (int i = first; i < ctx.num_inputs(); ++i) {
    absl::StrAppend(&text, i > first ? " " : "", "[", Summarize(ctx.input(i), entries), "]");
  }
  return text;
}

class AssertKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("summarize", &summarize_); }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& condition = ctx.input(0);
    if (condition.dims() != 0) {
      return errors::InvalidArgument("In[0] should be a scalar: ", condition.shape().ToString());
    }
    if (condition.scalar<bool>()) return absl::OkStatus();
    return errors::InvalidArgument("assertion failed: ", SummarizeInputs(ctx, 1, summarize_));
  }
  bool IsExpensive() const override { return false; }

 private:
  int64_t summarize_ = 3;
};

class PrintKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("message", &message_));
    RETURN_IF_ERROR(ctx.GetAttr("first_n", &first_n_));
    return ctx.GetAttr("summarize", &summarize_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    if (first_n_ < 0 || printed_.fetch_add(1) < first_n_) {
      const std::string text = absl::StrCat(message_, SummarizeInputs(ctx, 1, summarize_), "\n");
      std::fputs(text.c_str(), stderr);
    }
    ctx.set_output(0, ctx.input(0));
    return absl::OkStatus();
  }

 private:
  std::string message_;
  int64_t first_n_ = -1, summarize_ = 3;
  std::atomic<int64_t> printed_{0};
};

// Prints to a stream of the server or appends to a file ("file://path"). Log streams go to stderr.
class PrintV2Kernel : public BlockingKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("output_stream", &stream_));
    RETURN_IF_ERROR(ctx.GetAttr("end", &end_));
    for (absl::string_view known : {"stdout", "stderr", "log(info)", "log(warning)", "log(error)"}) {
      if (stream_ == known) return absl::OkStatus();
    }
    to_file_ = SchemeOf(stream_) == "file";
    if (to_file_) return absl::OkStatus();
    return errors::InvalidArgument("Unknown output stream: ", stream_,
                                   ", use stdout, stderr, log(info), log(warning), log(error) or file://PATH");
  }

 protected:
  absl::Status Work(OpKernelContext& ctx) override {
    if (ctx.input(0).dims() != 0) {
      return errors::InvalidArgument("Input is expected to be scalar, but got ", ctx.input(0).shape().ToString());
    }
    const std::string text = ctx.input(0).scalar<tstring>() + end_;
    if (to_file_) return AppendToFile(*ctx.device()->file_systems(), text);
    std::FILE* const out = stream_ == "stdout" ? stdout : stderr;
    std::fwrite(text.data(), 1, text.size(), out);
    std::fflush(out);
    return absl::OkStatus();
  }

 private:
  absl::Status AppendToFile(const FileSystemRegistry& registry, const std::string& text) {
    ASSIGN_OR_RETURN(FileSystem * files, registry.Find(stream_));
    ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file, files->NewAppendableFile(stream_));
    RETURN_IF_ERROR(file->Append(text));
    return file->Close();
  }

  std::string stream_, end_;
  bool to_file_ = false;
};

}  // namespace

absl::Status RegisterPrintKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<AssertKernel>(Kernel("Assert").Cpu().HostMemory("condition").HostMemory("data")));
  RETURN_IF_ERROR(kernels.Register<PrintKernel>(Kernel("Print").Cpu()));
  return kernels.Register<PrintV2Kernel>(Kernel("PrintV2").Cpu().HostMemory("input"));
}

}  // namespace weir
