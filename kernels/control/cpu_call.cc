// Calls of functions, and branches by functions.
#include <cstring>

#include "absl/strings/str_join.h"
#include "kernels/control/family.h"
#include "kernels/control/function_call.h"
#include "tensorflow/core/framework/attr_value.pb.h"

namespace weir {
namespace {

using function_call::Call;
using function_call::Inputs;
using function_call::Instantiate;
using function_call::InstantiateAttr;
using function_call::Truth;

constexpr char kSymbolicGradient[] = "SymbolicGradient";

class PartitionedCallKernel : public AsyncOpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(function_, InstantiateAttr(ctx, "f"));
    return absl::OkStatus();
  }
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    Call(ctx, function_, Inputs(ctx, 0), std::move(done));
  }

 private:
  FunctionRuntime::Handle function_ = 0;
};

// The library also holds the gradient of a function under the name SymbolicGradient[f = …].
class SymbolicGradientKernel : public AsyncOpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    tensorflow::NameAttrList gradient, function;
    RETURN_IF_ERROR(ctx.GetAttr("f", &function));
    gradient.set_name(kSymbolicGradient);
    *(*gradient.mutable_attr())["f"].mutable_func() = std::move(function);
    ASSIGN_OR_RETURN(function_, Instantiate(ctx, gradient));
    return absl::OkStatus();
  }
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    Call(ctx, function_, Inputs(ctx, 0), std::move(done));
  }

 private:
  FunctionRuntime::Handle function_ = 0;
};

absl::StatusOr<DeviceName> TargetDevice(const Tensor& target) {
  if (target.dtype() != DT_STRING || target.dims() != 0) {
    return errors::InvalidArgument("target must be a scalar string, not ", DataTypeName(target.dtype()),
                                   target.shape().ToString());
  }
  return DeviceName::Parse(std::string(target.scalar<tstring>()));
}

// Calls in the session's graph are inlined before the step. The remaining ones are inside called functions, and must be
// for this device.
class RemoteCallKernel : public AsyncOpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(function_, InstantiateAttr(ctx, "f"));
    return absl::OkStatus();
  }
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    if (absl::Status status = CheckTarget(ctx); !status.ok()) return done(std::move(status));
    Call(ctx, function_, Inputs(ctx, 1), std::move(done));
  }

 private:
  static absl::Status CheckTarget(const OpKernelContext& ctx) {
    ASSIGN_OR_RETURN(const DeviceName device, TargetDevice(ctx.locked_input(0)));
    if (ctx.device()->parsed_name().Matches(device)) return absl::OkStatus();
    return errors::Unimplemented(
        "RemoteCall to ", device.ToString(), " from ", ctx.device()->name(),
        ": functions that call themselves, or that datasets call, call others on their own device only");
  }

  FunctionRuntime::Handle function_ = 0;
};

// The index of the first device that matches a name.
class TargetDeviceKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("devices", &names_));
    for (const std::string& name : names_) {
      ASSIGN_OR_RETURN(devices_.emplace_back(), DeviceName::Parse(name));
    }
    return absl::OkStatus();
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DeviceName target, TargetDevice(ctx.locked_input(0)));
    for (size_t i = 0; i < devices_.size(); ++i) {
      if (!devices_[i].Matches(target)) continue;
      ctx.set_output(0, Tensor::Scalar(static_cast<int32_t>(i)));
      return absl::OkStatus();
    }
    return errors::InvalidArgument("RemoteCall to ", target.ToString(), ", which is not among the devices [ ",
                                   absl::StrJoin(names_, ", "), " ]");
  }
  bool IsExpensive() const override { return false; }

 private:
  std::vector<std::string> names_;
  std::vector<DeviceName> devices_;
};

class IfKernel : public AsyncOpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(then_, InstantiateAttr(ctx, "then_branch"));
    ASSIGN_OR_RETURN(else_, InstantiateAttr(ctx, "else_branch"));
    return absl::OkStatus();
  }
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    absl::StatusOr<bool> taken = Truth(ctx.locked_input(0));
    if (!taken.ok()) return done(taken.status());
    Call(ctx, *taken ? then_ : else_, Inputs(ctx, 1), std::move(done));
  }

 private:
  FunctionRuntime::Handle then_ = 0, else_ = 0;
};

class CaseKernel : public AsyncOpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    std::vector<tensorflow::NameAttrList> branches;
    RETURN_IF_ERROR(ctx.GetAttr("branches", &branches));
    for (const auto& branch : branches) {
      ASSIGN_OR_RETURN(FunctionRuntime::Handle handle, Instantiate(ctx, branch));
      branches_.push_back(handle);
    }
    return branches_.empty() ? errors::InvalidArgument("Case needs a branch") : absl::OkStatus();
  }
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    const Tensor index = ctx.locked_input(0);
    if (index.dims() != 0) return done(errors::InvalidArgument("branch_index must be scalar"));
    if (index.dtype() != DT_INT32) {
      return done(errors::InvalidArgument("branch_index must be int32, not ", DataTypeName(index.dtype())));
    }
    const int32_t chosen = index.scalar<int32_t>();
    const bool is_in_range = chosen >= 0 && chosen < static_cast<int32_t>(branches_.size());
    Call(ctx, is_in_range ? branches_[chosen] : branches_.back(), Inputs(ctx, 1), std::move(done));
  }

 private:
  std::vector<FunctionRuntime::Handle> branches_;
};

class ToBoolKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const bool truth, Truth(ctx.locked_input(0)));
    ctx.set_output(0, Tensor::Scalar<bool>(truth));
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }
};

// The value of a branch output that is never read.
class FakeParamKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    PartialTensorShape shape;
    RETURN_IF_ERROR(ctx.GetAttr("shape", &shape));
    ASSIGN_OR_RETURN(shape_, shape.unknown_rank() ? TensorShape({0}) : Least(shape));
    dtype_ = ctx.output_types()[0];
    return absl::OkStatus();
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape_));
    if (IsPlainType(dtype_) && output->TotalBytes() > 0) std::memset(output->raw_data(), 0, output->TotalBytes());
    return absl::OkStatus();
  }

 private:
  static absl::StatusOr<TensorShape> Least(const PartialTensorShape& shape) {
    DimVector dims(shape.dim_sizes().begin(), shape.dim_sizes().end());
    for (int64_t& dim : dims) dim = std::max<int64_t>(dim, 0);
    return TensorShape::Build(dims);
  }

  TensorShape shape_;
  DataType dtype_ = DT_INVALID;
};

// The index of this device's type in `device_names`; their number if it is not among them.
class DeviceIndexKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("device_names", &names_); }
  absl::Status Compute(OpKernelContext& ctx) override {
    const auto found = std::find(names_.begin(), names_.end(), ctx.device()->type());
    ctx.set_output(0, Tensor::Scalar<int32_t>(static_cast<int32_t>(found - names_.begin())));
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }

 private:
  std::vector<std::string> names_;
};

}  // namespace

absl::Status RegisterCallKernels(KernelRegistry& kernels) {
  for (const char* op : {"PartitionedCall", "StatefulPartitionedCall"}) {
    RETURN_IF_ERROR(kernels.Register<PartitionedCallKernel>(Kernel(op).Cpu()));
  }
  RETURN_IF_ERROR(kernels.Register<SymbolicGradientKernel>(Kernel(kSymbolicGradient).Cpu()));
  RETURN_IF_ERROR(kernels.Register<TargetDeviceKernel>(Kernel("_TargetDevice").Cpu()));
  RETURN_IF_ERROR(kernels.Register<RemoteCallKernel>(Kernel("RemoteCall").Cpu()));
  RETURN_IF_ERROR(kernels.Register<ToBoolKernel>(Kernel("ToBool").Cpu()));
  RETURN_IF_ERROR(kernels.Register<FakeParamKernel>(Kernel("FakeParam").Cpu()));
  RETURN_IF_ERROR(kernels.Register<DeviceIndexKernel>(Kernel("DeviceIndex").Cpu()));
  for (const char* stateless : {"", "Stateless"}) {
    RETURN_IF_ERROR(kernels.Register<IfKernel>(Kernel(absl::StrCat(stateless, "If")).Cpu()));
    RETURN_IF_ERROR(kernels.Register<CaseKernel>(Kernel(absl::StrCat(stateless, "Case")).Cpu()));
  }
  return absl::OkStatus();
}

}  // namespace weir
