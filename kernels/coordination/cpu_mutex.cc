// MutexV2, MutexLock and ConsumeMutexLock. A lock is a value; the mutex is free again when its last copy goes.
#include "core/kernel/kernel_registry.h"
#include "core/tensor/variant.h"
#include "kernels/coordination/family.h"
#include "kernels/device/named_resource.h"
#include "kernels/device/request_line.h"
#include "kernels/device/resource_users.h"

namespace weir {
namespace {

// Whoever asks first has it first. Thread-safe.
class StepMutex : public Resource, public std::enable_shared_from_this<StepMutex> {
 public:
  // Frees the mutex in its destructor; those who wait go on in `work_queue`.
  class Holder {
   public:
    Holder(std::shared_ptr<StepMutex> mutex, WorkQueue* work_queue)
        : mutex_(std::move(mutex)), work_queue_(work_queue) {}
    Holder(const Holder&) = delete;
    ~Holder() {
      {
        MutexLock lock(mutex_->line_->mutex());
        mutex_->held_ = false;
      }
      work_queue_->Schedule([line = mutex_->line_] { line->Advance(); });
    }

   private:
    const std::shared_ptr<StepMutex> mutex_;
    WorkQueue* const work_queue_;
  };
  using LockCallback = std::function<void(absl::StatusOr<std::shared_ptr<Holder>>)>;

  explicit StepMutex(std::string name)
      : name_(std::move(name)), line_(std::make_shared<RequestLine>(RequestLine::Discipline::kStrict)) {}
  const std::string& name() const { return name_; }
  std::string DebugString() const override { return absl::StrCat("Mutex ", name_); }

  void Lock(OpKernelContext& ctx, LockCallback done) {
    auto holder = std::make_shared<std::shared_ptr<Holder>>();
    const auto attempt = [self = shared_from_this(), holder, work_queue = ctx.work_queue()](absl::Status*) {
      if (self->held_) return false;
      self->held_ = true;
      *holder = std::make_shared<Holder>(self, work_queue);
      return true;
    };
    line_->Submit(ctx.cancellation(), "Lock acquisition", attempt,
                  [holder, done = std::move(done)](absl::Status status) {
                    if (!status.ok()) return done(std::move(status));
                    done(std::move(*holder));
                  });
  }

 private:
  const std::string name_;
  const std::shared_ptr<RequestLine> line_;
  bool held_ = false;  // guarded by the line's mutex
};

class LockValue : public VariantValue {
 public:
  explicit LockValue(std::shared_ptr<StepMutex::Holder> holder) : holder_(std::move(holder)) {}
  std::string TypeName() const override { return "tensorflow::Mutex::SharedLockReleaser"; }
  std::unique_ptr<VariantValue> Clone() const override { return std::make_unique<LockValue>(holder_); }
  std::string DebugString() const override { return "SharedLockReleaser"; }
  absl::Status Encode(std::string* metadata, std::vector<Tensor>* tensors) const override {
    return errors::Unimplemented("A lock cannot leave its process");
  }

 private:
  const std::shared_ptr<StepMutex::Holder> holder_;
};

class MutexKernel : public ResourceKernel<StepMutex> {
 protected:
  absl::StatusOr<std::shared_ptr<StepMutex>> Make(OpKernelContext& ctx, const std::string& name) override {
    return std::make_shared<StepMutex>(name);
  }
  std::string TypeName() const override { return "Mutex"; }
};

class MutexLockKernel : public AsyncOpKernel {
 public:
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    absl::StatusOr<std::shared_ptr<StepMutex>> mutex = FindResource<StepMutex>(ctx, 0);
    if (!mutex.ok()) return done(mutex.status());
    done = AwaitShared(ctx, *mutex, "mutex", (*mutex)->name(), std::move(done));
    (*mutex)->Lock(ctx, [&ctx, done = std::move(done)](absl::StatusOr<std::shared_ptr<StepMutex::Holder>> holder) {
      if (!holder.ok()) return done(holder.status());
      ctx.set_output(0, Tensor::Scalar(Variant(std::make_shared<LockValue>(*std::move(holder)))));
      done(absl::OkStatus());
    });
  }
};

// The lock goes with its last holder: this op holds it no longer than others do.
class ConsumeMutexLockKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& lock = ctx.input(0);
    if (lock.dtype() == DT_VARIANT && lock.NumElements() == 1 && lock.data<Variant>()->get<LockValue>() != nullptr) {
      return absl::OkStatus();
    }
    return errors::InvalidArgument("Expected input to contain a SharedLockReleaser, but saw variant: '",
                                   lock.DebugString(), "'");
  }
  bool IsExpensive() const override { return false; }
};

}  // namespace

absl::Status RegisterMutexKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<MutexKernel>(Kernel("MutexV2").Cpu()));
  RETURN_IF_ERROR(kernels.Register<MutexLockKernel>(Kernel("MutexLock").Cpu()));
  return kernels.Register<ConsumeMutexLockKernel>(Kernel("ConsumeMutexLock").Cpu());
}

}  // namespace weir
