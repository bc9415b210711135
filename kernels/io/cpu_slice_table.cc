// Save, SaveSlices, Restore, RestoreSlice: checkpoints in the first format.
#include "core/checkpoint/slice_table.h"
#include "core/memory/out_of_memory.h"
#include "kernels/device/blocking_kernel.h"
#include "kernels/io/family.h"

namespace weir {
namespace {

absl::StatusOr<std::string> StringScalar(const Tensor& tensor, const char* name) {
  if (tensor.dtype() == DT_STRING && tensor.NumElements() == 1) return tensor.data<tstring>()[0];
  return errors::InvalidArgument(name, " must be a single string; got shape: ", tensor.shape().ToString());
}

// Takes references to the tensors' buffers at once and writes later.
template <bool kSlices>
class SaveKernel : public AsyncOpKernel {
 public:
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    auto inputs = std::make_shared<std::vector<Tensor>>();
    for (int i = 0; i < ctx.num_inputs(); ++i) inputs->push_back(ctx.locked_input(i));
    ctx.work_queue()->ScheduleBlocking(
        [&ctx, inputs, done = std::move(done)] { done(OrOutOfMemory([&] { return Save(ctx, *inputs); })); });
  }

 private:
  static absl::Status Save(OpKernelContext& ctx, const std::vector<Tensor>& inputs) {
    constexpr size_t kFirst = kSlices ? 3 : 2;
    ASSIGN_OR_RETURN(const std::string path, StringScalar(inputs[0], "filename"));
    const Tensor& names = inputs[1];
    const size_t count = inputs.size() - kFirst;
    if (names.dtype() != DT_STRING || names.NumElements() != static_cast<int64_t>(count)) {
      return errors::InvalidArgument("Expected ", count, " names for the tensors, got ", names.NumElements());
    }
    if (kSlices && inputs[2].NumElements() != static_cast<int64_t>(count)) {
      return errors::InvalidArgument("Expected ", count, " slice specs for the tensors, got ", inputs[2].NumElements());
    }
    ASSIGN_OR_RETURN(FileSystem * files, ctx.device()->file_systems()->Find(path));
    SliceTableWriter writer(files, path);
    for (size_t i = 0; i < count; ++i) {
      RETURN_IF_ERROR(CheckCancelled(ctx));
      const std::string slice = kSlices ? inputs[2].data<tstring>()[i] : "";
      RETURN_IF_ERROR(writer.Add(names.data<tstring>()[i], slice, inputs[kFirst + i]));
    }
    return writer.Finish();
  }
};

template <bool kSlice>
class RestoreSlicesKernel : public BlockingKernel {
 protected:
  absl::Status Work(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const std::string pattern, StringScalar(ctx.input(0), "Input 0 (file_pattern)"));
    ASSIGN_OR_RETURN(const std::string name, StringScalar(ctx.input(1), "Input 1 (file_pattern)"));
    std::string slice;
    if (kSlice) {
      ASSIGN_OR_RETURN(slice, StringScalar(ctx.input(2), "Input 2 (shape_and_slice)"));
    }
    ASSIGN_OR_RETURN(FileSystem * files, ctx.device()->file_systems()->Find(pattern));
    ASSIGN_OR_RETURN(std::unique_ptr<SliceTableReader> reader, SliceTableReader::Open(files, pattern));
    ASSIGN_OR_RETURN(Tensor tensor, reader->Restore(name, slice, ctx.expected_output_dtype(0), ctx.allocator()));
    ctx.set_output(0, std::move(tensor));
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterSliceTableKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<SaveKernel<false>>(Kernel("Save").Cpu()));
  RETURN_IF_ERROR(kernels.Register<SaveKernel<true>>(Kernel("SaveSlices").Cpu()));
  RETURN_IF_ERROR(kernels.Register<RestoreSlicesKernel<false>>(Kernel("Restore").Cpu()));
  return kernels.Register<RestoreSlicesKernel<true>>(Kernel("RestoreSlice").Cpu());
}

}  // namespace weir
