// The CudnnRNN ops on CPUs, by plain loops over cuDNN's parameter layout. TensorFlow has them on GPUs only.
#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/device/wide.h"
#include "kernels/recurrent/family.h"
#include "kernels/recurrent/rnn_call.h"
#include "kernels/recurrent/rnn_loops.h"
#include "kernels/recurrent/rnn_parameters.h"

namespace weir {
namespace {

constexpr char kDevice[] = "a CPU";

// [a, b, c] as [b, a, c].
template <typename T>
std::vector<T> Swapped(const T* in, int64_t a, int64_t b, int64_t c) {
  std::vector<T> out(a * b * c);
  if (out.empty()) return out;  // of however many steps
  for (int64_t i = 0; i < a; ++i) {
    for (int64_t j = 0; j < b; ++j) std::copy_n(in + (i * b + j) * c, c, out.data() + (j * a + i) * c);
  }
  return out;
}

class RnnKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(attrs_, RnnAttrs::Read(ctx));
    return CheckRnnLoops(ctx, attrs_, kDevice);
  }

 protected:
  const RnnAttrs& attrs() const { return attrs_; }
  bool has_cell() const { return attrs_.has_cell(); }

  absl::StatusOr<RnnBatch> ReadBatch(const OpKernelContext& ctx) const {
    ASSIGN_OR_RETURN(RnnBatch batch, ReadRnnBatch(ctx, attrs_));
    RETURN_IF_ERROR(CheckRnnInput(batch.sizes, kDevice));
    RETURN_IF_ERROR(CheckRnnDropout(attrs_.DropoutOf(batch.sizes), kDevice));
    return batch;
  }

  // An input or output in the order of time: itself, or a copy.
  template <typename T>
  const T* InTime(const Tensor& tensor, std::vector<T>* copy) const {
    if (attrs_.is_time_major || tensor.dims() != 3) return tensor.data<T>();
    *copy = Swapped(tensor.data<T>(), tensor.dim_size(0), tensor.dim_size(1), tensor.dim_size(2));
    return copy->data();
  }
  // The reverse, for what was computed in the order of time in the memory of an output.
  template <typename T>
  void FromTime(Tensor* tensor) const {
    if (attrs_.is_time_major || tensor->dims() != 3) return;
    const std::vector<T> swapped =
        Swapped<T>(tensor->data<T>(), tensor->dim_size(1), tensor->dim_size(0), tensor->dim_size(2));
    std::copy(swapped.begin(), swapped.end(), tensor->data<T>());
  }

 private:
  RnnAttrs attrs_;
};

class RnnForwardKernel : public RnnKernel {
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const RnnBatch batch, ReadBatch(ctx));
    return VisitWide(ctx.input(0).dtype(), [&](auto zero) { return Run<decltype(zero)>(ctx, batch); });
  }

  template <typename T>
  absl::Status Run(OpKernelContext& ctx, const RnnBatch& batch) const {
    Tensor in[4];
    for (int i = 0; i < 4; ++i) {
      if (i == 2 && !has_cell()) continue;
      ASSIGN_OR_RETURN(in[i], Widen(ctx, ctx.input(i)));
    }
    ASSIGN_OR_RETURN(const TensorShape out, RnnOutputShape(ctx, batch));
    const TensorShape state = ctx.input(1).shape();
    ASSIGN_OR_RETURN(WideOutput y, WideOutput::Allocate(ctx, 0, out));
    ASSIGN_OR_RETURN(WideOutput h, WideOutput::Allocate(ctx, 1, state));
    ASSIGN_OR_RETURN(WideOutput c, WideOutput::Allocate(ctx, 2, has_cell() ? state : TensorShape()));
    ASSIGN_OR_RETURN(const TensorShape kept_shape, TensorShape::Build({batch.KeptElements()}));
    ASSIGN_OR_RETURN(WideOutput kept, WideOutput::Allocate(ctx, 3, kept_shape));
    std::vector<T> copies[3];
    if (!has_cell()) c.tensor().template data<T>()[0] = 0;
    RunRnn<T>(batch, {.x = InTime<T>(in[0], &copies[0]),
                      .h = InTime<T>(in[1], &copies[1]),
                      .c = has_cell() ? InTime<T>(in[2], &copies[2]) : nullptr,
                      .params = in[3].data<T>(),
                      .y = y.data<T>(),
                      .last_h = h.data<T>(),
                      .last_c = c.data<T>(),
                      .kept = kept.data<T>()});
    for (WideOutput* output : {&y, &h, &c}) {
      FromTime<T>(&output->tensor());
      RETURN_IF_ERROR(output->Finish(ctx));
    }
    if (ctx.num_outputs() > 4) RETURN_IF_ERROR(ctx.allocate_output(4, TensorShape({0})).status());
    if (attrs().is_training) return kept.Finish(ctx);
    return ctx.allocate_output(3, TensorShape({0})).status();
  }
};

class RnnBackwardKernel : public RnnKernel {
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const RnnBatch batch, ReadBatch(ctx));
    const RnnGradientInputs at(attrs());
    RETURN_IF_ERROR(at.Check(ctx, attrs(), batch));
    RETURN_IF_ERROR(CheckRnnReserve(ctx.input(at.reserve), batch.KeptElements()));
    return VisitWide(ctx.input(0).dtype(), [&](auto zero) { return Run<decltype(zero)>(ctx, batch); });
  }

  template <typename T>
  absl::Status Run(OpKernelContext& ctx, const RnnBatch& batch) const {
    const RnnGradientInputs at(attrs());
    Tensor in[4], d[3];
    for (int i = 0; i < 4; ++i) {
      if (i == 2 && !has_cell()) continue;
      ASSIGN_OR_RETURN(in[i], Widen(ctx, ctx.input(i)));
      if (i < 3) {
        ASSIGN_OR_RETURN(d[i], Widen(ctx, ctx.input(at.gradient + i)));
      }
    }
    ASSIGN_OR_RETURN(const Tensor kept, Widen(ctx, ctx.input(at.reserve)));
    ASSIGN_OR_RETURN(WideOutput dx, WideOutput::Allocate(ctx, 0, ctx.input(0).shape()));
    ASSIGN_OR_RETURN(WideOutput dh, WideOutput::Allocate(ctx, 1, ctx.input(1).shape()));
    ASSIGN_OR_RETURN(WideOutput dc, WideOutput::Allocate(ctx, 2, ctx.input(2).shape()));
    ASSIGN_OR_RETURN(WideOutput dparams, WideOutput::Allocate(ctx, 3, ctx.input(3).shape()));
    std::fill_n(dc.data<T>(), dc.tensor().NumElements(), T{0});
    std::vector<T> copies[6];
    const auto cell = [&](const Tensor& tensor, std::vector<T>* copy) -> const T* {
      return has_cell() ? InTime<T>(tensor, copy) : nullptr;
    };
    RunRnnGradient<T>(batch, {.x = InTime<T>(in[0], &copies[0]),
                              .h = InTime<T>(in[1], &copies[1]),
                              .c = cell(in[2], &copies[2]),
                              .params = in[3].data<T>(),
                              .kept = kept.data<T>(),
                              .dy = InTime<T>(d[0], &copies[3]),
                              .dlast_h = InTime<T>(d[1], &copies[4]),
                              .dlast_c = cell(d[2], &copies[5]),
                              .dx = dx.data<T>(),
                              .dh = dh.data<T>(),
                              .dc = dc.data<T>(),
                              .dparams = dparams.data<T>()});
    FromTime<T>(&dx.tensor());
    FromTime<T>(&dh.tensor());
    if (has_cell()) FromTime<T>(&dc.tensor());
    for (WideOutput* output : {&dx, &dh, &dc, &dparams}) RETURN_IF_ERROR(output->Finish(ctx));
    return absl::OkStatus();
  }
};

class RnnParametersKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return parameters_.Init(ctx); }

 protected:
  const RnnParameters& parameters() const { return parameters_; }

 private:
  RnnParameters parameters_;
};

class RnnParamsSizeKernel : public RnnParametersKernel {
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const RnnSizes sizes, parameters().ReadSizes(ctx));
    ASSIGN_OR_RETURN(Tensor * out, ctx.allocate_output(0, TensorShape({1})));
    const int64_t size = sizes.NumParams();
    if (out->dtype() == DT_INT64) {
      out->data<int64_t>()[0] = size;
      return absl::OkStatus();
    }
    if (size > std::numeric_limits<int32_t>::max()) {
      return errors::InvalidArgument("The network has ", size, " parameters, which int32 does not hold");
    }
    out->data<int32_t>()[0] = static_cast<int32_t>(size);
    return absl::OkStatus();
  }
};

absl::Status CopyBytes(void* to, const void* from, size_t bytes) {
  std::memcpy(to, from, bytes);
  return absl::OkStatus();
}

class RnnParamsToCanonicalKernel : public RnnParametersKernel {
  absl::Status Compute(OpKernelContext& ctx) override { return parameters().ToCanonical(ctx, CopyBytes); }
};

class RnnCanonicalToParamsKernel : public RnnParametersKernel {
  absl::Status Compute(OpKernelContext& ctx) override { return parameters().FromCanonical(ctx, CopyBytes); }
};

}  // namespace

absl::Status RegisterCudnnRnnKernels(KernelRegistry& kernels) {
  for (const char* op : {"CudnnRNN", "CudnnRNNV2", "CudnnRNNV3"}) {
    RETURN_IF_ERROR(kernels.Register<RnnForwardKernel>(Kernel(op).Cpu()));
  }
  for (const char* op : {"CudnnRNNBackprop", "CudnnRNNBackpropV2", "CudnnRNNBackpropV3"}) {
    RETURN_IF_ERROR(kernels.Register<RnnBackwardKernel>(Kernel(op).Cpu()));
  }
  RETURN_IF_ERROR(kernels.Register<RnnParamsSizeKernel>(Kernel("CudnnRNNParamsSize").Cpu()));
  for (const char* op : {"CudnnRNNParamsToCanonical", "CudnnRNNParamsToCanonicalV2"}) {
    RETURN_IF_ERROR(kernels.Register<RnnParamsToCanonicalKernel>(Kernel(op).Cpu()));
  }
  for (const char* op : {"CudnnRNNCanonicalToParams", "CudnnRNNCanonicalToParamsV2"}) {
    RETURN_IF_ERROR(kernels.Register<RnnCanonicalToParamsKernel>(Kernel(op).Cpu()));
  }
  return absl::OkStatus();
}

}  // namespace weir
