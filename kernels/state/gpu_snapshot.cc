// Snapshots of resource variables in a GPU's memory: copies there, which the host fetches while steps go on.
#include <algorithm>
#include <condition_variable>
#include <optional>

#include "absl/cleanup/cleanup.h"
#include "core/mutex.h"
#include "kernels/device/gpu/gpu_variable.h"
#include "kernels/state/family.h"
#include "kernels/state/snapshot_value.h"
#include "kernels/state/variable_access.h"

namespace weir {
namespace {

// A copy that is on its way to the host. Thread-safe.
class Arrival {
 public:
  // The first call counts.
  void Set(absl::StatusOr<Tensor> host) {
    const MutexLock lock(mu_);
    if (!host_.has_value()) host_ = std::move(host);
    arrived_.notify_all();
  }
  absl::StatusOr<Tensor> Await() {
    MutexLock lock(mu_);
    while (!host_.has_value()) lock.Wait(arrived_);
    return *std::move(host_);
  }

 private:
  Mutex mu_;
  std::condition_variable arrived_;
  std::optional<absl::StatusOr<Tensor>> host_ GUARDED_BY(mu_);
};

class GpuVariableSnapshot final : public VariableSnapshot {
 public:
  // `bytes`: the value as a vector of uint8. `gpu` outlives this.
  GpuVariableSnapshot(DataType dtype, const TensorShape& shape, Tensor bytes, GpuDevice* gpu)
      : dtype_(dtype), shape_(shape), bytes_(std::move(bytes)), gpu_(gpu) {}

  DataType dtype() const override { return dtype_; }
  const TensorShape& shape() const override { return shape_; }
  absl::Status Read(int64_t offset, int64_t size, char* to, CancellationManager* cancellation) override {
    while (size > 0) {
      if (offset < begin_ || offset >= begin_ + fetched_.NumElements()) RETURN_IF_ERROR(Fetch(offset, cancellation));
      const int64_t n = std::min(size, begin_ + fetched_.NumElements() - offset);
      std::copy_n(fetched_.data<char>() + (offset - begin_), n, to);
      offset += n, to += n, size -= n;
    }
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kFetch = 4 << 20;

  // A copy that never ends is DEADLINE_EXCEEDED by the patience of the device's completion queue.
  absl::Status Fetch(int64_t offset, CancellationManager* cancellation) {
    const auto arrival = std::make_shared<Arrival>();  // a copy may arrive when nobody waits any more
    CancellationManager::Token token = CancellationManager::kInvalidToken;
    if (cancellation != nullptr) {
      token = cancellation->Register([arrival] { arrival->Set(errors::Cancelled("The step was cancelled")); });
      if (token == CancellationManager::kInvalidToken) return cancellation->status();
    }
    const absl::Cleanup end = [&] {
      if (cancellation != nullptr) cancellation->Deregister(token);
    };
    gpu_->ToHost(bytes_.Slice(offset, std::min(offset + kFetch, bytes_.NumElements())),
                 [arrival](absl::StatusOr<Tensor> host) { arrival->Set(std::move(host)); });
    absl::StatusOr<Tensor> host = arrival->Await();
    if (!host.ok() && cancellation != nullptr) RETURN_IF_ERROR(cancellation->status());
    RETURN_IF_ERROR(host.status());
    fetched_ = *std::move(host);
    begin_ = offset;
    return absl::OkStatus();
  }

  const DataType dtype_;
  const TensorShape shape_;
  const Tensor bytes_;
  GpuDevice* const gpu_;
  Tensor fetched_{DT_UINT8, TensorShape({0})};
  int64_t begin_ = 0;  // of fetched_
};

class SnapshotVariableKernel : public GpuOpKernel {
 public:
  bool CanBeCaptured() const override { return false; }

 protected:
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    ASSIGN_OR_RETURN(const VariableToSnapshot locked, LockToSnapshot(ctx, 0));
    const Tensor& value = *locked.variable->tensor();
    ASSIGN_OR_RETURN(const Tensor copy, ctx.allocate_temp(DT_UINT8, TensorShape({value.TotalBytes()})));
    if (value.TotalBytes() > 0) {
      RETURN_IF_ERROR(stream.CopyOnDevice(copy.raw_data(), value.raw_data(), static_cast<size_t>(value.TotalBytes())));
    }
    auto snapshot = std::make_shared<GpuVariableSnapshot>(value.dtype(), value.shape(), copy, &gpu());
    ctx.set_output(0, Tensor::Scalar(Variant(std::make_shared<SnapshotValue>(std::move(snapshot)))));
    return absl::OkStatus();
  }
};

// The copy is made by the device's memory system, so there is nothing to prepare.
class ReserveVariableSnapshotKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override { return HandleFromInput(ctx, 0).status(); }
  bool IsExpensive() const override { return false; }
};

}  // namespace

absl::Status RegisterGpuVariableSnapshotKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<SnapshotVariableKernel>(
      Kernel("SnapshotVariable").Device(kDeviceGpu).HostMemory("resource").HostMemory("snapshot")));
  return kernels.Register<ReserveVariableSnapshotKernel>(
      Kernel("ReserveVariableSnapshot").Device(kDeviceGpu).HostMemory("resource"));
}

}  // namespace weir
