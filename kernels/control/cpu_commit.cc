// The kernels of a step's commit.
#include <string>
#include <vector>

#include "core/kernel/kernel_registry.h"
#include "core/kernel/op_kernel.h"
#include "core/kernel/step_commit.h"
#include "kernels/control/family.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {
namespace {

absl::Status NoCommit(const OpKernelContext& ctx) {
  return errors::Internal("Node '", ctx.node_def().name(), "' (", ctx.node_def().op(),
                          ") runs in a step without a commit: only a master may add it to a graph");
}

// A task that does not get it asks for the decision, so no failure here undoes it.
void SendDecision(const OpKernelContext& ctx, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    ctx.rendezvous()->Send(key, Tensor::Scalar<bool>(true), /*is_dead=*/false).IgnoreError();
  }
}

class CommitDecideKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("keys", &keys_); }
  absl::Status Compute(OpKernelContext& ctx) override {
    if (ctx.step().commit == nullptr || (!keys_.empty() && ctx.rendezvous() == nullptr)) return NoCommit(ctx);
    RETURN_IF_ERROR(ctx.step().commit->Decide());
    SendDecision(ctx, keys_);
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }

 private:
  std::vector<std::string> keys_;
};

// Follows the _CommitWait of its task.
class CommitRelayKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("keys", &keys_); }
  absl::Status Compute(OpKernelContext& ctx) override {
    if (ctx.step().commit == nullptr || ctx.rendezvous() == nullptr) return NoCommit(ctx);
    SendDecision(ctx, keys_);
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }

 private:
  std::vector<std::string> keys_;
};

class CommitReadyKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    if (ctx.step().commit == nullptr) return NoCommit(ctx);
    return ctx.step().commit->SetReady();
  }
  bool IsExpensive() const override { return false; }
};

class CommitWaitKernel : public AsyncOpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("key", &key_); }
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    if (ctx.step().commit == nullptr || ctx.rendezvous() == nullptr) return done(NoCommit(ctx));
    ctx.step().commit->AwaitDecision(key_, std::move(done));
  }
  bool IsExpensive() const override { return false; }

 private:
  std::string key_;
};

}  // namespace

absl::Status RegisterCommitKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<CommitDecideKernel>(Kernel("_CommitDecide").Cpu()));
  RETURN_IF_ERROR(kernels.Register<CommitRelayKernel>(Kernel("_CommitRelay").Cpu()));
  RETURN_IF_ERROR(kernels.Register<CommitReadyKernel>(Kernel("_CommitReady").Cpu()));
  return kernels.Register<CommitWaitKernel>(Kernel("_CommitWait").Cpu());
}

}  // namespace weir
