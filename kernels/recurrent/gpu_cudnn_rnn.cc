// The CudnnRNN ops, by a library (kernels/recurrent/gpu/rnn_library.h). It computes time-major: batch-major tensors are
// transposed before and after the call.
#include <algorithm>
#include <utility>
#include <vector>

#include "core/mutex.h"
#include "kernels/device/dense_steps.h"
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/device/gpu/strided_source.h"
#include "kernels/recurrent/family.h"
#include "kernels/recurrent/gpu/rnn_library.h"
#include "kernels/recurrent/rnn_call.h"
#include "kernels/recurrent/rnn_parameters.h"

namespace weir {
namespace {

// [b, a, c] of [a, b, c].
TensorShape Swapped(const TensorShape& shape) {
  return TensorShape({shape.dim_size(1), shape.dim_size(0), shape.dim_size(2)});
}
absl::Status WriteSwapped(GpuStream& stream, const Tensor& from, const Tensor& to) {
  if (to.NumElements() == 0) return absl::OkStatus();
  const DimVector steps = DenseSteps(from.shape().dim_sizes());
  const absl::Span<const int64_t> sizes = to.shape().dim_sizes();
  return WriteStrided(stream,
                      {.input = from,
                       .steps = {steps[1], steps[0], steps[2]},
                       .sizes = DimVector(sizes.begin(), sizes.end()),
                       .shape = to.shape()},
                      to);
}

absl::Status Clear(GpuStream& stream, const Tensor& tensor) {
  if (tensor.NumElements() == 0) return absl::OkStatus();
  return stream.Fill(tensor.raw_data(), 0, static_cast<size_t>(tensor.TotalBytes()));
}
absl::Status Copy(GpuStream& stream, const Tensor& from, const Tensor& to) {
  if (from.NumElements() == 0) return absl::OkStatus();
  return stream.CopyOnDevice(to.raw_data(), from.raw_data(), static_cast<size_t>(from.TotalBytes()));
}

// A call with its tensors in the order of time.
class CallInTime {
 public:
  CallInTime(OpKernelContext& ctx, GpuStream& stream, bool is_time_major)
      : ctx_(ctx), stream_(stream), is_time_major_(is_time_major) {}

  absl::StatusOr<Tensor> In(int i) {
    const Tensor& input = ctx_.input(i);
    if (is_time_major_) return input;
    ASSIGN_OR_RETURN(Tensor swapped, ctx_.allocate_temp(input.dtype(), Swapped(input.shape())));
    RETURN_IF_ERROR(WriteSwapped(stream_, input, swapped));
    return swapped;
  }
  // Memory in which output `i`, of `shape`, is to be computed.
  absl::StatusOr<Tensor> Out(int i, const TensorShape& shape) {
    ASSIGN_OR_RETURN(Tensor * output, ctx_.allocate_output(i, shape));
    if (is_time_major_) return *output;
    ASSIGN_OR_RETURN(Tensor swapped, ctx_.allocate_temp(output->dtype(), Swapped(shape)));
    swapped_.emplace_back(swapped, *output);
    return swapped;
  }
  // Once all outputs are computed.
  absl::Status Finish() {
    for (const auto& [from, to] : swapped_) RETURN_IF_ERROR(WriteSwapped(stream_, from, to));
    return absl::OkStatus();
  }
  absl::StatusOr<Tensor> Bytes(size_t bytes) {
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build({static_cast<int64_t>(bytes)}));
    return ctx_.allocate_temp(DT_UINT8, shape);
  }

 private:
  OpKernelContext& ctx_;
  GpuStream& stream_;
  const bool is_time_major_;
  std::vector<std::pair<Tensor, Tensor>> swapped_;
};

// Not captured: lengths come from the host, and dropout has a state.
class RnnKernel : public GpuOpKernel {
 public:
  bool CanBeCaptured() const override { return false; }

 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(attrs_, RnnAttrs::Read(ctx));
    absl::StatusOr<std::shared_ptr<RnnLibrary>> library = RnnLibraryOf(gpu());
    if (!library.ok()) {
      return errors::Unimplemented(ctx.op(), " of ", DataTypeName(ctx.input_types()[0]), " on ", gpu().name(),
                                   " needs a library: ", library.status().message(), "; a CPU computes it without");
    }
    library_ = *std::move(library);
    return library_->Check(ctx, attrs_);
  }

  // What a call needs besides its arguments. `lengths` is on the device.
  struct Ready {
    RnnProblem problem;
    std::shared_ptr<RnnPlan> plan;
    Tensor lengths;
  };
  // Of the last call, if it was of such sequences.
  absl::StatusOr<Ready> ReadyFor(GpuStream& stream, DataType dtype, const RnnBatch& batch) {
    MutexLock lock(mu_);
    RnnProblem problem{.dtype = dtype, .batch = batch, .is_training = attrs_.is_training};
    if (const float ratio = attrs_.DropoutOf(batch.sizes); ratio != 0) {
      if (dropout_.ratio == 0) {
        ASSIGN_OR_RETURN(dropout_, library_->NewDropout(gpu(), stream, ratio, attrs_.seed));
      }
      problem.dropout = dropout_;
    }
    if (last_.plan != nullptr && last_.problem == problem) return last_;
    Ready ready{.problem = std::move(problem)};
    ASSIGN_OR_RETURN(ready.plan, library_->Make(ready.problem));
    Tensor lengths(DT_INT32, TensorShape({batch.rows}));
    std::copy(batch.lengths.begin(), batch.lengths.end(), lengths.data<int32_t>());
    ASSIGN_OR_RETURN(ready.lengths, gpu().ToDevice(lengths));
    last_ = ready;
    return ready;
  }
  // Of a type of the op's.
  static int64_t ReserveElements(const Ready& ready) {
    const size_t size = DataTypeSize(ready.problem.dtype);
    return static_cast<int64_t>((ready.plan->reserve_bytes() + size - 1) / size);
  }
  static bool IsEmpty(const RnnBatch& batch) {
    return std::all_of(batch.lengths.begin(), batch.lengths.end(), [](int64_t length) { return length == 0; });
  }
  const RnnAttrs& attrs() const { return attrs_; }

 private:
  RnnAttrs attrs_;
  std::shared_ptr<RnnLibrary> library_;
  Mutex mu_;
  Ready last_ GUARDED_BY(mu_);
  RnnDropout dropout_ GUARDED_BY(mu_);  // all calls draw from it
};

class RnnForwardKernel : public RnnKernel {
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    ASSIGN_OR_RETURN(const RnnBatch batch, ReadRnnBatch(ctx, attrs()));
    ASSIGN_OR_RETURN(const TensorShape shape, RnnOutputShape(ctx, batch));
    CallInTime call(ctx, stream, attrs().is_time_major);
    ASSIGN_OR_RETURN(const Tensor y, call.Out(0, shape));
    ASSIGN_OR_RETURN(const Tensor last_h, call.Out(1, ctx.input(1).shape()));
    Tensor last_c;
    if (attrs().has_cell()) {
      ASSIGN_OR_RETURN(last_c, call.Out(2, ctx.input(2).shape()));
    } else {
      ASSIGN_OR_RETURN(Tensor * none, ctx.allocate_output(2, TensorShape()));
      RETURN_IF_ERROR(Clear(stream, *none));
    }
    if (ctx.num_outputs() > 4) RETURN_IF_ERROR(ctx.allocate_output(4, TensorShape({0})).status());
    if (IsEmpty(batch)) return RunNothing(ctx, stream);
    ASSIGN_OR_RETURN(const Tensor x, call.In(0));
    ASSIGN_OR_RETURN(const Tensor h, call.In(1));
    Tensor c;
    if (attrs().has_cell()) {
      ASSIGN_OR_RETURN(c, call.In(2));
    }
    ASSIGN_OR_RETURN(const Ready ready, ReadyFor(stream, x.dtype(), batch));
    ASSIGN_OR_RETURN(const TensorShape kept, TensorShape::Build({attrs().is_training ? ReserveElements(ready) : 0}));
    ASSIGN_OR_RETURN(const Tensor* const reserve, ctx.allocate_output(3, kept));
    ASSIGN_OR_RETURN(const Tensor workspace, call.Bytes(ready.plan->workspace_bytes()));
    RETURN_IF_ERROR(ready.plan->Forward(stream, {.x = x.raw_data(),
                                                 .h = h.raw_data(),
                                                 .c = c.raw_data(),
                                                 .params = ctx.input(3).raw_data(),
                                                 .lengths = ready.lengths.data<int32_t>(),
                                                 .y = y.raw_data(),
                                                 .last_h = last_h.raw_data(),
                                                 .last_c = last_c.raw_data(),
                                                 .reserve = reserve->raw_data(),
                                                 .workspace = workspace.raw_data()}));
    return call.Finish();
  }

  // No step of any row: states stay as they are.
  absl::Status RunNothing(OpKernelContext& ctx, GpuStream& stream) const {
    RETURN_IF_ERROR(Clear(stream, *ctx.mutable_output(0)));
    RETURN_IF_ERROR(Copy(stream, ctx.input(1), *ctx.mutable_output(1)));
    if (attrs().has_cell()) RETURN_IF_ERROR(Copy(stream, ctx.input(2), *ctx.mutable_output(2)));
    return ctx.allocate_output(3, TensorShape({0})).status();
  }
};

class RnnBackwardKernel : public RnnKernel {
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    ASSIGN_OR_RETURN(const RnnBatch batch, ReadRnnBatch(ctx, attrs()));
    const RnnGradientInputs at(attrs());
    RETURN_IF_ERROR(at.Check(ctx, attrs(), batch));
    CallInTime call(ctx, stream, attrs().is_time_major);
    ASSIGN_OR_RETURN(const Tensor dx, call.Out(0, ctx.input(0).shape()));
    ASSIGN_OR_RETURN(const Tensor dh, call.Out(1, ctx.input(1).shape()));
    ASSIGN_OR_RETURN(const Tensor* const dparams, ctx.allocate_output(3, ctx.input(3).shape()));
    Tensor dc;
    if (attrs().has_cell()) {
      ASSIGN_OR_RETURN(dc, call.Out(2, ctx.input(2).shape()));
    } else {
      ASSIGN_OR_RETURN(Tensor * none, ctx.allocate_output(2, ctx.input(2).shape()));
      RETURN_IF_ERROR(Clear(stream, *none));
    }
    if (IsEmpty(batch)) return RunNothing(ctx, stream, at);
    ASSIGN_OR_RETURN(const Ready ready, ReadyFor(stream, dx.dtype(), batch));
    RETURN_IF_ERROR(CheckRnnReserve(ctx.input(at.reserve), ReserveElements(ready)));
    Tensor in[3], d[3];
    for (const int i : {0, 1, 2}) {
      if (i == 2 && !attrs().has_cell()) continue;
      ASSIGN_OR_RETURN(in[i], call.In(i));
      ASSIGN_OR_RETURN(d[i], call.In(at.gradient + i));
    }
    ASSIGN_OR_RETURN(const Tensor y, call.In(at.output));
    ASSIGN_OR_RETURN(const Tensor reserve, OwnReserve(ctx, stream, at.reserve));
    ASSIGN_OR_RETURN(const Tensor workspace, call.Bytes(ready.plan->workspace_bytes()));
    RETURN_IF_ERROR(ready.plan->Backward(stream, {.x = in[0].raw_data(),
                                                  .h = in[1].raw_data(),
                                                  .c = in[2].raw_data(),
                                                  .params = ctx.input(3).raw_data(),
                                                  .y = y.raw_data(),
                                                  .lengths = ready.lengths.data<int32_t>(),
                                                  .dy = d[0].raw_data(),
                                                  .dlast_h = d[1].raw_data(),
                                                  .dlast_c = d[2].raw_data(),
                                                  .reserve = reserve.raw_data(),
                                                  .dx = dx.raw_data(),
                                                  .dh = dh.raw_data(),
                                                  .dc = dc.raw_data(),
                                                  .dparams = dparams->raw_data(),
                                                  .workspace = workspace.raw_data()}));
    return call.Finish();
  }

  absl::Status RunNothing(OpKernelContext& ctx, GpuStream& stream, const RnnGradientInputs& at) const {
    RETURN_IF_ERROR(Clear(stream, *ctx.mutable_output(0)));
    RETURN_IF_ERROR(Clear(stream, *ctx.mutable_output(3)));
    RETURN_IF_ERROR(Copy(stream, ctx.input(at.gradient + 1), *ctx.mutable_output(1)));
    if (!attrs().has_cell()) return absl::OkStatus();
    return Copy(stream, ctx.input(at.gradient + 2), *ctx.mutable_output(2));
  }

  // The library writes to it: another gradient of the same op may still read it.
  static absl::StatusOr<Tensor> OwnReserve(OpKernelContext& ctx, GpuStream& stream, int i) {
    const DataType type = ctx.input(i).dtype();
    const TensorShape shape = ctx.input(i).shape();
    if (std::optional<Tensor> own = ctx.forward_input(i, type, shape)) return *std::move(own);
    ASSIGN_OR_RETURN(Tensor copy, ctx.allocate_temp(type, shape));
    RETURN_IF_ERROR(Copy(stream, ctx.input(i), copy));
    return copy;
  }
};

// Parameters lie in one order on all devices, which a library's plan makes sure of.
class RnnParametersKernel : public GpuOpKernel {
 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override { return parameters_.Init(ctx); }
  const RnnParameters& parameters() const { return parameters_; }
  static auto CopyOn(GpuStream& stream) {
    return [&stream](void* to, const void* from, size_t bytes) { return stream.CopyOnDevice(to, from, bytes); };
  }

 private:
  RnnParameters parameters_;
};

class RnnParamsToCanonicalKernel : public RnnParametersKernel {
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    return parameters().ToCanonical(ctx, CopyOn(stream));
  }
};

class RnnCanonicalToParamsKernel : public RnnParametersKernel {
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    return parameters().FromCanonical(ctx, CopyOn(stream));
  }
};

}  // namespace

absl::Status RegisterGpuRnnKernels(KernelRegistry& kernels) {
  const auto kernel = [](const char* op) { return Kernel(op).Device(kDeviceGpu).Types("T", kGpuFloats); };
  RETURN_IF_ERROR(kernels.Register<RnnForwardKernel>(kernel("CudnnRNN")));
  RETURN_IF_ERROR(kernels.Register<RnnForwardKernel>(kernel("CudnnRNNV2").HostMemory("host_reserved")));
  RETURN_IF_ERROR(kernels.Register<RnnForwardKernel>(
      kernel("CudnnRNNV3").HostMemory("sequence_lengths").HostMemory("host_reserved")));
  RETURN_IF_ERROR(kernels.Register<RnnBackwardKernel>(kernel("CudnnRNNBackprop")));
  RETURN_IF_ERROR(kernels.Register<RnnBackwardKernel>(kernel("CudnnRNNBackpropV2").HostMemory("host_reserved")));
  RETURN_IF_ERROR(kernels.Register<RnnBackwardKernel>(
      kernel("CudnnRNNBackpropV3").HostMemory("sequence_lengths").HostMemory("host_reserved")));
  const auto with_sizes = [&kernel](const char* op) {
    return kernel(op).HostMemory("num_layers").HostMemory("num_units").HostMemory("input_size");
  };
  for (const char* op : {"CudnnRNNParamsToCanonical", "CudnnRNNParamsToCanonicalV2"}) {
    RETURN_IF_ERROR(kernels.Register<RnnParamsToCanonicalKernel>(with_sizes(op)));
  }
  for (const char* op : {"CudnnRNNCanonicalToParams", "CudnnRNNCanonicalToParamsV2"}) {
    RETURN_IF_ERROR(kernels.Register<RnnCanonicalToParamsKernel>(with_sizes(op)));
  }
  return absl::OkStatus();
}

}  // namespace weir
