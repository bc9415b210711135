#include "kernels/control/session_tensors.h"

#include <atomic>

#include "absl/strings/str_split.h"
#include "core/tensor/resource_handle.h"
#include "kernels/control/family.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {
namespace {

class KeptTensor : public Resource {
 public:
  explicit KeptTensor(Tensor value) : value_(std::move(value)) {}
  std::string DebugString() const override { return "a session's tensor"; }
  int64_t MemoryUsed() const override { return value_.TotalBytes(); }
  const Tensor& value() const { return value_; }

 private:
  const Tensor value_;
};

int64_t NextId() {
  static std::atomic<int64_t> next{0};
  return next.fetch_add(1, std::memory_order_relaxed);
}

// "<name>;<id>;<device>", as TensorFlow's: clients take the device from it.
absl::StatusOr<std::string> ReadHandle(const OpKernelContext& ctx) {
  const Tensor handle = ctx.locked_input(0);
  if (handle.dtype() != DT_STRING || handle.NumElements() != 1) {
    return errors::InvalidArgument("A session handle is one string, not ", DataTypeName(handle.dtype()),
                                   handle.shape().ToString());
  }
  return std::string(handle.flat<tstring>()[0]);
}

class GetSessionHandleKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const std::string container = SessionTensorContainer(ctx.step().session_handle);
    const std::string name = absl::StrCat(ctx.node_def().name(), ";", NextId(), ";", ctx.device()->name());
    RETURN_IF_ERROR(ctx.resources()->Create(container, name, std::make_shared<KeptTensor>(ctx.locked_input(0))));
    if (ctx.expected_output_dtype(0) == DT_STRING) {
      ctx.set_output(0, Tensor::Scalar<tstring>(tstring(name)));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, {}));
    output->scalar<ResourceHandle>() =
        ctx.resources()->MakeHandle<KeptTensor>(ctx.device()->name(), container, name, "SessionTensor");
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }
};

class GetSessionTensorKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const std::string name, ReadHandle(ctx));
    auto kept = ctx.resources()->Lookup<KeptTensor>(SessionTensorContainer(ctx.step().session_handle), name);
    if (!kept.ok()) {
      return errors::InvalidArgument("The tensor with handle '", name, "' is not in the session store.");
    }
    const Tensor& value = (*kept)->value();
    if (value.dtype() != ctx.expected_output_dtype(0)) {
      return errors::InvalidArgument("The tensor with handle '", name, "' is of type ", DataTypeName(value.dtype()),
                                     ", not ", DataTypeName(ctx.expected_output_dtype(0)));
    }
    ctx.set_output(0, value);
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }
};

class DeleteSessionTensorKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const std::string name, ReadHandle(ctx));
    const std::string container = SessionTensorContainer(ctx.step().session_handle);
    if (ctx.resources()->Delete<KeptTensor>(container, name).ok()) return absl::OkStatus();
    return errors::InvalidArgument("Failed to delete a tensor with handle '", name, "' in the session store.");
  }
  bool IsExpensive() const override { return false; }
};

}  // namespace

absl::Status ResolveSessionTensor(Device* device, absl::string_view session_handle, Tensor* fed) {
  constexpr char kHandleContainer[] = "TensorHandle";
  if (fed->dtype() != DT_RESOURCE || fed->dims() != 0) return absl::OkStatus();
  const ResourceHandle handle = fed->scalar<ResourceHandle>();
  if (handle.container != kHandleContainer) return absl::OkStatus();
  auto kept = device->resources()->Lookup<KeptTensor>(SessionTensorContainer(session_handle), handle.name);
  if (!kept.ok()) {
    return errors::InvalidArgument("The tensor with handle '", handle.name, "' is not in the session store of ",
                                   device->name(), ".");
  }
  *fed = (*kept)->value();
  return absl::OkStatus();
}

absl::Status RegisterSessionTensorKernels(KernelRegistry& kernels) {
  for (const char* op : {"GetSessionHandle", "GetSessionHandleV2"}) {
    RETURN_IF_ERROR(kernels.Register<GetSessionHandleKernel>(Kernel(op).Cpu()));
  }
  RETURN_IF_ERROR(kernels.Register<GetSessionTensorKernel>(Kernel("GetSessionTensor").Cpu()));
  return kernels.Register<DeleteSessionTensorKernel>(Kernel("DeleteSessionTensor").Cpu());
}

}  // namespace weir
