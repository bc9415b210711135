// Kernels of the dealer.
#include "core/kernel/kernel_registry.h"
#include "core/tensor/index_tensor.h"
#include "kernels/dealing/dealt_range.h"
#include "kernels/dealing/family.h"
#include "kernels/dealing/shared_dealer.h"
#include "kernels/device/named_resource.h"
#include "kernels/state/variable_access.h"

namespace weir {
namespace {

class InputDealerKernel : public ResourceKernel<SharedDealer> {
 protected:
  absl::Status Configure(OpKernelConstruction& ctx) override {
    int64_t lease_ms = 0;
    float factor = 0;
    options_.name = name();
    RETURN_IF_ERROR(ctx.GetAttr("chunk_sizes", &options_.chunk_sizes));
    RETURN_IF_ERROR(ctx.GetAttr("batch_size", &options_.batch_size));
    RETURN_IF_ERROR(ctx.GetAttr("drop_remainder", &options_.drop_remainder));
    RETURN_IF_ERROR(ctx.GetAttr("epochs", &options_.epochs));
    RETURN_IF_ERROR(ctx.GetAttr("shuffle", &options_.shuffle));
    RETURN_IF_ERROR(ctx.GetAttr("seed", &options_.seed));
    RETURN_IF_ERROR(ctx.GetAttr("lease_ms", &lease_ms));
    RETURN_IF_ERROR(ctx.GetAttr("straggler_factor", &factor));
    options_.lease = absl::Milliseconds(lease_ms);
    options_.straggler_factor = factor;
    return InputDealer::Check(options_);
  }
  absl::StatusOr<std::shared_ptr<SharedDealer>> Make(OpKernelContext& ctx, const std::string&) override {
    return std::make_shared<SharedDealer>(options_, ctx.device());
  }
  absl::Status CheckMatches(const SharedDealer& dealer) const override { return dealer.CheckMatches(options_); }
  std::string TypeName() const override { return "InputDealer"; }

 private:
  InputDealerOptions options_;
};

class TakeKernel : public AsyncOpKernel {
 public:
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    if (absl::Status status = Start(ctx, done); !status.ok()) done(std::move(status));
  }

 private:
  // Leaves `done` alone if it fails.
  static absl::Status Start(OpKernelContext& ctx, DoneCallback& done) {
    ASSIGN_OR_RETURN(const std::shared_ptr<SharedDealer> dealer, FindResource<SharedDealer>(ctx, 0));
    ASSIGN_OR_RETURN(std::shared_ptr<Variable> progress, LookupVariable(ctx, 1));
    const Tensor& worker = ctx.input(2);
    if (worker.dtype() != DT_STRING || worker.NumElements() != 1) {
      return errors::InvalidArgument("worker must be a string, not ", worker.DebugString());
    }
    dealer->Take(std::move(progress), std::string(worker.data<tstring>()[0]), ctx.cancellation(),
                 // The dealer, which may be removed from the task meanwhile, lives until this step has its answer.
                 [&ctx, dealer, done = std::move(done)](absl::StatusOr<DealtRange> range) {
                   if (!range.ok()) return done(range.status());
                   ctx.set_output(0, ToTensor(*range));
                   done(absl::OkStatus());
                 });
    return absl::OkStatus();
  }
};

// A claim, for as long as its step runs on this task: a task that waits for a decision, or asks for it, still runs it.
class StepClaim : public Resource {
 public:
  StepClaim(std::weak_ptr<SharedDealer> dealer, int64_t claim) : dealer_(std::move(dealer)), claim_(claim) {}
  ~StepClaim() override {
    if (const auto dealer = dealer_.lock()) dealer->Release(claim_);
  }
  std::string DebugString() const override { return absl::StrCat("InputDealer's claim ", claim_); }

 private:
  const std::weak_ptr<SharedDealer> dealer_;
  const int64_t claim_;
};

class ClaimKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const std::shared_ptr<SharedDealer> dealer, FindResource<SharedDealer>(ctx, 0));
    ASSIGN_OR_RETURN(const std::shared_ptr<Variable> progress, LookupVariable(ctx, 1));
    ASSIGN_OR_RETURN(const DealtRange range, DealtRangeFrom(ctx.input(2)));
    ASSIGN_OR_RETURN(const int64_t claim, dealer->Claim(*progress, range));
    // Released here if it is not kept.
    auto held = std::make_shared<StepClaim>(dealer, claim);
    const std::string name =
        absl::StrCat("input_dealer_claim_", absl::Hex(reinterpret_cast<uintptr_t>(dealer.get())), "_", claim);
    RETURN_IF_ERROR(ctx.resources()->Create<StepClaim>(ctx.step().step_container->name(), name, std::move(held)));
    ctx.set_output(0, Tensor::Scalar(claim));
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }
};

class AdvanceKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const std::shared_ptr<SharedDealer> dealer, FindResource<SharedDealer>(ctx, 0));
    ASSIGN_OR_RETURN(const std::shared_ptr<Variable> progress, LookupVariable(ctx, 1));
    ASSIGN_OR_RETURN(const int64_t claim, ReadScalarInteger(ctx.input(2), "claim"));
    return dealer->Advance(*progress, claim);
  }
  bool IsExpensive() const override { return false; }
};

}  // namespace

absl::Status RegisterDealerKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<InputDealerKernel>(Kernel("InputDealer").Cpu()));
  RETURN_IF_ERROR(kernels.Register<TakeKernel>(Kernel("InputDealerTake").Cpu()));
  RETURN_IF_ERROR(kernels.Register<ClaimKernel>(Kernel("InputDealerClaim").Cpu()));
  return kernels.Register<AdvanceKernel>(Kernel("InputDealerAdvance").Cpu());
}

}  // namespace weir
