#include "kernels/device/elements.h"
#include "kernels/sparse/family.h"
#include "kernels/sparse/reshape_indices.h"
#include "kernels/sparse/sparse_tensor.h"

namespace weir {
namespace {

// `target` with its size of -1 found, such that it holds what `shape` does.
absl::StatusOr<TensorShape> ResolveTarget(const TensorShape& shape, absl::Span<const int64_t> target) {
  TensorShape result;
  int unknown = -1;
  for (size_t d = 0; d < target.size(); ++d) {
    if (target[d] == -1) {
      if (unknown >= 0) {
        return errors::InvalidArgument("only one output dimension may be -1, not both ", unknown, " and ", d);
      }
      unknown = static_cast<int>(d);
    } else if (target[d] < 0) {
      return errors::InvalidArgument("size ", d, " must be non-negative, not ", target[d]);
    }
    RETURN_IF_ERROR(result.AddDim(target[d] == -1 ? 1 : target[d]));
  }
  const int64_t size = shape.num_elements(), known = result.num_elements();
  if (unknown >= 0) {
    if (known == 0) {
      return errors::InvalidArgument(
          "reshape cannot infer the missing input size for an empty tensor unless all specified input sizes are "
          "non-zero");
    }
    if (size % known != 0) {
      return errors::InvalidArgument("Input to reshape is a SparseTensor with ", size,
                                     " dense values, but the requested shape requires a multiple of ", known,
                                     ". input_shape=", shape.ToString(), " output_shape=", result.ToString());
    }
    RETURN_IF_ERROR(result.SetDim(unknown, size / known));
  }
  if (result.num_elements() != size) {
    return errors::InvalidArgument("Input to reshape is a tensor with ", size,
                                   " dense values, but the requested shape has ", result.num_elements(),
                                   ". input_shape=", shape.ToString(), " output_shape=", result.ToString());
  }
  return result;
}

absl::Status CheckSizes(const DimVector& sizes) {
  int64_t product = 1;
  for (const int64_t size : sizes) {
    if (size < 0) return errors::InvalidArgument("Expected shape dimensions to be non-negative, got ", size);
    const int64_t next = MultiplyWithoutOverflow(product, size);
    if (next < 0) {
      return errors::InvalidArgument("Encountered overflow when multiplying ", product, " with ", size,
                                     ", result: ", next);
    }
    product = next;
  }
  return absl::OkStatus();
}

class SparseReshapeKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    return ReshapeSparse(ctx, ctx.input(0), ctx.input(1), ctx.input(2), 0, 1);
  }
};

}  // namespace

absl::Status ReshapeSparse(OpKernelContext& ctx, const Tensor& indices, const Tensor& shape, const Tensor& target,
                           int indices_output, int shape_output) {
  if (indices.dims() != 2) {
    return errors::InvalidArgument("Input must be a matrix. Input indices have shape ", indices.shape().ToString());
  }
  if (shape.dims() != 1) {
    return errors::InvalidArgument("Input shape must be a vector. It has shape ", shape.shape().ToString());
  }
  ASSIGN_OR_RETURN(const DimVector from_sizes, ReadVector(shape, "shape"));
  RETURN_IF_ERROR(CheckSizes(from_sizes));
  if (target.dims() != 1) {
    return errors::InvalidArgument("Target shape should be a vector but received shape ", target.shape().ToString());
  }
  ASSIGN_OR_RETURN(const TensorShape from, TensorShape::Build(from_sizes));
  ASSIGN_OR_RETURN(const TensorShape to, ResolveTarget(from, target.flat<int64_t>()));
  if (indices.dim_size(1) != from.dims()) {
    return errors::InvalidArgument("Input tensor rank must match input shape length: ", indices.dim_size(1), " vs. ",
                                   from.dims());
  }
  if (from == to) {
    ctx.set_output(indices_output, indices);
    ctx.set_output(shape_output, shape);
    return absl::OkStatus();
  }
  const int64_t entries = indices.dim_size(0);
  if (entries > 0 && from.num_elements() == 0) {
    return errors::InvalidArgument("Input tensor has ", entries, " non zero elements but input shape (",
                                   from.ToString(), ") or output shape (", to.ToString(), ") is empty");
  }
  ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(indices_output, TensorShape({entries, to.dims()})));
  const DimVector from_steps = DenseSteps(from.dim_sizes()), to_steps = DenseSteps(to.dim_sizes());
  const int64_t* in = indices.data<int64_t>();
  int64_t* out = output->data<int64_t>();
  for (int64_t i = 0; i < entries; ++i) {
    // Unsigned, for an index may lie anywhere: it wraps instead of overflowing.
    uint64_t flat = 0;
    for (int d = 0; d < from.dims(); ++d) flat += static_cast<uint64_t>(*in++) * static_cast<uint64_t>(from_steps[d]);
    int64_t rest = static_cast<int64_t>(flat);
    for (int d = 0; d < to.dims(); ++d) {
      *out++ = rest / to_steps[d];
      rest %= to_steps[d];
    }
  }
  ctx.set_output(shape_output, ShapeTensor(to.dim_sizes()));
  return absl::OkStatus();
}

absl::Status RegisterSparseReshapeKernels(KernelRegistry& kernels) {
  return kernels.Register<SparseReshapeKernel>(Kernel("SparseReshape").Cpu());
}

}  // namespace weir
