// Snapshots of resource variables in a GPU's memory: copies there, which the host fetches while steps go on.
#include <algorithm>
#include <future>

#include "kernels/device/gpu/gpu_variable.h"
#include "kernels/state/family.h"
#include "kernels/state/snapshot_value.h"

namespace weir {
namespace {

class GpuVariableSnapshot final : public VariableSnapshot {
 public:
  // `bytes`: the value as a vector of uint8. `gpu` outlives this.
  GpuVariableSnapshot(DataType dtype, const TensorShape& shape, Tensor bytes, GpuDevice* gpu)
      : dtype_(dtype), shape_(shape), bytes_(std::move(bytes)), gpu_(gpu) {}

  DataType dtype() const override { return dtype_; }
  const TensorShape& shape() const override { return shape_; }
  absl::Status Read(int64_t offset, int64_t size, char* to) override {
    while (size > 0) {
      if (offset < begin_ || offset >= begin_ + fetched_.NumElements()) RETURN_IF_ERROR(Fetch(offset));
      const int64_t n = std::min(size, begin_ + fetched_.NumElements() - offset);
      std::copy_n(fetched_.data<char>() + (offset - begin_), n, to);
      offset += n, to += n, size -= n;
    }
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kFetch = 4 << 20;

  absl::Status Fetch(int64_t offset) {
    std::promise<absl::StatusOr<Tensor>> fetched;
    gpu_->ToHost(bytes_.Slice(offset, std::min(offset + kFetch, bytes_.NumElements())),
                 [&](absl::StatusOr<Tensor> host) { fetched.set_value(std::move(host)); });
    ASSIGN_OR_RETURN(fetched_, fetched.get_future().get());
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
    ASSIGN_OR_RETURN(const ResourceHandle* handle, HandleFromInput(ctx, 0));
    ASSIGN_OR_RETURN(const std::shared_ptr<Variable> variable, ctx.resources()->Lookup<Variable>(*handle));
    const std::lock_guard<std::mutex> lock(*variable->mutex());
    if (!variable->is_initialized()) {
      return errors::FailedPrecondition("The variable ", handle->name, " has no value to take a snapshot of");
    }
    const Tensor& value = *variable->tensor();
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
