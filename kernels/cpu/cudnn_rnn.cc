// CudnnRNN and its like, which TensorFlow computes on GPUs alone: by plain loops, with parameters where cuDNN has them.
#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/cpu/cudnn_rnn_loops.h"
#include "kernels/cpu/numeric_families.h"
#include "kernels/cpu/wide.h"

namespace weir {
namespace {

// What all of the ops are told by attributes.
struct RnnAttrs {
  absl::Status Read(OpKernelConstruction& ctx) {
    std::string name, input_mode, direction;
    float dropout = 0;
    int64_t num_proj = 0;
    RETURN_IF_ERROR(ctx.GetAttr("rnn_mode", &name));
    ASSIGN_OR_RETURN(mode, RnnModeNamed(name));
    RETURN_IF_ERROR(ctx.GetAttr("input_mode", &input_mode));
    RETURN_IF_ERROR(ctx.GetAttr("direction", &direction));
    RETURN_IF_ERROR(ctx.GetAttr("dropout", &dropout));
    is_bidirectional = direction == "bidirectional";
    is_auto = input_mode == "auto_select";
    drops = dropout != 0;
    if (ctx.HasAttr("num_proj")) RETURN_IF_ERROR(ctx.GetAttr("num_proj", &num_proj));
    if (ctx.HasAttr("time_major")) RETURN_IF_ERROR(ctx.GetAttr("time_major", &is_time_major));
    if (ctx.HasAttr("is_training")) RETURN_IF_ERROR(ctx.GetAttr("is_training", &is_training));
    if (input_mode == "skip_input") return errors::Unimplemented(ctx.op(), " on a CPU has no input_mode=skip_input");
    if (num_proj != 0) return errors::Unimplemented(ctx.op(), " on a CPU has no projections, but num_proj=", num_proj);
    return absl::OkStatus();
  }
  absl::StatusOr<RnnSizes> SizesOf(int64_t layers, int64_t hidden, int64_t input) const {
    if (is_auto && input == hidden) {
      return errors::Unimplemented("input_mode=auto_select means skip_input for an input of num_units, ", hidden,
                                   ", which a CPU does not have");
    }
    return RnnSizes::Of(mode, is_bidirectional, layers, hidden, input);
  }

  RnnMode mode = RnnMode::kLstm;
  bool is_bidirectional = false, is_auto = false, drops = false, is_time_major = true, is_training = true;
};

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

absl::StatusOr<TensorShape> OutShape(const TensorShape& in, const RnnSizes& sizes) {
  return TensorShape::Build({in.dim_size(0), in.dim_size(1), sizes.directions * sizes.hidden});
}

class RnnKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    has_lengths_ = ctx.op() == "CudnnRNNV3" || ctx.op() == "CudnnRNNBackpropV3";
    return attrs_.Read(ctx);
  }

 protected:
  bool has_cell() const { return attrs_.mode == RnnMode::kLstm; }
  bool is_time_major() const { return attrs_.is_time_major; }
  bool is_training() const { return attrs_.is_training; }
  // Where the inputs behind params are.
  int first() const { return has_lengths_ ? 5 : 4; }

  absl::StatusOr<RnnBatch> ReadBatch(OpKernelContext& ctx) const {
    const Tensor &x = ctx.input(0), &h = ctx.input(1), &params = ctx.input(3);
    if (x.dims() != 3) return errors::InvalidArgument("RNN input must be a 3-D vector.");
    if (h.dims() != 3) return errors::InvalidArgument("RNN input_h must be a 3-D vector.");
    const int time = attrs_.is_time_major ? 0 : 1, rows = 1 - time;
    const int64_t directions = attrs_.is_bidirectional ? 2 : 1, parts = h.dim_size(time);
    if (parts % directions != 0) {
      return errors::InvalidArgument("input_h has ", parts, " layers of both directions: ", h.shape().ToString());
    }
    RnnBatch batch;
    ASSIGN_OR_RETURN(batch.sizes, attrs_.SizesOf(parts / directions, h.dim_size(2), x.dim_size(2)));
    if (attrs_.drops && attrs_.is_training && batch.sizes.layers > 1) {
      return errors::Unimplemented("Dropout between layers is not supported on a CPU");
    }
    batch.steps = x.dim_size(time);
    batch.rows = x.dim_size(rows);
    if (h.dim_size(rows) != batch.rows) {
      return errors::InvalidArgument("Invalid input_h shape: ", h.shape().ToString(), " for input of shape ",
                                     x.shape().ToString());
    }
    if (has_cell() && ctx.input(2).shape() != h.shape()) {
      return errors::InvalidArgument("input_h and input_c must have the same shape: ", h.shape().ToString(), " ",
                                     ctx.input(2).shape().ToString());
    }
    if (params.NumElements() != batch.sizes.NumParams()) {
      return errors::InvalidArgument("params should hold ", batch.sizes.NumParams(), " numbers, not ",
                                     params.NumElements());
    }
    // What a training step keeps.
    if (!TensorShape::Build({batch.sizes.parts() * batch.KeptPerUnit(), batch.steps, batch.rows, batch.sizes.hidden})
             .ok()) {
      return errors::InvalidArgument("A network of this size has too many units: input ", x.shape().ToString());
    }
    RETURN_IF_ERROR(ReadLengths(ctx, &batch));
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
  absl::Status ReadLengths(OpKernelContext& ctx, RnnBatch* batch) const {
    batch->lengths.assign(batch->rows, batch->steps);
    if (!has_lengths_) return absl::OkStatus();
    const Tensor& lengths = ctx.input(4);
    if (lengths.dims() != 1 || lengths.NumElements() != batch->rows) {
      return errors::InvalidArgument("sequence_lengths must hold ", batch->rows, " numbers, but has shape ",
                                     lengths.shape().ToString());
    }
    for (int64_t n = 0; n < batch->rows; ++n) {
      const int64_t length = lengths.data<int32_t>()[n];
      if (length < 0 || length > batch->steps) {
        return errors::InvalidArgument("sequence_lengths[", n, "] is ", length, ", but must be from 0 to ",
                                       batch->steps);
      }
      batch->lengths[n] = length;
    }
    return absl::OkStatus();
  }

  RnnAttrs attrs_;
  bool has_lengths_ = false;
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
    ASSIGN_OR_RETURN(const TensorShape out, OutShape(ctx.input(0).shape(), batch.sizes));
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
    if (is_training()) return kept.Finish(ctx);
    return ctx.allocate_output(3, TensorShape({0})).status();
  }
};

class RnnBackwardKernel : public RnnKernel {
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const RnnBatch batch, ReadBatch(ctx));
    ASSIGN_OR_RETURN(const TensorShape out, OutShape(ctx.input(0).shape(), batch.sizes));
    const int outputs = first(), gradients = outputs + 3, kept = outputs + 6;
    for (const int base : {outputs, gradients}) {
      RETURN_IF_ERROR(Check(ctx.input(base), out, "output"));
      RETURN_IF_ERROR(Check(ctx.input(base + 1), ctx.input(1).shape(), "output_h"));
      if (has_cell()) RETURN_IF_ERROR(Check(ctx.input(base + 2), ctx.input(1).shape(), "output_c"));
    }
    if (ctx.input(kept).NumElements() != batch.KeptElements()) {
      return errors::InvalidArgument("reserve_space should hold ", batch.KeptElements(), " numbers, not ",
                                     ctx.input(kept).NumElements(),
                                     ": it is that of a forward op with is_training=true");
    }
    return VisitWide(ctx.input(0).dtype(), [&](auto zero) { return Run<decltype(zero)>(ctx, batch); });
  }

  // What comes in for an output, and for its gradient.
  static absl::Status Check(const Tensor& tensor, const TensorShape& shape, const char* name) {
    if (tensor.shape() == shape) return absl::OkStatus();
    return errors::InvalidArgument("Invalid ", name, " or ", name, "_backprop shape: ", tensor.shape().ToString(), " ",
                                   shape.ToString());
  }

  template <typename T>
  absl::Status Run(OpKernelContext& ctx, const RnnBatch& batch) const {
    const int gradients = first() + 3;
    Tensor in[4], d[3];
    for (int i = 0; i < 4; ++i) {
      if (i == 2 && !has_cell()) continue;
      ASSIGN_OR_RETURN(in[i], Widen(ctx, ctx.input(i)));
      if (i < 3) {
        ASSIGN_OR_RETURN(d[i], Widen(ctx, ctx.input(gradients + i)));
      }
    }
    ASSIGN_OR_RETURN(const Tensor kept, Widen(ctx, ctx.input(gradients + 3)));
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

// Ops that are told the network's sizes by their first three inputs.
class RnnParamsKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    for (const char* name : {"num_params", "num_params_weights"}) {
      if (ctx.HasAttr(name)) RETURN_IF_ERROR(ctx.GetAttr(name, &num_weights_));
    }
    return attrs_.Read(ctx);
  }

 protected:
  absl::StatusOr<RnnSizes> ReadSizes(OpKernelContext& ctx) const {
    int64_t values[3] = {};
    const char* const names[] = {"num_layers", "num_units", "input_size"};
    for (int i = 0; i < 3; ++i) {
      if (ctx.input(i).dims() != 0) return errors::InvalidArgument(names[i], " is not a scalar");
      values[i] = ctx.input(i).scalar<int32_t>();
    }
    return attrs_.SizesOf(values[0], values[1], values[2]);
  }
  // Of the matrices, and of the biases, which an op has as a list each.
  static absl::Status CheckCount(const RnnSizes& sizes, int64_t count, const char* what) {
    const int64_t wanted = sizes.parts() * sizes.MatricesPerPart();
    if (count == wanted) return absl::OkStatus();
    return errors::InvalidArgument("Number of ", what, " is ", count, ", but the network has ", wanted);
  }

  // How many tensors of matrices there are in the list; biases follow.
  int64_t num_weights() const { return num_weights_; }

 private:
  RnnAttrs attrs_;
  int64_t num_weights_ = 0;
};

class RnnParamsSizeKernel : public RnnParamsKernel {
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const RnnSizes sizes, ReadSizes(ctx));
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

int64_t BytesOf(const Tensor& tensor) { return DataTypeSize(tensor.dtype()); }

class RnnParamsToCanonicalKernel : public RnnParamsKernel {
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const RnnSizes sizes, ReadSizes(ctx));
    const Tensor& params = ctx.input(3);
    if (params.NumElements() != sizes.NumParams()) {
      return errors::InvalidArgument("params should hold ", sizes.NumParams(), " numbers, not ", params.NumElements());
    }
    const int64_t weights = num_weights();
    RETURN_IF_ERROR(CheckCount(sizes, weights, "weights"));
    RETURN_IF_ERROR(CheckCount(sizes, ctx.num_outputs() - weights, "biases"));
    for (int64_t i = 0; i < weights; ++i) {
      const int64_t part = i / sizes.MatricesPerPart(), matrix = i % sizes.MatricesPerPart();
      const int64_t columns = sizes.MatrixColumns(part, matrix);
      RETURN_IF_ERROR(CopyOut(ctx, i, TensorShape({sizes.hidden, columns}), sizes.MatrixOffset(part, matrix)));
      RETURN_IF_ERROR(CopyOut(ctx, weights + i, TensorShape({sizes.hidden}), sizes.BiasOffset(part, matrix)));
    }
    return absl::OkStatus();
  }

  static absl::Status CopyOut(OpKernelContext& ctx, int64_t output, const TensorShape& shape, int64_t offset) {
    const Tensor& params = ctx.input(3);
    ASSIGN_OR_RETURN(Tensor * out, ctx.allocate_output(static_cast<int>(output), shape));
    std::copy_n(static_cast<const char*>(params.raw_data()) + offset * BytesOf(params), out->TotalBytes(),
                static_cast<char*>(out->raw_data()));
    return absl::OkStatus();
  }
};

class RnnCanonicalToParamsKernel : public RnnParamsKernel {
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const RnnSizes sizes, ReadSizes(ctx));
    const int64_t wanted = sizes.parts() * sizes.MatricesPerPart();
    const int64_t weights = num_weights();
    RETURN_IF_ERROR(CheckCount(sizes, weights, "weights"));
    RETURN_IF_ERROR(CheckCount(sizes, ctx.num_inputs() - 3 - weights, "biases"));
    for (int64_t i = 0; i < wanted; ++i) {
      const int64_t part = i / sizes.MatricesPerPart(), matrix = i % sizes.MatricesPerPart();
      RETURN_IF_ERROR(CheckSize(ctx, i, sizes.hidden * sizes.MatrixColumns(part, matrix), "weights"));
      RETURN_IF_ERROR(CheckSize(ctx, wanted + i, sizes.hidden, "biases"));
    }
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build({sizes.NumParams()}));
    ASSIGN_OR_RETURN(Tensor * out, ctx.allocate_output(0, shape));
    for (int64_t i = 0; i < wanted; ++i) {
      const int64_t part = i / sizes.MatricesPerPart(), matrix = i % sizes.MatricesPerPart();
      CopyIn(ctx, i, sizes.MatrixOffset(part, matrix), out);
      CopyIn(ctx, wanted + i, sizes.BiasOffset(part, matrix), out);
    }
    return absl::OkStatus();
  }

  static absl::Status CheckSize(OpKernelContext& ctx, int64_t i, int64_t wanted, const char* what) {
    const Tensor& tensor = ctx.input(static_cast<int>(3 + i));
    if (tensor.NumElements() == wanted) return absl::OkStatus();
    return errors::InvalidArgument("Input ", 3 + i, " of the ", what, " should hold ", wanted, " numbers, not ",
                                   tensor.NumElements());
  }
  static void CopyIn(OpKernelContext& ctx, int64_t i, int64_t offset, Tensor* out) {
    const Tensor& from = ctx.input(static_cast<int>(3 + i));
    std::copy_n(static_cast<const char*>(from.raw_data()), from.TotalBytes(),
                static_cast<char*>(out->raw_data()) + offset * BytesOf(*out));
  }
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
