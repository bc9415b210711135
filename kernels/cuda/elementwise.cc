// Element-wise kernels of one and two operands for GPUs.

#include <cstring>

#include "core/gpu/gpu_op_kernel.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/families.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {
namespace {

static_assert(static_cast<int>(ElementType::kFloat) == DT_FLOAT &&
              static_cast<int>(ElementType::kDouble) == DT_DOUBLE &&
              static_cast<int>(ElementType::kInt64) == DT_INT64 && static_cast<int>(ElementType::kBool) == DT_BOOL &&
              static_cast<int>(ElementType::kBfloat16) == DT_BFLOAT16 &&
              static_cast<int>(ElementType::kHalf) == DT_HALF);

const ElementwiseEntry* Find(const ElementwiseTable& table, const std::string& op, DataType type) {
  for (int i = 0; i < table.size; ++i) {
    if (op == table.entries[i].op && static_cast<int>(table.entries[i].type) == type) return &table.entries[i];
  }
  return nullptr;
}

class ElementwiseKernel : public GpuOpKernel {
 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(kernel_, FindElementwise(ctx.op(), ctx.input_types()[0]));
    return absl::OkStatus();
  }
  absl::Status Run(GpuStream& stream, const ElementwiseArgs& args, absl::Span<const GpuAccess> accesses) const {
    return args.count == 0 ? absl::OkStatus() : stream.LaunchWith(kernel_, args, accesses);
  }

 private:
  GpuKernel kernel_;
};

class UnaryKernel : public ElementwiseKernel {
 protected:
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    // Not by reference: forwarding moves the input away.
    const GpuAccess read = ReadOf(ctx.input(0));
    const TensorShape shape = ctx.input(0).shape();
    ASSIGN_OR_RETURN(Tensor * output, ctx.forward_input_or_allocate_output({0}, 0, shape));
    return Run(stream, {.x = read.data, .out = output->raw_data(), .count = shape.num_elements()},
               {read, WriteOf(*output)});
  }
};

class BinaryKernel : public ElementwiseKernel {
 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    // Equal and NotEqual may answer a scalar where shapes do not match.
    bool error = true;
    if (ctx.HasAttr("incompatible_shape_error")) RETURN_IF_ERROR(ctx.GetAttr("incompatible_shape_error", &error));
    if (!error) {
      return errors::Unimplemented("There is no GPU kernel for ", ctx.op(), " with incompatible_shape_error=false");
    }
    return ElementwiseKernel::InitOnGpu(ctx);
  }

  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& x = ctx.input(0);
    const Tensor& y = ctx.input(1);
    ElementwiseArgs args;
    ASSIGN_OR_RETURN(const TensorShape shape, Broadcast(x.shape(), y.shape(), &args));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    args.x = x.raw_data();
    args.y = y.raw_data();
    args.out = output->raw_data();
    args.count = shape.num_elements();
    return Run(stream, args, {ReadOf(x), ReadOf(y), WriteOf(*output)});
  }

 private:
  // The output's shape, and how to find the operands' elements, in as few dimensions as the shapes allow.
  static absl::StatusOr<TensorShape> Broadcast(const TensorShape& x, const TensorShape& y, ElementwiseArgs* args) {
    if (x == y) return x;
    const int rank = std::max(x.dims(), y.dims());
    DimVector shape(rank);
    int64_t sizes[kMaxRank], x_steps[kMaxRank], y_steps[kMaxRank];
    int used = 0;
    bool x_repeats = false, y_repeats = false;
    int64_t x_run = 1, y_run = 1;  // elements of one step along the dimension
    for (int i = 1; i <= rank; ++i) {
      const int64_t nx = i <= x.dims() ? x.dim_size(x.dims() - i) : 1;
      const int64_t ny = i <= y.dims() ? y.dim_size(y.dims() - i) : 1;
      if (nx != ny && nx != 1 && ny != 1) {
        return errors::InvalidArgument("Incompatible shapes: ", x.ToString(), " vs. ", y.ToString());
      }
      const int64_t n = nx == 1 ? ny : nx;
      shape[rank - i] = n;
      if (n != 1) {
        if (used > 0 && x_repeats == (nx == 1) && y_repeats == (ny == 1)) {
          sizes[used - 1] *= n;
        } else {
          x_repeats = nx == 1;
          y_repeats = ny == 1;
          sizes[used] = n;
          x_steps[used] = x_repeats ? 0 : x_run;
          y_steps[used] = y_repeats ? 0 : y_run;
          ++used;
        }
      }
      x_run *= nx;
      y_run *= ny;
    }
    if (used > kMaxElementwiseRank) {
      return errors::Unimplemented("Broadcast between ", x.ToString(), " and ", y.ToString(), " is not supported yet");
    }
    if (used == 0) {
      sizes[used] = 1;
      x_steps[used] = y_steps[used] = 0;
      ++used;
    }
    args->rank = used;
    for (int i = 0; i < used; ++i) {
      args->sizes[i] = sizes[used - 1 - i];
      args->x_steps[i] = x_steps[used - 1 - i];
      args->y_steps[i] = y_steps[used - 1 - i];
    }
    return TensorShape::Build(shape);
  }
};

// The first two, and then each of the others to their sum.
class AddNKernel : public GpuOpKernel {
 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(kernel_, FindElementwise("Add", ctx.input_types()[0]));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor first = ctx.input(0);
    for (int i = 1; i < ctx.num_inputs(); ++i) {
      if (ctx.input(i).shape() == first.shape()) continue;
      return errors::InvalidArgument("Inputs to operation ", ctx.node_def().name(),
                                     " of type AddN must have the same size and shape.  Input 0: ",
                                     first.shape().ToString(), " != input ", i, ": ", ctx.input(i).shape().ToString());
    }
    if (ctx.num_inputs() == 1) {
      ctx.set_output(0, first);
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * sum, ctx.allocate_output(0, first.shape()));
    if (first.NumElements() == 0) return absl::OkStatus();
    for (int i = 1; i < ctx.num_inputs(); ++i) {
      const Tensor& before = i == 1 ? first : *sum;
      RETURN_IF_ERROR(stream.LaunchWith(kernel_,
                                        ElementwiseArgs{.x = before.raw_data(),
                                                        .y = ctx.input(i).raw_data(),
                                                        .out = sum->raw_data(),
                                                        .count = first.NumElements()},
                                        {ReadOf(before), ReadOf(ctx.input(i)), WriteOf(*sum)}));
    }
    return absl::OkStatus();
  }

 private:
  GpuKernel kernel_;
};

}  // namespace

absl::StatusOr<GpuKernel> FindElementwise(const std::string& op, DataType type) {
  const ElementwiseEntry* const cuda = Find(CudaElementwiseTable(), op, type);
  const ElementwiseEntry* const simulated = Find(SimulatedElementwiseTable(), op, type);
  if (simulated == nullptr) {
    return errors::Unimplemented("There is no GPU kernel for ", op, " of ", DataTypeName(type));
  }
  return GpuKernel{
      .name = simulated->op, .launch = cuda == nullptr ? nullptr : cuda->launch, .simulate = simulated->simulate};
}

absl::Status RegisterGpuElementwiseKernels(KernelRegistry& kernels) {
  const ElementwiseTable table = SimulatedElementwiseTable();
  for (int i = 0; i < table.size; ++i) {
    const ElementwiseEntry& entry = table.entries[i];
    Kernel kernel = Kernel(entry.op).Device(kDeviceGpu);
    if (entry.type != ElementType::kBool) kernel.Types("T", {static_cast<DataType>(entry.type)});
    RETURN_IF_ERROR(entry.num_operands == 1 ? kernels.Register<UnaryKernel>(kernel)
                                            : kernels.Register<BinaryKernel>(kernel));
  }
  return kernels.Register<AddNKernel>(
      Kernel("AddN").Device(kDeviceGpu).Types("T", {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT64}));
}

}  // namespace weir
