// Transpose, Reverse, Roll and Tile: tensors rearranged and repeated.
#include <algorithm>
#include <complex>

#include "core/tensor/index_tensor.h"
#include "kernels/array/family.h"
#include "kernels/array/moving/args_move.h"
#include "kernels/array/moving/args_reverse.h"
#include "kernels/device/elements.h"
#include "kernels/device/parallel.h"

namespace weir {
namespace {

const char* ElementAt(const Tensor& tensor, int64_t i) {
  return static_cast<const char*>(tensor.raw_data()) + i * static_cast<int64_t>(DataTypeSize(tensor.dtype()));
}
char* ElementAt(Tensor* tensor, int64_t i) {
  return static_cast<char*>(tensor->raw_data()) + i * static_cast<int64_t>(DataTypeSize(tensor->dtype()));
}

template <typename T>
void Conjugate(Tensor* tensor) {
  for (T& x : tensor->flat<T>()) x = std::conj(x);
}

class TransposeKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    conjugate_ = ctx.op() == "ConjugateTranspose" && IsComplex(ctx.input_types()[0]);
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const DimVector perm, ReadPermutation(ctx.input(1), input.dims()));
    const DimVector dense = DenseSteps(input.shape().dim_sizes());
    DimVector sizes(perm.size()), steps(perm.size());
    bool moved = false;
    int64_t last = -1;
    for (size_t i = 0; i < perm.size(); ++i) {
      sizes[i] = input.dim_size(static_cast<int>(perm[i]));
      steps[i] = dense[perm[i]];
      if (sizes[i] == 1) continue;
      moved |= perm[i] < last;
      last = perm[i];
    }
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build(sizes));
    if (!moved && !conjugate_) {
      ASSIGN_OR_RETURN(Tensor same, input.Reshaped(shape));
      ctx.set_output(0, std::move(same));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    StridedCopy(ctx, input.dtype(), sizes, input.raw_data(), steps, output->raw_data(), DenseSteps(sizes));
    if (conjugate_) {
      if (output->dtype() == DT_COMPLEX64) {
        Conjugate<complex64>(output);
      } else {
        Conjugate<complex128>(output);
      }
    }
    return absl::OkStatus();
  }

 private:
  bool conjugate_ = false;
};

class InvertPermutationKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (input.dims() != 1) return errors::InvalidArgument("invert_permutation expects a 1D vector.");
    ASSIGN_OR_RETURN(const DimVector perm, ReadIntegers(input));
    const int64_t n = perm.size();
    DimVector inverse(n, -1);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t d = perm[i];
      if (d < 0 || d >= n) return errors::InvalidArgument(d, " is not between 0 and ", n);
      if (inverse[d] != -1) return errors::InvalidArgument(d, " is duplicated in the input.");
      inverse[d] = i;
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, input.shape()));
    return WriteIntegers(inverse, output);
  }
};

// Reverse takes a bool for each dimension, ReverseV2 a list of axes.
class ReverseKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const std::vector<bool> reversed, ReadReversedAxes(ctx.input(1), input.shape()));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, input.shape()));
    if (input.NumElements() == 0) return absl::OkStatus();
    const DimVector dense = DenseSteps(input.shape().dim_sizes());
    DimVector steps = dense;
    int64_t start = 0;
    for (size_t i = 0; i < steps.size(); ++i) {
      if (!reversed[i]) continue;
      start += (input.dim_size(static_cast<int>(i)) - 1) * steps[i];
      steps[i] = -steps[i];
    }
    StridedCopy(ctx, input.dtype(), input.shape().dim_sizes(), ElementAt(input, start), steps, output->raw_data(),
                dense);
    return absl::OkStatus();
  }
};

// Shifts along several axes, one after another.
class RollKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const DimVector by, ReadShifts(input.shape(), ctx.input(1), ctx.input(2)));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, input.shape()));
    if (input.NumElements() > 0) CopyParts(ctx, input, by, output);
    return absl::OkStatus();
  }

 private:
  // Each rolled dimension has a part that stays in order and one that wraps around: 2^rolled blocks in all.
  static void CopyParts(OpKernelContext& ctx, const Tensor& input, const DimVector& by, Tensor* output) {
    absl::InlinedVector<int, 4> rolled;
    for (int d = 0; d < input.dims(); ++d) {
      if (by[d] != 0) rolled.push_back(d);
    }
    const DimVector dense = DenseSteps(input.shape().dim_sizes());
    // Beyond a few dimensions blocks would multiply; those roll one after another instead.
    const size_t together = std::min<size_t>(rolled.size(), 8);
    for (uint32_t part = 0; part < (1u << together); ++part) {
      DimVector sizes(input.shape().dim_sizes().begin(), input.shape().dim_sizes().end());
      int64_t from = 0, to = 0;
      for (size_t i = 0; i < together; ++i) {
        const int d = rolled[i];
        const int64_t n = sizes[d], shift = by[d];
        const bool wraps = (part >> i) & 1;
        sizes[d] = wraps ? shift : n - shift;
        from += (wraps ? n - shift : 0) * dense[d];
        to += (wraps ? 0 : shift) * dense[d];
      }
      StridedCopy(ctx, input.dtype(), sizes, ElementAt(input, from), dense, ElementAt(output, to), dense);
    }
    if (together == rolled.size()) return;
    DimVector rest = by;
    for (size_t i = 0; i < together; ++i) rest[rolled[i]] = 0;
    const absl::StatusOr<Tensor> copy = output->DeepCopy();
    if (copy.ok()) CopyParts(ctx, *copy, rest, output);
  }
};

class TileKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    const Tensor& multiples = ctx.input(1);
    ASSIGN_OR_RETURN(const DimVector times, ReadMultiples(multiples, input.shape()));
    const DimVector dense = DenseSteps(input.shape().dim_sizes());
    DimVector dims, sizes, steps;
    for (int i = 0; i < input.dims(); ++i) {
      dims.push_back(MultiplyWithoutOverflow(input.dim_size(i), times[i]));
      if (dims.back() < 0) return errors::InvalidArgument("Dimension ", i, " of the output is too large");
      sizes.insert(sizes.end(), {times[i], input.dim_size(i)});
      steps.insert(steps.end(), {0, dense[i]});
    }
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build(dims));
    if (shape == input.shape()) {
      ctx.set_output(0, input);
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    StridedCopy(ctx, input.dtype(), sizes, input.raw_data(), steps, output->raw_data(), DenseSteps(sizes));
    return absl::OkStatus();
  }
};

// Reverses the first seq_lengths[b] elements along one dimension, for each b of another.
class ReverseSequenceKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("seq_dim", &seq_dim_));
    return ctx.GetAttr("batch_dim", &batch_dim_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    const Tensor& lengths = ctx.input(1);
    RETURN_IF_ERROR(CheckSequences(input.shape(), lengths.shape(), seq_dim_, batch_dim_));
    const int seq = static_cast<int>(seq_dim_), batch = static_cast<int>(batch_dim_);
    ASSIGN_OR_RETURN(const DimVector values, ReadIntegers(lengths));
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] < 0) return errors::InvalidArgument("seq_lens(", i, ") < 0");
      if (values[i] > input.dim_size(seq)) {
        return errors::InvalidArgument("seq_lens(", i, ") > input.dims(", seq, ")");
      }
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, input.shape()));
    CopyElements(input.dtype(), output->raw_data(), input.raw_data(), input.NumElements());
    const DimVector dense = DenseSteps(input.shape().dim_sizes());
    for (size_t b = 0; b < values.size(); ++b) {
      if (values[b] == 0 || input.NumElements() == 0) continue;
      DimVector sizes(input.shape().dim_sizes().begin(), input.shape().dim_sizes().end()), steps = dense;
      sizes[batch] = 1;
      sizes[seq] = values[b];
      steps[seq] = -dense[seq];
      const int64_t start = static_cast<int64_t>(b) * dense[batch];
      StridedCopy(ctx, input.dtype(), sizes, ElementAt(input, start + (values[b] - 1) * dense[seq]), steps,
                  ElementAt(output, start), dense);
    }
    return absl::OkStatus();
  }

 private:
  int64_t seq_dim_ = 0, batch_dim_ = 0;
};

}  // namespace

absl::Status RegisterMoveKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<TransposeKernel>(Kernel("Transpose").Cpu().HostMemory("perm")));
  RETURN_IF_ERROR(kernels.Register<TransposeKernel>(Kernel("ConjugateTranspose").Cpu().HostMemory("perm")));
  RETURN_IF_ERROR(kernels.Register<InvertPermutationKernel>(Kernel("InvertPermutation").Cpu()));
  RETURN_IF_ERROR(kernels.Register<ReverseKernel>(Kernel("Reverse").Cpu().HostMemory("dims")));
  RETURN_IF_ERROR(kernels.Register<ReverseKernel>(Kernel("ReverseV2").Cpu().HostMemory("axis")));
  RETURN_IF_ERROR(kernels.Register<RollKernel>(Kernel("Roll").Cpu().HostMemory("shift").HostMemory("axis")));
  RETURN_IF_ERROR(kernels.Register<TileKernel>(Kernel("Tile").Cpu().HostMemory("multiples")));
  RETURN_IF_ERROR(kernels.Register<ReverseSequenceKernel>(Kernel("ReverseSequence").Cpu()));
  return absl::OkStatus();
}

}  // namespace weir
