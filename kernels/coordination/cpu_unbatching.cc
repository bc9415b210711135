// Unbatch and UnbatchGrad: the parts of a batch that Batch made go back to those whose they are.
#include <algorithm>
#include <condition_variable>
#include <map>

#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/mutex.h"
#include "kernels/coordination/batch_queue.h"
#include "kernels/coordination/family.h"
#include "kernels/device/blocking_kernel.h"
#include "kernels/device/summarize.h"

namespace weir {
namespace {

// Tensors that wait for the call that asks for them by their number. Thread-safe.
class Exchange : public Resource {
 public:
  std::string DebugString() const override { return "Exchange of batches"; }

  // Results that are not taken in time are dropped.
  void Put(int64_t id, Tensor tensor) {
    MutexLock lock(mu_);
    const absl::Time now = MonotonicNow();
    for (auto it = kept_.begin(); it != kept_.end();) it = it->second.until < now ? kept_.erase(it) : std::next(it);
    kept_[id] = {std::move(tensor), now + absl::Minutes(5)};
    changed_.notify_all();
  }
  absl::StatusOr<Tensor> Take(OpKernelContext& ctx, int64_t id, absl::Duration timeout) {
    CancellationManager::Token token = CancellationManager::kInvalidToken;
    if (ctx.cancellation() != nullptr) {
      token = ctx.cancellation()->Register([this] {
        MutexLock lock(mu_);
        changed_.notify_all();
      });
      if (token == CancellationManager::kInvalidToken) return ctx.cancellation()->status();
    }
    absl::StatusOr<Tensor> taken = WaitFor(ctx, id, timeout);
    if (ctx.cancellation() != nullptr) ctx.cancellation()->Deregister(token);
    return taken;
  }

 private:
  struct Kept {
    Tensor tensor;
    absl::Time until;
  };
  absl::StatusOr<Tensor> WaitFor(OpKernelContext& ctx, int64_t id, absl::Duration timeout) {
    const auto until = std::chrono::steady_clock::now() + absl::ToChronoMicroseconds(timeout);
    MutexLock lock(mu_);
    for (;;) {
      if (const auto found = kept_.find(id); found != kept_.end()) {
        Tensor tensor = std::move(found->second.tensor);
        kept_.erase(found);
        return tensor;
      }
      RETURN_IF_ERROR(CheckCancelled(ctx));
      if (std::chrono::steady_clock::now() >= until) {
        return errors::DeadlineExceeded("Batched data did not arrive within timeout window.");
      }
      lock.WaitUntil(changed_, until);
    }
  }

  Mutex mu_;
  std::condition_variable changed_;
  std::map<int64_t, Kept> kept_ GUARDED_BY(mu_);
};

absl::StatusOr<int64_t> ScalarId(const Tensor& id) {
  if (id.dims() != 0) {
    return errors::InvalidArgument("Input id should be scalar; Got: Tensor<type: ", DataTypeName(id.dtype()),
                                   " shape: ", id.shape().ToString(), " values: ", Summarize(id, 3), ">.");
  }
  return id.scalar<int64_t>();
}

// Rows [number, first row, end] of a batch's index.
absl::Status CheckIndex(const Tensor& index) {
  if (index.dims() == 2 && index.dim_size(1) == 3) return absl::OkStatus();
  if (index.dims() != 2) {
    return errors::InvalidArgument("Wrong shape for index tensor. Expected a matrix; Got: ", index.shape().ToString());
  }
  return errors::InvalidArgument(
      "Wrong shape for index tensor. Expected 1st dimension size to be 3 ; Got: ", index.dim_size(1), ".");
}

class ExchangingKernel : public BlockingKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("container", &container_));
    RETURN_IF_ERROR(ctx.GetAttr("shared_name", &name_));
    if (name_.empty()) name_ = ctx.name();
    return ctx.HasAttr("timeout_micros") ? ctx.GetAttr("timeout_micros", &timeout_micros_) : absl::OkStatus();
  }

 protected:
  absl::StatusOr<std::shared_ptr<Exchange>> FindExchange(OpKernelContext& ctx) const {
    return ctx.resources()->LookupOrCreate<Exchange>(
        container_, name_, []() -> absl::StatusOr<std::shared_ptr<Exchange>> { return std::make_shared<Exchange>(); });
  }
  int64_t timeout_micros_ = 0;

 private:
  std::string container_, name_;
};

class UnbatchKernel : public ExchangingKernel {
 protected:
  absl::Status Work(OpKernelContext& ctx) override {
    const Tensor &data = ctx.input(0), &index = ctx.input(1);
    ASSIGN_OR_RETURN(const int64_t id, ScalarId(ctx.input(2)));
    if (data.dims() == 0) return errors::InvalidArgument("batched_tensor must have at least one dimension");
    RETURN_IF_ERROR(CheckIndex(index));
    ASSIGN_OR_RETURN(const std::shared_ptr<Exchange> exchange, FindExchange(ctx));
    const int64_t* row = index.data<int64_t>();
    for (int64_t i = 0; i < index.dim_size(0); ++i, row += 3) {
      if (row[1] < 0 || row[2] < row[1] || row[2] > data.dim_size(0)) {
        return errors::InvalidArgument(
            "Sum of split sizes must not exceed dim0-size of input tensor: batch_index has [", row[1], ", ", row[2],
            ") where there are ", data.dim_size(0), " rows");
      }
      ASSIGN_OR_RETURN(Tensor part, data.Slice(row[1], row[2]).DeepCopy(ctx.allocator()));
      exchange->Put(row[0], std::move(part));
    }
    ASSIGN_OR_RETURN(Tensor mine,
                     exchange->Take(ctx, id, absl::Microseconds(std::min(timeout_micros_, kMostWaitMicros))));
    if (mine.dtype() != ctx.expected_output_dtype(0)) return errors::InvalidArgument("The batch has another type");
    ctx.set_output(0, std::move(mine));
    return absl::OkStatus();
  }
};

// Inputs: original_input, batch_index, grad, id. The call that had the batch gets all gradients, joined; the others get
// none.
class UnbatchGradKernel : public ExchangingKernel {
 protected:
  absl::Status Work(OpKernelContext& ctx) override {
    const Tensor &data = ctx.input(0), &index = ctx.input(1), &grad = ctx.input(2);
    ASSIGN_OR_RETURN(const int64_t id, ScalarId(ctx.input(3)));
    if (data.dims() == 0) return errors::InvalidArgument("original_input must have at least one dimension");
    if (grad.dims() == 0) return errors::InvalidArgument("grad must have at least one dimension");
    RETURN_IF_ERROR(CheckIndex(index));
    ASSIGN_OR_RETURN(const std::shared_ptr<Exchange> exchange, FindExchange(ctx));
    exchange->Put(id, grad);
    if (index.dim_size(0) == 0) {
      TensorShape none = grad.shape();
      RETURN_IF_ERROR(none.SetDim(0, 0));
      return ctx.allocate_output(0, none).status();
    }
    BatchTasks parts;
    for (int64_t i = 0; i < index.dim_size(0); ++i) {
      ASSIGN_OR_RETURN(Tensor part, exchange->Take(ctx, index.data<int64_t>()[3 * i], absl::Minutes(5)));
      if (part.dtype() != grad.dtype() || part.dims() == 0) {
        return errors::InvalidArgument("The gradients of a batch must have one type and at least one dimension");
      }
      parts.emplace_back();
      parts.back().inputs.push_back(std::move(part));
    }
    ASSIGN_OR_RETURN(Tensor joined, JoinRows(ctx, parts, 0));
    ctx.set_output(0, std::move(joined));
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterUnbatchingKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<UnbatchKernel>(Kernel("Unbatch").Cpu()));
  return kernels.Register<UnbatchGradKernel>(Kernel("UnbatchGrad").Cpu());
}

}  // namespace weir
