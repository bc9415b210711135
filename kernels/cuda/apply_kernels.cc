// Optimizers' steps on variables in a GPU's memory. Learning rates and the like are read there: the host waits for
// none of them.
#include <map>

#include "kernels/cuda/body_kernel.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/gpu_variable.h"
#include "tensorflow/core/framework/op_def.pb.h"

namespace weir {
namespace {

constexpr int kMaxVariables = 3, kMaxScalars = 6;

// Inputs: the variable and its slots, then scalars and the gradient in the order of the op's arguments.
class ApplyKernel : public GpuOpKernel {
 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("T", &dtype_));
    for (int i = 0; i < ctx.op_def().input_arg_size(); ++i) {
      const tensorflow::OpDef::ArgDef& arg = ctx.op_def().input_arg(i);
      names_.push_back(arg.name());
      if (arg.type() == tensorflow::DT_RESOURCE) {
        ++num_variables_;
      } else if (arg.name() == "grad" || arg.name() == "delta") {
        gradient_ = i;
      } else {
        scalars_.push_back(i);
      }
    }
    if (gradient_ < 0 || num_variables_ > kMaxVariables || scalars_.size() > kMaxScalars) {
      return errors::Internal(ctx.op(), " does not have the arguments of an optimizer's step");
    }
    if (ctx.HasAttr("use_nesterov")) RETURN_IF_ERROR(ctx.GetAttr("use_nesterov", &use_nesterov_));
    ASSIGN_OR_RETURN(kernel_, FindBody(ctx.op(), dtype_));
    return absl::OkStatus();
  }

  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& gradient = ctx.input(gradient_);
    ApplyArgs args{.gradient = gradient.raw_data(), .use_nesterov = use_nesterov_, .count = gradient.NumElements()};
    std::vector<GpuAccess> accesses = {ReadOf(gradient)};
    for (size_t i = 0; i < scalars_.size(); ++i) {
      const Tensor& scalar = ctx.input(scalars_[i]);
      if (scalar.dims() != 0) {
        return errors::InvalidArgument(names_[scalars_[i]], " is not a scalar: ", scalar.shape().ToString());
      }
      args.scalars[i] = scalar.raw_data();
      accesses.push_back(ReadOf(scalar));
    }
    // In the order of the handles' names: two steps on the same variables do not wait for each other for ever.
    std::map<std::string, int> order;
    for (int i = 0; i < num_variables_; ++i) {
      ASSIGN_OR_RETURN(const ResourceHandle* handle, HandleOf(ctx, i));
      if (!order.emplace(absl::StrCat(handle->container, "/", handle->name), i).second) {
        return errors::InvalidArgument(names_[i], " is the same variable as another input");
      }
    }
    std::optional<LockedGpuVariable> variables[kMaxVariables];
    for (const auto& [name, i] : order) {
      ASSIGN_OR_RETURN(variables[i], LockedGpuVariable::Lock(ctx, i, dtype_));
    }
    for (int i = 0; i < num_variables_; ++i) {
      const TensorShape& shape = variables[i]->value().shape();
      if (shape != gradient.shape()) {
        return errors::InvalidArgument(names_[i], " and ", names_[gradient_], " do not have the same shape",
                                       shape.ToString(), " ", gradient.shape().ToString());
      }
    }
    if (args.count == 0) return absl::OkStatus();
    for (int i = 0; i < num_variables_; ++i) {
      RETURN_IF_ERROR(variables[i]->PrepareToUpdate(ctx, stream));
      args.variables[i] = variables[i]->value().raw_data();
      accesses.push_back(WriteOf(variables[i]->value()));
    }
    return stream.LaunchWith(kernel_, args, accesses);
  }

 private:
  DataType dtype_ = DT_INVALID;
  int num_variables_ = 0, gradient_ = -1;
  std::vector<int> scalars_;
  std::vector<std::string> names_;  // of the op's arguments
  bool use_nesterov_ = false;
  GpuKernel kernel_;
};

}  // namespace

absl::Status RegisterGpuApplyKernels(KernelRegistry& kernels) {
  const auto kernel = [](const char* op) {
    return Kernel(op).Device(kDeviceGpu).Types("T", kGpuFloats).HostMemory("var");
  };
  RETURN_IF_ERROR(kernels.Register<ApplyKernel>(kernel("ResourceApplyGradientDescent")));
  RETURN_IF_ERROR(kernels.Register<ApplyKernel>(kernel("ResourceApplyMomentum").HostMemory("accum")));
  return kernels.Register<ApplyKernel>(kernel("ResourceApplyAdam").HostMemory("m").HostMemory("v"));
}

}  // namespace weir
