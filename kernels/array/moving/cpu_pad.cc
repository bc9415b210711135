// Pad, MirrorPad and its gradient: tensors with frames.
#include <algorithm>

#include "kernels/array/family.h"
#include "kernels/array/moving/args_pad.h"
#include "kernels/array/moving/padded_dim.h"
#include "kernels/device/elements.h"
#include "kernels/device/parallel.h"
#include "kernels/state/update_loops.h"

namespace weir {
namespace {

const char* PaddedElementAt(const Tensor& tensor, int64_t i) {
  return static_cast<const char*>(tensor.raw_data()) + i * static_cast<int64_t>(DataTypeSize(tensor.dtype()));
}
char* PaddedElementAt(Tensor* tensor, int64_t i) {
  return static_cast<char*>(tensor->raw_data()) + i * static_cast<int64_t>(DataTypeSize(tensor->dtype()));
}

// Writes the padded tensor row by row; the dimensions inside the last framed one are one run.
void CopyPadded(OpKernelContext& ctx, const Tensor& input, const DimVector& paddings, PaddedDim::Frame frame,
                const void* value_data, Tensor* output) {
  absl::InlinedVector<PaddedDim, 8> dims;
  int last = 0;
  for (int d = 0; d < input.dims(); ++d) {
    dims.push_back({input.dim_size(d), paddings[2 * d], output->dim_size(d), frame});
    if (dims[d].n != dims[d].wide) last = d;
  }
  int64_t inner = 1;
  for (int d = last + 1; d < input.dims(); ++d) inner *= dims[d].n;
  const PaddedDim row = dims[last];
  dims.resize(last);
  const int64_t width = row.wide * inner;
  VisitElementType(input.dtype(), [&](auto element) {
    using T = decltype(element);
    const T value = value_data == nullptr ? T() : *static_cast<const T*>(value_data);
    const T* const in = static_cast<const T*>(input.raw_data());
    T* const out = static_cast<T*>(output->raw_data());
    // The elements of row dimension [begin, end), all of which lie in the frame.
    const auto fill_frame = [&](const T* from, T* to, int64_t begin, int64_t end) {
      if (frame == PaddedDim::Frame::kValue) {
        std::fill(to + begin * inner, to + end * inner, value);
        return;
      }
      for (int64_t i = begin; i < end; ++i) std::copy_n(from + row.Source(i) * inner, inner, to + i * inner);
    };
    const int64_t cost = width * static_cast<int64_t>(sizeof(T)) * 25 + 5000;
    ParallelRanges(ctx, output->NumElements() / width, cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t rest = i, source_row = 0, step = 1;
        for (int d = last - 1; d >= 0 && source_row >= 0; --d) {
          const int64_t source = dims[d].Source(rest % dims[d].wide);
          rest /= dims[d].wide;
          source_row = source < 0 ? -1 : source_row + source * step;
          step *= dims[d].n;
        }
        T* const to = out + i * width;
        if (source_row < 0) {
          std::fill_n(to, width, value);
          continue;
        }
        const T* const from = in + source_row * row.n * inner;
        fill_frame(from, to, 0, row.before);
        std::copy_n(from, row.n * inner, to + row.before * inner);
        fill_frame(from, to, row.before + row.n, row.wide);
      }
    });
  });
}

class PadKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const DimVector paddings, ReadPaddings(ctx.input(1), input.shape()));
    const bool has_value = ctx.num_inputs() > 2;
    if (has_value && ctx.input(2).dims() != 0) {
      return errors::InvalidArgument("constant_values must be a scalar. Found: ", ctx.input(2).shape().ToString());
    }
    ASSIGN_OR_RETURN(const TensorShape shape, PaddedShape(input.shape(), paddings));
    if (shape == input.shape()) {
      ctx.set_output(0, input);
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    CopyPadded(ctx, input, paddings, PaddedDim::Frame::kValue, has_value ? ctx.input(2).raw_data() : nullptr, output);
    return absl::OkStatus();
  }
};

class MirrorPadKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    std::string mode;
    RETURN_IF_ERROR(ctx.GetAttr("mode", &mode));
    symmetric_ = mode == "SYMMETRIC";
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const DimVector paddings, ReadMirrorPaddings(ctx.input(1), input.shape(), symmetric_));
    ASSIGN_OR_RETURN(const TensorShape shape, PaddedShape(input.shape(), paddings));
    if (shape == input.shape()) {
      ctx.set_output(0, input);
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    CopyPadded(ctx, input, paddings, symmetric_ ? PaddedDim::Frame::kSymmetric : PaddedDim::Frame::kReflect, nullptr,
               output);
    return absl::OkStatus();
  }

 private:
  bool symmetric_ = false;
};

// Folds the frame back: the gradients of an element's copies are added to its own.
class MirrorPadGradKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    std::string mode;
    RETURN_IF_ERROR(ctx.GetAttr("mode", &mode));
    symmetric_ = mode == "SYMMETRIC";
    add_ = FindUpdateLoop(UpdateOp::kAdd, ctx.input_types()[0]);
    if (add_ == nullptr) return errors::Unimplemented("MirrorPadGrad of ", DataTypeName(ctx.input_types()[0]));
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    Tensor current = ctx.input(0);
    ASSIGN_OR_RETURN(const DimVector paddings, ReadPaddings(ctx.input(1), current.shape()));
    for (int d = current.dims() - 1; d >= 0; --d) {
      const int64_t wide = current.dim_size(d), before = paddings[2 * d], after = paddings[2 * d + 1];
      if (before == 0 && after == 0) continue;
      ASSIGN_OR_RETURN(const int64_t n, MirroredSize(wide, before, after, symmetric_));
      TensorShape shape = current.shape();
      RETURN_IF_ERROR(shape.SetDim(d, n));
      ASSIGN_OR_RETURN(Tensor next, ctx.allocate_temp(current.dtype(), shape));
      if (current.NumElements() == 0) {  // its dimensions may be large
        current = std::move(next);
        continue;
      }
      const PaddedDim dim{n, before, wide, symmetric_ ? PaddedDim::Frame::kSymmetric : PaddedDim::Frame::kReflect};
      ZeroElements(next.dtype(), next.raw_data(), next.NumElements());
      int64_t inner = 1, outer = 1;
      for (int i = d + 1; i < shape.dims(); ++i) inner *= shape.dim_size(i);
      for (int i = 0; i < d; ++i) outer *= shape.dim_size(i);
      for (int64_t o = 0; o < outer; ++o) {
        for (int64_t i = 0; i < wide; ++i) {
          add_(PaddedElementAt(&next, (o * n + dim.Source(i)) * inner),
               PaddedElementAt(current, (o * wide + i) * inner), 1, inner);
        }
      }
      current = std::move(next);
    }
    ctx.set_output(0, std::move(current));
    return absl::OkStatus();
  }

 private:
  bool symmetric_ = false;
  UpdateLoop add_ = nullptr;
};

}  // namespace

absl::Status RegisterPadKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<PadKernel>(Kernel("Pad").Cpu().HostMemory("paddings")));
  RETURN_IF_ERROR(
      kernels.Register<PadKernel>(Kernel("PadV2").Cpu().HostMemory("paddings").HostMemory("constant_values")));
  RETURN_IF_ERROR(kernels.Register<MirrorPadKernel>(Kernel("MirrorPad").Cpu().HostMemory("paddings")));
  return kernels.Register<MirrorPadGradKernel>(Kernel("MirrorPadGrad").Cpu().HostMemory("paddings"));
}

}  // namespace weir
