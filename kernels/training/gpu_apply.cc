// Optimizers' steps on variables in a GPU's memory. Learning rates and the like are read there: the host waits for
// none of them, and refuses none.
#include "absl/strings/strip.h"
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/device/gpu/gpu_variable.h"
#include "kernels/training/device.h"
#include "kernels/training/family.h"
#include "tensorflow/core/framework/op_def.pb.h"

namespace weir {
namespace {

// Inputs: the variable and its slots, then scalars, the gradient and the indices of a sparse one in the order of the
// op's arguments.
class ApplyKernel : public GpuOpKernel {
 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("T", &dtype_));
    for (int i = 0; i < ctx.op_def().input_arg_size(); ++i) {
      const tensorflow::OpDef::ArgDef& arg = ctx.op_def().input_arg(i);
      names_.push_back(arg.name());
      if (arg.is_ref() || arg.type() == tensorflow::DT_RESOURCE) {
        ++num_variables_;
      } else if (arg.name() == "grad" || arg.name() == "delta") {
        gradient_ = i;
      } else if (arg.name() == "indices") {
        indices_ = i;
      } else {
        if (arg.type() == tensorflow::DT_INT64) integer_scalar_ = static_cast<int>(scalars_.size());
        scalars_.push_back(i);
      }
    }
    if (gradient_ < 0 || num_variables_ > kMaxUpdatedVariables || scalars_.size() > kMaxUpdateScalars) {
      return errors::Internal(ctx.op(), " does not have the arguments of an optimizer's step");
    }
    for (const char* flag : {"use_nesterov", "update_slots", "multiply_linear_by_lr"}) {
      if (ctx.HasAttr(flag)) RETURN_IF_ERROR(ctx.GetAttr(flag, &flag_));
    }
    absl::string_view rule = ctx.op();
    absl::ConsumePrefix(&rule, "Resource");
    absl::ConsumePrefix(&rule, "Sparse");
    absl::ConsumePrefix(&rule, "Apply");
    ASSIGN_OR_RETURN(kernel_, FindBody(std::string(rule), dtype_));
    return absl::OkStatus();
  }

  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    RETURN_IF_ERROR(Update(ctx, stream));
    ForwardReference(ctx);
    return absl::OkStatus();
  }

 private:
  absl::Status Update(OpKernelContext& ctx, GpuStream& stream) {
    const Tensor& gradient = ctx.input(gradient_);
    UpdateArgs args{.gradient = gradient.raw_data(),
                    .integer_scalar = integer_scalar_,
                    .flag = flag_,
                    .count = gradient.NumElements()};
    std::vector<GpuAccess> accesses = {ReadOf(gradient)};
    for (size_t i = 0; i < scalars_.size(); ++i) {
      const Tensor& scalar = ctx.input(scalars_[i]);
      if (scalar.dims() != 0) {
        return errors::InvalidArgument(names_[scalars_[i]], " is not a scalar: ", scalar.shape().ToString());
      }
      args.scalars[i] = scalar.raw_data();
      accesses.push_back(ReadOf(scalar));
    }
    ASSIGN_OR_RETURN(std::vector<LockedGpuVariable> variables, LockedGpuVariable::LockAll(ctx, num_variables_, dtype_));
    const TensorShape shape = variables[0].value().shape();
    for (int i = 1; i < num_variables_; ++i) {
      if (variables[i].value().shape() == shape) continue;
      return errors::InvalidArgument(names_[0], " and ", names_[i], " do not have the same shape", shape.ToString(),
                                     " ", variables[i].value().shape().ToString());
    }
    if (indices_ >= 0) {
      const Tensor& indices = ctx.input(indices_);
      RETURN_IF_ERROR(CheckRows(shape, gradient.shape(), indices.shape()));
      args.indices = indices.raw_data();
      args.wide_indices = indices.dtype() == DT_INT64;
      args.rows = shape.dim_size(0);
      args.width = CountBehind(shape, 0);
      accesses.push_back(ReadOf(indices));
    } else if (shape != gradient.shape()) {
      return errors::InvalidArgument(names_[0], " and ", names_[gradient_], " do not have the same shape",
                                     shape.ToString(), " ", gradient.shape().ToString());
    }
    if (args.count == 0) return absl::OkStatus();
    for (int i = 0; i < num_variables_; ++i) {
      RETURN_IF_ERROR(variables[i].PrepareToUpdate(ctx, stream));
      args.variables[i] = variables[i].value().raw_data();
      accesses.push_back(WriteOf(variables[i].value()));
    }
    return stream.LaunchWith(kernel_, args, accesses);
  }

  // That rows of the gradient are rows of the variable.
  absl::Status CheckRows(const TensorShape& shape, const TensorShape& gradient, const TensorShape& indices) const {
    if (shape.dims() < 1) return errors::InvalidArgument(names_[0], " must be at least 1 dimensional");
    if (!indices.IsVector()) return errors::InvalidArgument("indices must be one-dimensional");
    if (gradient.dims() != shape.dims()) {
      return errors::InvalidArgument(names_[0], " and ", names_[gradient_],
                                     " must have the same rank: ", shape.ToString(), " and ", gradient.ToString());
    }
    for (int d = 1; d < shape.dims(); ++d) {
      if (shape.dim_size(d) == gradient.dim_size(d)) continue;
      return errors::InvalidArgument(names_[0], " and ", names_[gradient_], " must match in dimension ", d);
    }
    if (gradient.dim_size(0) == indices.dim_size(0)) return absl::OkStatus();
    return errors::InvalidArgument(names_[gradient_], " must be the same size as indices in the first dimension.");
  }

  DataType dtype_ = DT_INVALID;
  int num_variables_ = 0, gradient_ = -1, indices_ = -1;
  std::vector<int> scalars_;
  int integer_scalar_ = -1;         // among them
  std::vector<std::string> names_;  // of the op's arguments
  bool flag_ = false;
  GpuKernel kernel_;
};

}  // namespace

absl::Status RegisterGpuApplyKernels(KernelRegistry& kernels) {
  struct Rule {
    const char* name;
    std::vector<const char*> variables;
    bool is_sparse_too = false;
    bool is_of_resources = false;  // there is no op on references
  };
  const Rule rules[] = {{"GradientDescent", {"var"}},
                        {"Momentum", {"var", "accum"}, true},
                        {"KerasMomentum", {"var", "accum"}, true, true},
                        {"Adam", {"var", "m", "v"}},
                        {"AdamWithAmsgrad", {"var", "m", "v", "vhat"}, false, true},
                        {"AdaMax", {"var", "m", "v"}},
                        {"Adagrad", {"var", "accum"}, true},
                        {"AdagradV2", {"var", "accum"}, true},
                        {"AdagradDA", {"var", "gradient_accumulator", "gradient_squared_accumulator"}, true},
                        {"ProximalGradientDescent", {"var"}, true},
                        {"ProximalAdagrad", {"var", "accum"}, true},
                        {"RMSProp", {"var", "ms", "mom"}, true},
                        {"CenteredRMSProp", {"var", "mg", "ms", "mom"}, true},
                        {"Adadelta", {"var", "accum", "accum_update"}, true},
                        {"Ftrl", {"var", "accum", "linear"}, true},
                        {"FtrlV2", {"var", "accum", "linear"}, true},
                        {"AddSign", {"var", "m"}},
                        {"PowerSign", {"var", "m"}}};
  const auto register_rule = [&kernels](const Rule& rule, bool is_resource, bool is_sparse) {
    Kernel kernel(absl::StrCat(is_resource ? "Resource" : "", is_sparse ? "Sparse" : "", "Apply", rule.name));
    kernel.Device(kDeviceGpu).Types("T", kGpuFloats);
    if (is_sparse) kernel.Types("Tindices", {DT_INT32, DT_INT64});
    if (is_resource) {
      for (const char* variable : rule.variables) kernel.HostMemory(variable);
    }
    return kernels.Register<ApplyKernel>(kernel);
  };
  for (const Rule& rule : rules) {
    for (const bool is_resource : {false, true}) {
      if (!is_resource && rule.is_of_resources) continue;
      RETURN_IF_ERROR(register_rule(rule, is_resource, /*is_sparse=*/false));
      if (rule.is_sparse_too) RETURN_IF_ERROR(register_rule(rule, is_resource, /*is_sparse=*/true));
    }
  }
  return absl::OkStatus();
}

}  // namespace weir
