// Kernels that report, change or check a shape, and those that make tensors of one value.
#include "absl/strings/str_join.h"
#include "core/tensor/index_tensor.h"
#include "core/tensor/numeric_types.h"
#include "kernels/array/family.h"
#include "kernels/containers/variant_arithmetic.h"
#include "kernels/device/elements.h"
#include "kernels/device/parallel.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {
namespace {

constexpr int64_t kMaxReshapeDims = 254;

class CheapKernel : public OpKernel {
 public:
  bool IsExpensive() const final { return false; }
};

// Shape and ShapeN: the shape of each input.
class ShapeKernel : public CheapKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      const TensorShape& shape = ctx.input(i).shape();
      ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(i, TensorShape({shape.dims()})));
      RETURN_IF_ERROR(WriteIntegers(shape.dim_sizes(), output));
    }
    return absl::OkStatus();
  }
};

class SizeKernel : public CheapKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, TensorShape()));
    return WriteIntegers({ctx.input(0).NumElements()}, output);
  }
};

class RankKernel : public CheapKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, TensorShape()));
    output->scalar<int32_t>() = ctx.input(0).dims();
    return absl::OkStatus();
  }
};

absl::Status SetReshaped(OpKernelContext& ctx, absl::Span<const int64_t> dims) {
  ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build(dims));
  ASSIGN_OR_RETURN(Tensor output, ctx.input(0).Reshaped(shape));
  ctx.set_output(0, std::move(output));
  return absl::OkStatus();
}

class ReshapeKernel : public CheapKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& sizes = ctx.input(1);
    if (sizes.dims() > 1) {
      return errors::InvalidArgument("sizes input must be 1-D, not ", sizes.shape().ToString());
    }
    if (sizes.NumElements() >= kMaxReshapeDims) {
      return errors::InvalidArgument("too many dimensions: must be < ", kMaxReshapeDims, ", but received ",
                                     sizes.NumElements());
    }
    ASSIGN_OR_RETURN(DimVector dims, ReadIntegers(sizes));
    int open = -1;
    int64_t product = 1;  // of the sizes that are not zero
    bool has_zero = false;
    for (int i = 0; i < static_cast<int>(dims.size()); ++i) {
      if (dims[i] == -1) {
        if (open >= 0) return errors::InvalidArgument("Only one input size may be -1, not both ", open, " and ", i);
        open = i;
      } else if (dims[i] < 0) {
        return errors::InvalidArgument("Size ", i, " must be non-negative, not ", dims[i]);
      } else if (dims[i] == 0) {
        has_zero = true;
      } else if (product = MultiplyWithoutOverflow(product, dims[i]); product < 0) {
        return errors::InvalidArgument("Shape ", absl::StrJoin(dims, ","), " has too many elements");
      }
    }
    const TensorShape& shape = ctx.input(0).shape();
    if (open >= 0) {
      // If another size is zero, the open one is computed from the input's dimensions that are not zero.
      int64_t count = 1;
      for (int64_t size : shape.dim_sizes()) count = MultiplyWithoutOverflow(count, size == 0 && has_zero ? 1 : size);
      if (count < 0 || count % product != 0) {
        return errors::InvalidArgument("Input to reshape is a tensor with ", count,
                                       " values, but the requested shape requires a multiple of ", product);
      }
      dims[open] = count / product;
    }
    const int64_t requested = open >= 0 ? (has_zero ? 0 : dims[open] * product) : (has_zero ? 0 : product);
    if (requested != shape.num_elements()) {
      return errors::InvalidArgument("Input to reshape is a tensor with ", shape.num_elements(),
                                     " values, but the requested shape has ", requested);
    }
    return SetReshaped(ctx, dims);
  }
};

class ExpandDimsKernel : public CheapKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const TensorShape& shape = ctx.input(0).shape();
    ASSIGN_OR_RETURN(int64_t axis, ReadInteger(ctx.input(1), "'dim' input"));
    if (axis < -1 - shape.dims() || axis > shape.dims()) {
      return errors::InvalidArgument("Tried to expand dim index ", axis, " for tensor with ", shape.dims(),
                                     " dimensions.");
    }
    if (axis < 0) axis += shape.dims() + 1;
    DimVector dims(shape.dim_sizes().begin(), shape.dim_sizes().end());
    dims.insert(dims.begin() + axis, 1);
    return SetReshaped(ctx, dims);
  }
};

class SqueezeKernel : public CheapKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("squeeze_dims", &axes_); }

  absl::Status Compute(OpKernelContext& ctx) override {
    const TensorShape& shape = ctx.input(0).shape();
    const int rank = shape.dims();
    std::vector<bool> chosen(rank, axes_.empty());
    for (int64_t axis : axes_) {
      if (axis < -rank || axis >= rank) {
        return errors::InvalidArgument("Tried to squeeze dim index ", axis, " for tensor with ", rank, " dimensions.");
      }
      chosen[axis < 0 ? axis + rank : axis] = true;
    }
    DimVector dims;
    for (int i = 0; i < rank; ++i) {
      if (chosen[i] && shape.dim_size(i) == 1) continue;
      if (chosen[i] && !axes_.empty()) {
        return errors::InvalidArgument("Can not squeeze dim[", i, "], expected a dimension of 1, got ",
                                       shape.dim_size(i));
      }
      dims.push_back(shape.dim_size(i));
    }
    return SetReshaped(ctx, dims);
  }

 private:
  std::vector<int64_t> axes_;
};

class EnsureShapeKernel : public CheapKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    if (ctx.node_def().input_size() > 0) input_ = ctx.node_def().input(0);
    return ctx.GetAttr("shape", &expected_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const TensorShape& shape = ctx.input(0).shape();
    if (!expected_.IsCompatibleWith(shape)) {
      return errors::InvalidArgument("Shape of tensor ", input_, " ", shape.ToString(),
                                     " is not compatible with expected shape ", expected_.ToString(), ".");
    }
    ctx.set_output(0, ctx.input(0));
    return absl::OkStatus();
  }

 private:
  std::string input_;
  PartialTensorShape expected_;
};

class SnapshotKernel : public CheapKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const TensorShape shape = ctx.input(0).shape();
    const Tensor input = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    CopyElements(input.dtype(), output->raw_data(), input.raw_data(), input.NumElements());
    return absl::OkStatus();
  }
};

class ZerosLikeKernel : public CheapKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const TensorShape shape = ctx.input(0).shape();
    if (ctx.input(0).dtype() == DT_VARIANT) return ComputeVariants(ctx);
    ASSIGN_OR_RETURN(Tensor * output, ctx.forward_input_or_allocate_output({0}, 0, shape));
    ZeroElements(output->dtype(), output->raw_data(), output->NumElements());
    return absl::OkStatus();
  }

 private:
  static absl::Status ComputeVariants(OpKernelContext& ctx) {
    const Tensor input = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, input.shape()));
    for (int64_t i = 0; i < input.NumElements(); ++i) {
      ASSIGN_OR_RETURN(output->data<Variant>()[i], ZerosLikeVariant(ctx, HostSequences(), input.data<Variant>()[i]));
    }
    return absl::OkStatus();
  }
};

absl::StatusOr<Tensor> One(DataType type) {
  switch (type) {
#define WEIR_ONE(T)     \
  case DataTypeOf<T>(): \
    return Tensor::Scalar<T>(T(1));
    WEIR_FOR_NUMBERS(WEIR_ONE)
    WEIR_ONE(bool)
#undef WEIR_ONE
    default:
      return errors::Unimplemented("OnesLike of ", DataTypeName(type));
  }
}

class OnesLikeKernel : public CheapKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(one_, One(ctx.input_types()[0]));
    return absl::OkStatus();
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    const TensorShape shape = ctx.input(0).shape();
    ASSIGN_OR_RETURN(Tensor * output, ctx.forward_input_or_allocate_output({0}, 0, shape));
    FillElements(output->dtype(), one_.raw_data(), output->raw_data(), output->NumElements());
    return absl::OkStatus();
  }

 private:
  Tensor one_;
};

class FillKernel : public CheapKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& dims = ctx.input(0);
    const Tensor& value = ctx.input(1);
    if (dims.dims() > 1) {
      return errors::InvalidArgument("dims must represent a vector, got shape ", dims.shape().ToString());
    }
    if (value.NumElements() != 1 || value.dims() > 1) {
      return errors::InvalidArgument("value must represent a scalar, got shape ", value.shape().ToString());
    }
    ASSIGN_OR_RETURN(const Tensor sizes, dims.Reshaped(TensorShape({dims.NumElements()})));
    ASSIGN_OR_RETURN(const TensorShape shape, ReadShape(sizes));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    char* out = static_cast<char*>(output->raw_data());
    const int64_t size = DataTypeSize(output->dtype());
    ParallelRanges(ctx, output->NumElements(), 25 * size, [&](int64_t begin, int64_t end) {
      FillElements(output->dtype(), value.raw_data(), out + begin * size, end - begin);
    });
    return absl::OkStatus();
  }
};

class EmptyKernel : public CheapKernel {
 public:
  // Without `init` any contents are allowed; zeros do not leak what the memory held before.
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const TensorShape shape, ReadShape(ctx.input(0)));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    ZeroElements(output->dtype(), output->raw_data(), output->NumElements());
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterShapeKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<ShapeKernel>(Kernel("Shape").Cpu()));
  RETURN_IF_ERROR(kernels.Register<ShapeKernel>(Kernel("ShapeN").Cpu()));
  RETURN_IF_ERROR(kernels.Register<SizeKernel>(Kernel("Size").Cpu()));
  RETURN_IF_ERROR(kernels.Register<RankKernel>(Kernel("Rank").Cpu()));
  RETURN_IF_ERROR(kernels.Register<ReshapeKernel>(Kernel("Reshape").Cpu()));
  RETURN_IF_ERROR(kernels.Register<ExpandDimsKernel>(Kernel("ExpandDims").Cpu()));
  RETURN_IF_ERROR(kernels.Register<SqueezeKernel>(Kernel("Squeeze").Cpu()));
  RETURN_IF_ERROR(kernels.Register<EnsureShapeKernel>(Kernel("EnsureShape").Cpu()));
  RETURN_IF_ERROR(kernels.Register<SnapshotKernel>(Kernel("Snapshot").Cpu()));
  RETURN_IF_ERROR(kernels.Register<SnapshotKernel>(Kernel("DeepCopy").Cpu()));
  RETURN_IF_ERROR(kernels.Register<ZerosLikeKernel>(Kernel("ZerosLike").Cpu()));
  RETURN_IF_ERROR(kernels.Register<OnesLikeKernel>(Kernel("OnesLike").Cpu()));
  RETURN_IF_ERROR(kernels.Register<FillKernel>(Kernel("Fill").Cpu()));
  return kernels.Register<EmptyKernel>(Kernel("Empty").Cpu());
}

}  // namespace weir
