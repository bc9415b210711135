// Communicators, made by an op of their own, and the collectives that use them (V3).
#include <atomic>
#include <utility>

#include "absl/strings/str_format.h"
#include "core/kernel/kernel_registry.h"
#include "kernels/collective/collective_kernel.h"
#include "kernels/collective/family.h"
#include "kernels/device/named_resource.h"

namespace weir {
namespace {

// One member's share of a group. Thread-safe.
class CollectiveCommunicator : public Resource {
 public:
  explicit CollectiveCommunicator(CollectiveGroup group) : group_(group) {}

  std::string DebugString() const override {
    return absl::StrFormat("Collective Group with group_key = %d, group_size = %d, rank = %d", group_.key, group_.size,
                           group_.rank);
  }
  const CollectiveGroup& group() const { return group_; }
  // Members that run their collectives in the same order number them alike.
  int32_t NextInstance() { return next_instance_.fetch_add(1, std::memory_order_relaxed) & ((1 << 21) - 1); }

 private:
  const CollectiveGroup group_;
  std::atomic<int32_t> next_instance_{0};
};

class InitializeCommunicatorKernel : public AsyncOpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    name_ = ctx.name();
    ASSIGN_OR_RETURN(timeout_, ReadTimeout(ctx));
    return absl::OkStatus();
  }

  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    const auto group = ReadGroup(ctx);
    if (!group.ok()) return done(group.status());
    auto executor = FindCollectiveExecutor(ctx, name_);
    if (!executor.ok()) return done(executor.status());
    (*executor)->JoinGroupAsync(*group, name_, ctx.device(), timeout_, ctx.cancellation(),
                                [&ctx, group = *group, done = std::move(done)](const absl::Status& status) {
                                  done(status.ok() ? Give(ctx, group) : status);
                                });
  }

 private:
  static absl::StatusOr<CollectiveGroup> ReadGroup(const OpKernelContext& ctx) {
    CollectiveGroup group;
    ASSIGN_OR_RETURN(group.key, ReadKey(ctx.input(0), "group_key"));
    ASSIGN_OR_RETURN(group.rank, ReadKey(ctx.input(1), "rank"));
    ASSIGN_OR_RETURN(group.size, ReadKey(ctx.input(2), "group_size"));
    RETURN_IF_ERROR(CheckGroupSize(group.size));
    if (group.rank < 0) return errors::InvalidArgument("rank must be non-negative integer but got ", group.rank);
    if (group.rank >= group.size) {
      return errors::InvalidArgument("rank must be less than group size but got ", group.rank, " >= ", group.size);
    }
    return group;
  }

  static absl::Status Give(OpKernelContext& ctx, const CollectiveGroup& group) {
    constexpr char kContainer[] = "collective_op_group";
    const std::string name = absl::StrFormat("%d:r%04d", group.key, group.rank);
    RETURN_IF_ERROR(ctx.resources()->Create(kContainer, name, std::make_shared<CollectiveCommunicator>(group)));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.allocate_output(0, TensorShape()));
    output->scalar<ResourceHandle>() = ctx.resources()->MakeHandle<CollectiveCommunicator>(
        ctx.device()->name(), kContainer, name, "CollectiveGroupResource");
    return absl::OkStatus();
  }

  std::string name_;
  absl::Duration timeout_;
};

template <CollectiveType kType>
class CommunicatorKernel : public CollectiveKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(CollectiveKernel::Init(ctx));
    params_.type = kType;
    ASSIGN_OR_RETURN(params_.timeout, ReadTimeout(ctx));
    if constexpr (kType == CollectiveType::kReduce) {
      ASSIGN_OR_RETURN(params_.reduction, ReadReduction(ctx, "reduction"));
    }
    return absl::OkStatus();
  }

 protected:
  absl::Status Describe(OpKernelContext& ctx, CollectiveParams* params, Tensor* input) const override {
    ASSIGN_OR_RETURN(const std::shared_ptr<CollectiveCommunicator> communicator,
                     FindResource<CollectiveCommunicator>(ctx, 1));
    if (ctx.input(2).NumElements() != 0) return errors::Unimplemented("Group assignments are not supported yet.");
    params->group = communicator->group();
    params->instance_key = communicator->NextInstance();
    return AllocateCollectiveOutput(ctx, *params, input);
  }
};

class AssignGroupKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor &assignment = ctx.input(0), &device_index = ctx.input(1), &base_key = ctx.input(2);
    if (device_index.dims() != 0) {
      return errors::InvalidArgument("device_index must be a scalar, but received tensor of shape: ",
                                     device_index.shape().ToString());
    }
    if (assignment.dims() != 2) {
      return errors::InvalidArgument("group_assignment must be a 2-d Tensor, but received tensor of shape: ",
                                     assignment.shape().ToString());
    }
    if (base_key.dims() != 0) {
      return errors::InvalidArgument("base_key must be a scalar, but received tensor of shape: ",
                                     base_key.shape().ToString());
    }
    ASSIGN_OR_RETURN(const int32_t key,
                     GroupKey(assignment, device_index.scalar<int32_t>(), base_key.scalar<int32_t>()));
    ctx.set_output(0, Tensor::Scalar<int32_t>(static_cast<int32_t>(assignment.dim_size(1))));
    ctx.set_output(1, Tensor::Scalar<int32_t>(key));
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }

 private:
  static absl::StatusOr<int32_t> GroupKey(const Tensor& assignment, int32_t device_index, int32_t base_key) {
    const int64_t width = assignment.dim_size(1);
    for (int64_t group = 0; group < assignment.dim_size(0); ++group) {
      const auto key = static_cast<int32_t>(static_cast<uint32_t>(base_key) + static_cast<uint32_t>(group));
      if (key == 0) {
        return errors::InvalidArgument("Using the reserved group_key = 0 is not allowed: group_id = ", group,
                                       ", base_key = ", base_key);
      }
      for (int64_t i = group * width; i < (group + 1) * width; ++i) {
        const int32_t index = assignment.data<int32_t>()[i];
        if (index < 0 || index >= assignment.NumElements()) {
          return errors::InvalidArgument("Not all items in group_assignment ", assignment.DebugString(),
                                         " is within [0, number of devices)");
        }
        if (index == device_index) return key;
      }
    }
    return errors::InvalidArgument("device_index ", device_index, " is not found in group_assignment ",
                                   assignment.DebugString());
  }
};

}  // namespace

absl::Status RegisterCommunicatorKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<InitializeCommunicatorKernel>(Kernel("CollectiveInitializeCommunicator").Cpu()));
  RETURN_IF_ERROR(kernels.Register<CommunicatorKernel<CollectiveType::kReduce>>(Kernel("CollectiveReduceV3").Cpu()));
  RETURN_IF_ERROR(
      kernels.Register<CommunicatorKernel<CollectiveType::kAllToAll>>(Kernel("CollectiveAllToAllV3").Cpu()));
  return kernels.Register<AssignGroupKernel>(Kernel("CollectiveAssignGroupV2").Cpu());
}

}  // namespace weir
