// Ops that TensorFlow's tests use to probe a runtime: stub resources, sleeps, kernels chosen by label, kernels whose
// construction fails, and facts about the device.
#include <condition_variable>

#include "absl/time/clock.h"
#include "core/mutex.h"
#include "kernels/debug/family.h"
#include "kernels/device/blocking_kernel.h"
#include "kernels/device/named_resource.h"

namespace weir {
namespace {

class StubResource : public Resource {
 public:
  std::string DebugString() const override { return ""; }
};

class StubResourceHandleKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("container", &container_));
    RETURN_IF_ERROR(ctx.GetAttr("shared_name", &name_));
    if (container_.empty()) container_ = ResourceManager::kDefaultContainer;
    return absl::OkStatus();
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    ctx.set_output(0, Tensor::Scalar<ResourceHandle>(ctx.resources()->MakeHandle<StubResource>(
                          ctx.device()->name(), container_, name_, "StubResource")));
    return absl::OkStatus();
  }

 private:
  std::string container_, name_;
};

class ResourceCreateKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const ResourceHandle* handle, ResourceFromInput(ctx, 0));
    return ctx.resources()->Create(handle->container, handle->name, std::make_shared<StubResource>());
  }
};

class ResourceInitializedKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const ResourceHandle* handle, ResourceFromInput(ctx, 0));
    const bool found = ctx.resources()->Lookup<StubResource>(handle->container, handle->name).ok();
    ctx.set_output(0, Tensor::Scalar<bool>(found));
    return absl::OkStatus();
  }
};

class ResourceUsingKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override { return FindResource<StubResource>(ctx, 0).status(); }
};

// Sleeps for input 0 seconds, or until the step is cancelled; passes on a second input if there is one.
class SleepKernel : public BlockingKernel {
 protected:
  absl::Status Work(OpKernelContext& ctx) override {
    const Tensor& seconds = ctx.input(0);
    if (seconds.dims() != 0) {
      return errors::InvalidArgument("sleep_seconds must be a scalar, got shape ", seconds.shape().ToString());
    }
    RETURN_IF_ERROR(Sleep(ctx, absl::Seconds(seconds.scalar<int32_t>())));
    if (ctx.num_outputs() == 1) ctx.set_output(0, ctx.input(1));
    return absl::OkStatus();
  }

 private:
  static absl::Status Sleep(OpKernelContext& ctx, absl::Duration duration) {
    std::mutex mutex;
    std::condition_variable woken;
    bool cancelled = false;
    CancellationManager* const cancellation = ctx.cancellation();
    CancellationManager::Token token = CancellationManager::kInvalidToken;
    if (cancellation != nullptr) {
      token = cancellation->Register([&] {
        const std::lock_guard<std::mutex> lock(mutex);
        cancelled = true;
        woken.notify_all();
      });
      if (token == CancellationManager::kInvalidToken) return cancellation->status();
    }
    {
      std::unique_lock<std::mutex> lock(mutex);
      woken.wait_for(lock, absl::ToChronoMicroseconds(std::max(duration, absl::ZeroDuration())),
                     [&] { return cancelled; });
    }
    if (cancellation != nullptr) cancellation->Deregister(token);
    return CheckCancelled(ctx);
  }
};

// Returns a text that identifies the kernel, which may have been chosen by label.
template <const char* kText>
class LabelKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ctx.set_output(0, Tensor::Scalar<tstring>(kText));
    return absl::OkStatus();
  }
};
constexpr char kFact[] = "0! == 1",
               kLabelledFact[] = "Sergey Brin and Batman have never been seen at the same place at the same time.";
constexpr char kDefaultLabel[] = "My label is: default", kFirstLabel[] = "My label is: overload_1",
               kSecondLabel[] = "My label is: overload_2";

class ConstructionFailsKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction&) override { return errors::InvalidArgument("Failure during construction."); }
  absl::Status Compute(OpKernelContext&) override { return absl::OkStatus(); }
};

class GetDeadlineKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext&) override {
    return errors::InvalidArgument("Deadline has not ben set.");  // in TensorFlow's spelling
  }
};

// Ops whose answer is fixed here. TensorFloat-32, which matters on GPUs, counts as enabled.
class FixedAnswerKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    answer_ = ctx.op() == "IsTensorFloat32Enabled";
    return absl::OkStatus();
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    if (ctx.num_outputs() == 1) ctx.set_output(0, Tensor::Scalar<bool>(answer_));
    return absl::OkStatus();
  }

 private:
  bool answer_ = false;
};

// Returns a string handle to a queue resource.
class FakeQueueKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    handle_.Init(ctx);
    return absl::OkStatus();
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const ResourceHandle* resource, ResourceFromInput(ctx, 0));
    MutexLock lock(mu_);
    // Set once: holders of the reference read it while other steps run.
    if (!handle_.is_set()) handle_.Set(*resource);
    handle_.Give(ctx, 0);
    return absl::OkStatus();
  }

 private:
  Mutex mu_;
  HandleOutput handle_;
};

class NameOfTypeKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    DataType type;
    RETURN_IF_ERROR(ctx.GetAttr("T", &type));
    name_ = DataTypeName(type);
    return absl::OkStatus();
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    ctx.set_output(0, Tensor::Scalar<tstring>(name_));
    return absl::OkStatus();
  }

 private:
  std::string name_;
};

class OneKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ctx.set_output(0, Tensor::Scalar<float>(1));
    return absl::OkStatus();
  }
};

class TimestampKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ctx.set_output(0, Tensor::Scalar<double>(static_cast<double>(absl::ToUnixMicros(absl::Now())) / 1e6));
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterProbeKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<StubResourceHandleKernel>(Kernel("StubResourceHandleOp").Cpu()));
  RETURN_IF_ERROR(kernels.Register<ResourceCreateKernel>(Kernel("ResourceCreateOp").Cpu()));
  RETURN_IF_ERROR(kernels.Register<ResourceInitializedKernel>(Kernel("ResourceInitializedOp").Cpu()));
  RETURN_IF_ERROR(kernels.Register<ResourceUsingKernel>(Kernel("ResourceUsingOp").Cpu()));
  for (const char* op : {"SleepOp", "SleepIdentityOp"})
    RETURN_IF_ERROR(kernels.Register<SleepKernel>(Kernel(op).Cpu()));
  RETURN_IF_ERROR(kernels.Register<LabelKernel<kDefaultLabel>>(Kernel("KernelLabelRequired").Cpu()));
  RETURN_IF_ERROR(kernels.Register<LabelKernel<kFirstLabel>>(Kernel("KernelLabelRequired").Cpu().Label("overload_1")));
  RETURN_IF_ERROR(kernels.Register<LabelKernel<kSecondLabel>>(Kernel("KernelLabelRequired").Cpu().Label("overload_2")));
  RETURN_IF_ERROR(kernels.Register<LabelKernel<kFact>>(Kernel("Fact").Cpu()));
  for (const char* label : {"sergey", "Sergey"}) {
    RETURN_IF_ERROR(kernels.Register<LabelKernel<kLabelledFact>>(Kernel("Fact").Cpu().Label(label)));
  }
  RETURN_IF_ERROR(kernels.Register<FakeQueueKernel>(Kernel("FakeQueue").Cpu()));
  RETURN_IF_ERROR(kernels.Register<NameOfTypeKernel>(Kernel("DtypeWithDefaultOp").Cpu()));
  RETURN_IF_ERROR(kernels.Register<OneKernel>(Kernel("TestAttr").Cpu().Types("T", {DT_FLOAT})));
  RETURN_IF_ERROR(kernels.Register<ConstructionFailsKernel>(Kernel("ConstructionFails").Cpu()));
  RETURN_IF_ERROR(kernels.Register<GetDeadlineKernel>(Kernel("GetDeadline").Cpu()));
  RETURN_IF_ERROR(kernels.Register<TimestampKernel>(Kernel("Timestamp").Cpu()));
  for (const char* op : {"IsTensorFloat32Enabled", "IsResourceHandleRefCounting", "DisableCopyOnRead", "SyncDevice"}) {
    RETURN_IF_ERROR(kernels.Register<FixedAnswerKernel>(Kernel(op).Cpu()));
  }
  return absl::OkStatus();
}

}  // namespace weir
