#include "kernels/elementwise/cpu_elementwise.h"

#include <atomic>

#include "kernels/elementwise/args_pairwise.h"

namespace weir {

absl::Status UnaryKernel::Init(OpKernelConstruction& ctx) {
  in_size_ = DataTypeSize(ctx.input_types()[0]);
  out_size_ = DataTypeSize(ctx.output_types()[0]);
  return absl::OkStatus();
}

absl::Status UnaryKernel::Compute(OpKernelContext& ctx) {
  const Tensor& input = ctx.input(0);
  const TensorShape shape = input.shape();  // a copy: forwarding may move the input away
  const int64_t n = shape.num_elements();
  const char* in = static_cast<const char*>(input.raw_data());
  ASSIGN_OR_RETURN(Tensor * output, ctx.forward_input_or_allocate_output({0}, 0, shape));
  char* out = static_cast<char*>(output->raw_data());
  ParallelRanges(ctx, n, picoseconds_, [&](int64_t begin, int64_t end) {
    loop_(in + begin * in_size_, out + begin * out_size_, end - begin);
  });
  return absl::OkStatus();
}

absl::Status BinaryKernel::Init(OpKernelConstruction& ctx) {
  x_size_ = DataTypeSize(ctx.input_types()[0]);
  y_size_ = DataTypeSize(ctx.input_types()[1]);
  out_size_ = DataTypeSize(ctx.output_types()[0]);
  bool incompatible_shape_error = true;
  if (ctx.HasAttr("incompatible_shape_error")) {
    RETURN_IF_ERROR(ctx.GetAttr("incompatible_shape_error", &incompatible_shape_error));
  }
  tolerate_shapes_ = !incompatible_shape_error;
  mismatch_value_ = ctx.op() == "NotEqual";
  return absl::OkStatus();
}

absl::Status BinaryKernel::Compute(OpKernelContext& ctx) {
  const Tensor& a = ctx.input(0);
  const Tensor& b = ctx.input(1);
  if (a.dims() == 0 && b.dims() == 0) {
    // Two scalars: the overhead around the operation is the whole cost.
    const void* const x = a.raw_data();
    const void* const y = b.raw_data();
    ASSIGN_OR_RETURN(Tensor * output, ctx.forward_input_or_allocate_output({0, 1}, 0, TensorShape()));
    return Finish(loop_(x, 1, y, 1, output->raw_data(), 1));
  }
  const bool same = a.shape() == b.shape();
  if (!same && !a.shape().IsScalar() && !b.shape().IsScalar()) return ComputeBroadcast(ctx);

  const int64_t x_step = same || !a.shape().IsScalar(), y_step = same || !b.shape().IsScalar();
  const TensorShape shape = x_step ? a.shape() : b.shape();  // a copy: forwarding may move the input away
  const char* x = static_cast<const char*>(a.raw_data());
  const char* y = static_cast<const char*>(b.raw_data());
  const int64_t n = shape.num_elements();
  ASSIGN_OR_RETURN(Tensor * output, ctx.forward_input_or_allocate_output({0, 1}, 0, shape));
  char* out = static_cast<char*>(output->raw_data());
  if (n == 1) return Finish(loop_(x, 1, y, 1, out, 1));
  std::atomic<bool> ok{true};
  ParallelRanges(ctx, n, picoseconds_, [&](int64_t begin, int64_t end) {
    if (!loop_(x + begin * x_step * x_size_, x_step, y + begin * y_step * y_size_, y_step, out + begin * out_size_,
               end - begin)) {
      ok = false;
    }
  });
  return Finish(ok);
}

absl::Status BinaryKernel::ComputeBroadcast(OpKernelContext& ctx) {
  absl::StatusOr<Broadcasting> broadcasting = Broadcasting::Of(ctx.input(0).shape(), ctx.input(1).shape());
  if (!broadcasting.ok()) {
    if (!tolerate_shapes_) return std::move(broadcasting).status();
    ctx.set_output(0, Tensor::Scalar<bool>(mismatch_value_));
    return absl::OkStatus();
  }
  const Broadcasting& b = *broadcasting;
  const char* x = static_cast<const char*>(ctx.input(0).raw_data());
  const char* y = static_cast<const char*>(ctx.input(1).raw_data());
  ASSIGN_OR_RETURN(Tensor * output, ctx.forward_input_or_allocate_output({0, 1}, 0, b.shape));
  if (output->NumElements() == 0) return absl::OkStatus();
  char* out = static_cast<char*>(output->raw_data());
  const int outer = static_cast<int>(b.sizes.size()) - 1;
  const int64_t run = b.sizes[outer];
  std::atomic<bool> ok{true};
  ParallelRanges(ctx, output->NumElements() / run, run * picoseconds_ + 5000, [&](int64_t begin, int64_t end) {
    DimVector index(outer);
    int64_t rest = begin, x_offset = 0, y_offset = 0;
    for (int d = outer - 1; d >= 0; --d) {
      index[d] = rest % b.sizes[d];
      rest /= b.sizes[d];
      x_offset += index[d] * b.x_steps[d];
      y_offset += index[d] * b.y_steps[d];
    }
    bool all = true;
    for (int64_t i = begin; i < end; ++i) {
      all &= loop_(x + x_offset * x_size_, b.x_steps[outer], y + y_offset * y_size_, b.y_steps[outer],
                   out + i * run * out_size_, run);
      for (int d = outer - 1; d >= 0; --d) {
        x_offset += b.x_steps[d];
        y_offset += b.y_steps[d];
        if (++index[d] < b.sizes[d]) break;
        x_offset -= b.x_steps[d] * b.sizes[d];
        y_offset -= b.y_steps[d] * b.sizes[d];
        index[d] = 0;
      }
    }
    if (!all) ok = false;
  });
  return Finish(ok);
}

absl::Status PairwiseKernel::Init(OpKernelConstruction& ctx) {
  size_ = DataTypeSize(ctx.output_types()[0]);
  return absl::OkStatus();
}

absl::Status PairwiseKernel::Compute(OpKernelContext& ctx) {
  const Tensor& a = ctx.input(0);
  const Tensor& b = ctx.input(1);
  const int64_t n = a.NumElements();
  RETURN_IF_ERROR(CheckPairwise(a, b));
  const TensorShape shape = a.shape();  // a copy: forwarding may move the input away
  const char* const x = static_cast<const char*>(a.raw_data());
  const char* const y = static_cast<const char*>(b.raw_data());
  ASSIGN_OR_RETURN(Tensor * output, ctx.forward_input_or_allocate_output({0, 1}, 0, shape));
  char* const out = static_cast<char*>(output->raw_data());
  ParallelRanges(ctx, n, picoseconds_, [&](int64_t begin, int64_t end) {
    const int64_t at = begin * size_;
    loop_(x + at, 1, y + at, 1, out + at, end - begin);
  });
  return absl::OkStatus();
}

absl::Status RegisterEntries(KernelRegistry& kernels, absl::Span<const UnaryEntry> entries) {
  for (const UnaryEntry& entry : entries) {
    Kernel kernel(entry.op);
    kernel.Cpu();
    if (entry.type != DT_INVALID) kernel.Types("T", {entry.type});
    RETURN_IF_ERROR(kernels.Register(kernel, entry.factory));
  }
  return absl::OkStatus();
}

}  // namespace weir
