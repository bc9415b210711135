// Concat, Split, Pack and Unpack: tensors joined and split along one dimension.
#include "absl/strings/str_join.h"
#include "core/tensor/index_tensor.h"
#include "kernels/array/family.h"
#include "kernels/array/joining/args_split.h"
#include "kernels/device/elements.h"

namespace weir {
namespace {

// Elements before and after dimension `axis`.
int64_t Before(const TensorShape& shape, int axis) {
  int64_t n = 1;
  for (int i = 0; i < axis; ++i) n *= shape.dim_size(i);
  return n;
}
int64_t After(const TensorShape& shape, int axis) {
  int64_t n = 1;
  for (int i = axis + 1; i < shape.dims(); ++i) n *= shape.dim_size(i);
  return n;
}

// Copies `rows` rows of `width` elements between places with other row lengths; offsets are in elements.
void CopyBlock(OpKernelContext& ctx, const Tensor& src, int64_t src_offset, int64_t src_row, Tensor* dst,
               int64_t dst_offset, int64_t dst_row, int64_t rows, int64_t width) {
  const int64_t size = DataTypeSize(src.dtype());
  StridedCopy(ctx, src.dtype(), {rows, width}, static_cast<const char*>(src.raw_data()) + src_offset * size,
              {src_row, 1}, static_cast<char*>(dst->raw_data()) + dst_offset * size, {dst_row, 1});
}

// Inputs [first, first + count), axis in another input.
class ConcatKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    axis_first_ = ctx.op() == "Concat";
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const int first = axis_first_ ? 1 : 0, count = ctx.num_inputs() - 1;
    ASSIGN_OR_RETURN(int64_t axis_value, ReadScalarAxis(ctx.input(axis_first_ ? 0 : count)));
    const TensorShape shape = ctx.input(first).shape();
    const int rank = shape.dims();
    if (rank == 0 && axis_value == 0) {
      return errors::InvalidArgument("ConcatOp : Can't concatenate scalars (use tf.stack instead)");
    }
    if (axis_value < -rank || axis_value >= rank) {
      return errors::InvalidArgument("ConcatOp : Expected concatenating dimensions in the range [", -rank, ", ", rank,
                                     "), but got ", axis_value);
    }
    const int axis = static_cast<int>(axis_value < 0 ? axis_value + rank : axis_value);
    int64_t length = 0;
    for (int i = 0; i < count; ++i) {
      const TensorShape& other = ctx.input(first + i).shape();
      if (other.dims() != rank) {
        return errors::InvalidArgument("ConcatOp : Ranks of all input tensors should match: shape[0] = ",
                                       shape.ToString(), " vs. shape[", i, "] = ", other.ToString());
      }
      for (int d = 0; d < rank; ++d) {
        if (d != axis && other.dim_size(d) != shape.dim_size(d)) {
          return errors::InvalidArgument("ConcatOp : Dimension ", d,
                                         " in both shapes must be equal: shape[0] = ", shape.ToString(), " vs. shape[",
                                         i, "] = ", other.ToString());
        }
      }
      if (__builtin_add_overflow(length, other.dim_size(axis), &length)) {
        return errors::InvalidArgument("ConcatOp : the output has too many elements");
      }
    }
    TensorShape output_shape = shape;
    RETURN_IF_ERROR(output_shape.SetDim(axis, length));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, output_shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    const int64_t rows = Before(shape, axis), unit = After(shape, axis);
    int64_t offset = 0;
    for (int i = 0; i < count; ++i) {
      const Tensor& input = ctx.input(first + i);
      const int64_t width = input.dim_size(axis) * unit;
      CopyBlock(ctx, input, 0, width, output, offset, length * unit, rows, width);
      offset += width;
    }
    return absl::OkStatus();
  }

 private:
  static absl::StatusOr<int64_t> ReadScalarAxis(const Tensor& tensor) {
    if (tensor.NumElements() != 1 || tensor.dims() > 1) {
      return errors::InvalidArgument("ConcatOp : axis tensor should be a scalar integer, but got shape ",
                                     tensor.shape().ToString());
    }
    return ReadInteger(tensor, "axis");
  }
  bool axis_first_ = false;
};

// Where each of the inputs (shapes, as vectors) begins in their concatenation.
class ConcatOffsetKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    if (ctx.input(0).dims() != 0) {
      return errors::InvalidArgument("Concat dim tensor should be a scalar integer, but got shape ",
                                     ctx.input(0).shape().ToString());
    }
    ASSIGN_OR_RETURN(int64_t axis, ReadInteger(ctx.input(0), "concat_dim"));
    DimVector first;
    int64_t offset = 0;
    for (int i = 1; i < ctx.num_inputs(); ++i) {
      const Tensor& input = ctx.input(i);
      if (input.dims() != 1) {
        return errors::InvalidArgument("input ", i, " should be a vector, but got shape ", input.shape().ToString());
      }
      ASSIGN_OR_RETURN(const DimVector dims, ReadIntegers(input));
      const int64_t rank = dims.size();
      if (i == 1) {
        first = dims;
        if (axis < -rank || axis >= rank) {
          return errors::InvalidArgument("Concat dim is out of range: ", axis, " vs. ", rank);
        }
        if (axis < 0) axis += rank;
      }
      if (dims.size() != first.size()) {
        return errors::InvalidArgument("input ", i - 1, " should contain ", first.size(), " elements, but got ", rank);
      }
      DimVector offsets(rank, 0);
      offsets[axis] = offset;
      for (int64_t d = 0; d < rank; ++d) {
        if (d != axis && dims[d] != first[d]) {
          return errors::InvalidArgument("All dimensions except ", axis, " must match. Input ", i - 1, " has shape [",
                                         absl::StrJoin(dims, " "), "] and doesn't match input 0 with shape [",
                                         absl::StrJoin(first, " "), "].");
        }
      }
      if (__builtin_add_overflow(offset, dims[axis], &offset)) {
        return errors::InvalidArgument("Concat offsets overflow at input ", i - 1);
      }
      ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(i - 1, input.shape()));
      RETURN_IF_ERROR(WriteIntegers(offsets, output));
    }
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }
};

// Cuts `input` along `axis` into pieces of the given lengths, one for each output.
absl::Status Cut(OpKernelContext& ctx, const Tensor& input, int axis, absl::Span<const int64_t> lengths) {
  const int64_t rows = Before(input.shape(), axis), unit = After(input.shape(), axis);
  const int64_t row = input.dim_size(axis) * unit;
  int64_t offset = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (axis == 0) {
      ctx.set_output(static_cast<int>(i), input.Slice(offset, offset + lengths[i]));
      offset += lengths[i];
      continue;
    }
    TensorShape shape = input.shape();
    RETURN_IF_ERROR(shape.SetDim(axis, lengths[i]));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(static_cast<int>(i), shape));
    const int64_t width = lengths[i] * unit;
    CopyBlock(ctx, input, offset, row, output, 0, width, rows, width);
    offset += width;
  }
  return absl::OkStatus();
}

class SplitKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(1);
    ASSIGN_OR_RETURN(const SplitSizes sizes, SplitSizes::Equal(input.shape(), ctx.input(0), ctx.num_outputs()));
    return Cut(ctx, input, sizes.axis, sizes.lengths);
  }
  bool IsExpensive() const override { return false; }
};

class SplitVKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const SplitSizes sizes,
                     SplitSizes::Of(input.shape(), ctx.input(1), ctx.input(2), ctx.num_outputs()));
    return Cut(ctx, input, sizes.axis, sizes.lengths);
  }
  bool IsExpensive() const override { return false; }
};

class PackKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("axis", &axis_); }

  absl::Status Compute(OpKernelContext& ctx) override {
    const TensorShape shape = ctx.input(0).shape();
    const int rank = shape.dims() + 1, count = ctx.num_inputs();
    ASSIGN_OR_RETURN(const int axis, StackedAxis(axis_, rank));
    for (int i = 1; i < count; ++i) {
      if (ctx.input(i).shape() != shape) {
        return errors::InvalidArgument("Shapes of all inputs must match: values[0].shape = ", shape.ToString(),
                                       " != values[", i, "].shape = ", ctx.input(i).shape().ToString());
      }
    }
    TensorShape output_shape = shape;
    RETURN_IF_ERROR(output_shape.InsertDim(axis, count));
    if (count == 1) {
      ASSIGN_OR_RETURN(Tensor output, ctx.input(0).Reshaped(output_shape));
      ctx.set_output(0, std::move(output));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, output_shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    const int64_t rows = Before(shape, axis), width = shape.num_elements() / rows;
    for (int i = 0; i < count; ++i) {
      CopyBlock(ctx, ctx.input(i), 0, width, output, i * width, count * width, rows, width);
    }
    return absl::OkStatus();
  }

 private:
  int64_t axis_ = 0;
};

class UnpackKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("axis", &axis_); }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    const int rank = input.dims();
    ASSIGN_OR_RETURN(const int axis, StackedAxis(axis_, rank));
    const int count = ctx.num_outputs();
    if (input.dim_size(axis) != count) {
      return errors::InvalidArgument("Input shape axis ", axis, " must equal ", count, ", got shape ",
                                     input.shape().ToString());
    }
    if (axis == 0) {
      for (int i = 0; i < count; ++i) ctx.set_output(i, input.SubSlice(i));
      return absl::OkStatus();
    }
    TensorShape shape = input.shape();
    shape.RemoveDim(axis);
    const int64_t rows = Before(input.shape(), axis), width = After(input.shape(), axis);
    for (int i = 0; i < count; ++i) {
      ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(i, shape));
      CopyBlock(ctx, input, i * width, count * width, output, 0, width, rows, width);
    }
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }

 private:
  int64_t axis_ = 0;
};

}  // namespace

absl::Status RegisterJoinKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<ConcatKernel>(Kernel("Concat").Cpu().HostMemory("concat_dim")));
  RETURN_IF_ERROR(kernels.Register<ConcatKernel>(Kernel("ConcatV2").Cpu().HostMemory("axis")));
  RETURN_IF_ERROR(kernels.Register<ConcatOffsetKernel>(
      Kernel("ConcatOffset").Cpu().HostMemory("concat_dim").HostMemory("shape").HostMemory("offset")));
  RETURN_IF_ERROR(kernels.Register<SplitKernel>(Kernel("Split").Cpu().HostMemory("split_dim")));
  RETURN_IF_ERROR(
      kernels.Register<SplitVKernel>(Kernel("SplitV").Cpu().HostMemory("size_splits").HostMemory("split_dim")));
  RETURN_IF_ERROR(kernels.Register<PackKernel>(Kernel("Pack").Cpu()));
  return kernels.Register<UnpackKernel>(Kernel("Unpack").Cpu());
}

}  // namespace weir
