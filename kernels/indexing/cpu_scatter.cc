// ScatterNd and the TensorScatter family: slices of a tensor replaced by updates, or combined with them.
#include <utility>

#include "core/tensor/index_tensor.h"
#include "kernels/device/elements.h"
#include "kernels/indexing/args_scatter.h"
#include "kernels/indexing/family.h"
#include "kernels/indexing/nd_indices.h"
#include "kernels/state/update_loops.h"

namespace weir {
namespace {

absl::Status CheckTensorUpdates(const TensorShape& indices, const TensorShape& updates, const TensorShape& shape) {
  const absl::Status dimensions = CheckSliceUpdates(indices, updates, shape);
  if (dimensions.ok() || indices.dims() < 1 || updates.dims() < 1) return dimensions;
  for (int d = 0; d < indices.dims() - 1; ++d) {
    if (d < updates.dims() && updates.dim_size(d) == indices.dim_size(d)) continue;
    return errors::InvalidArgument("Outer dimensions of indices and update must match. Indices shape: ",
                                   indices.ToString(), ", updates shape:", updates.ToString());
  }
  const int outer = indices.dims() - 1;
  const int64_t inner = shape.dims() - indices.dim_size(outer);
  if (inner == updates.dims() - outer) {
    return errors::InvalidArgument("The inner ", inner, " dimensions of output.shape=", shape.ToString(),
                                   " must match the inner ", inner,
                                   " dimensions of updates.shape=", updates.ToString());
  }
  return errors::InvalidArgument(
      "Inner dimensions of output shape must match inner dimensions of updates shape. Output: ", shape.ToString(),
      " updates: ", updates.ToString());
}

// Updates go into `output` one after another, so that each sees what came before it.
void Apply(const NdIndices& nd, UpdateLoop loop, const Tensor& updates, Tensor* output) {
  const int64_t width = nd.slice.num_elements(), bytes = width * static_cast<int64_t>(DataTypeSize(output->dtype()));
  char* out = static_cast<char*>(output->raw_data());
  const char* from = static_cast<const char*>(updates.raw_data());
  for (size_t i = 0; i < nd.offsets.size(); ++i) {
    if (nd.offsets[i] >= 0) loop(out + nd.offsets[i] * bytes, from + i * bytes, 1, width);
  }
}

// "Or" for booleans and concatenation for strings, which have no addition.
void AddBooleans(void* target, const void* update, int64_t step, int64_t n) {
  for (int64_t i = 0; i < n; ++i) static_cast<bool*>(target)[i] |= static_cast<const bool*>(update)[i * step];
}
void AddStrings(void* target, const void* update, int64_t step, int64_t n) {
  for (int64_t i = 0; i < n; ++i) static_cast<tstring*>(target)[i] += static_cast<const tstring*>(update)[i * step];
}

// indices, updates, shape: zeros to which the updates are added.
class ScatterNdKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    const DataType type = ctx.output_types()[0];
    loop_ = type == DT_BOOL ? &AddBooleans : type == DT_STRING ? &AddStrings : FindUpdateLoop(UpdateOp::kAdd, type);
    if (loop_ == nullptr) return errors::Unimplemented("ScatterNd of ", DataTypeName(type));
    ASSIGN_OR_RETURN(ignore_bad_, IgnoresBadIndices(ctx));
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& indices = ctx.input(0);
    const Tensor& updates = ctx.input(1);
    if (ctx.input(2).dims() != 1) {
      return errors::InvalidArgument("Shape must be a vector, got ", ctx.input(2).shape().ToString());
    }
    ASSIGN_OR_RETURN(const TensorShape shape, ReadShape(ctx.input(2)));
    if (shape.num_elements() == 0 && (indices.NumElements() > 0 || updates.NumElements() > 0)) {
      return errors::InvalidArgument("Indices and updates specified for empty output.  indices shape: ",
                                     indices.shape().ToString());
    }
    RETURN_IF_ERROR(CheckSliceUpdates(indices.shape(), updates.shape(), shape));
    ASSIGN_OR_RETURN(const NdIndices nd, NdIndices::Of(indices, shape, "output"));
    if (nd.first_bad >= 0 && !ignore_bad_) return nd.Error("shape", shape);
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    ZeroElements(output->dtype(), output->raw_data(), output->NumElements());
    Apply(nd, loop_, updates, output);
    return absl::OkStatus();
  }

 private:
  bool ignore_bad_ = false;
  UpdateLoop loop_ = nullptr;
};

// tensor, indices, updates: a copy of the tensor, or itself where nobody else holds it, with the updates applied.
template <UpdateOp kOp>
class TensorScatterKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    loop_ = FindUpdateLoop(kOp, ctx.output_types()[0]);
    if (loop_ == nullptr) return errors::Unimplemented(ctx.op(), " of ", DataTypeName(ctx.output_types()[0]));
    ASSIGN_OR_RETURN(ignore_bad_, IgnoresBadIndices(ctx));
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const TensorShape shape = ctx.input(0).shape();
    const Tensor& indices = ctx.input(1);
    const Tensor& updates = ctx.input(2);
    if (shape.num_elements() == 0 && (indices.NumElements() > 0 || updates.NumElements() > 0)) {
      return errors::InvalidArgument("Indices and updates specified for empty output shape");
    }
    RETURN_IF_ERROR(CheckTensorUpdates(indices.shape(), updates.shape(), shape));
    if (shape.dims() < 1) {
      return errors::InvalidArgument("Tensor must be at least 1-D, got shape: ", shape.ToString());
    }
    ASSIGN_OR_RETURN(const NdIndices nd, NdIndices::Of(indices, shape, "tensor"));
    if (nd.first_bad >= 0 && !ignore_bad_) return nd.Error("shape", shape);
    if (std::optional<Tensor> own = ctx.forward_input(0, ctx.expected_output_dtype(0), shape)) {
      Apply(nd, loop_, updates, &*own);
      ctx.set_output(0, *std::move(own));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    CopyElements(output->dtype(), output->raw_data(), ctx.input(0).raw_data(), shape.num_elements());
    Apply(nd, loop_, updates, output);
    return absl::OkStatus();
  }

 private:
  bool ignore_bad_ = false;
  UpdateLoop loop_ = nullptr;
};

}  // namespace

absl::Status RegisterScatterKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<ScatterNdKernel>(Kernel("ScatterNd").Cpu().HostMemory("shape")));
  RETURN_IF_ERROR(kernels.Register<TensorScatterKernel<UpdateOp::kAssign>>(Kernel("TensorScatterUpdate").Cpu()));
  RETURN_IF_ERROR(kernels.Register<TensorScatterKernel<UpdateOp::kAdd>>(Kernel("TensorScatterAdd").Cpu()));
  RETURN_IF_ERROR(kernels.Register<TensorScatterKernel<UpdateOp::kSub>>(Kernel("TensorScatterSub").Cpu()));
  RETURN_IF_ERROR(kernels.Register<TensorScatterKernel<UpdateOp::kMax>>(Kernel("TensorScatterMax").Cpu()));
  RETURN_IF_ERROR(kernels.Register<TensorScatterKernel<UpdateOp::kMin>>(Kernel("TensorScatterMin").Cpu()));
  return kernels.Register<TensorScatterKernel<UpdateOp::kAdd>>(Kernel("ScatterNdNonAliasingAdd").Cpu());
}

}  // namespace weir
