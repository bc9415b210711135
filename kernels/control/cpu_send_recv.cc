#include "kernels/control/family.h"
#include "kernels/device/named_resource.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {
namespace {

// The rendezvous key that both ends build from the same attributes.
class TransferKey {
 public:
  absl::Status Init(OpKernelConstruction& ctx) {
    std::string src, dst, name;
    int64_t incarnation = 0;
    RETURN_IF_ERROR(ctx.GetAttr("send_device", &src));
    RETURN_IF_ERROR(ctx.GetAttr("recv_device", &dst));
    RETURN_IF_ERROR(ctx.GetAttr("tensor_name", &name));
    RETURN_IF_ERROR(ctx.GetAttr("send_device_incarnation", &incarnation));
    prefix_ = RendezvousKey::Prefix(src, static_cast<uint64_t>(incarnation), dst, name);
    outside_of_loops_ = absl::StrCat(prefix_, ";0:0");
    return absl::OkStatus();
  }
  std::string For(FrameAndIter at) const {
    if (at.frame_id == 0 && at.iter_id == 0) return outside_of_loops_;
    return absl::StrCat(prefix_, ";", at.frame_id, ":", at.iter_id);
  }

 private:
  std::string prefix_, outside_of_loops_;
};

absl::Status NoRendezvous(const OpKernelContext& ctx) {
  return errors::Internal("Node '", ctx.node_def().name(), "' runs in a step without a rendezvous");
}

class SendKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return key_.Init(ctx); }
  absl::Status Compute(OpKernelContext& ctx) override {
    if (ctx.rendezvous() == nullptr) return NoRendezvous(ctx);
    const bool is_dead = ctx.is_input_dead() || !ctx.has_input(0);
    const Tensor value = is_dead ? Tensor() : ctx.locked_input(0);
    if (value.dtype() == DT_RESOURCE) RETURN_IF_ERROR(KeepForStep(ctx, value));
    return ctx.rendezvous()->Send(key_.For(ctx.frame_iter()), value, is_dead);
  }
  bool IsExpensive() const override { return false; }

 private:
  TransferKey key_;
};

class RecvKernel : public AsyncOpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return key_.Init(ctx); }
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    if (ctx.rendezvous() == nullptr) return done(NoRendezvous(ctx));
    ctx.rendezvous()->RecvAsync(key_.For(ctx.frame_iter()), {.cancellation = ctx.cancellation()},
                                [&ctx, done = std::move(done)](absl::StatusOr<Rendezvous::Received> received) {
                                  if (!received.ok()) return done(std::move(received).status());
                                  if (!received->is_dead) ctx.set_output(0, std::move(received->tensor));
                                  done(absl::OkStatus());
                                });
  }
  bool IsExpensive() const override { return false; }

 private:
  TransferKey key_;
};

absl::Status NoCall(const OpKernelContext& ctx) {
  return errors::Internal("Node '", ctx.node_def().name(), "' runs outside of a function call");
}

class ArgKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("index", &index_); }
  absl::Status Compute(OpKernelContext& ctx) override {
    if (ctx.step().call_frame == nullptr) return NoCall(ctx);
    ASSIGN_OR_RETURN(Tensor value, ctx.step().call_frame->GetArg(index_));
    ctx.set_output(0, std::move(value));
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }

 private:
  int32_t index_ = 0;
};

class RetvalKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("index", &index_); }
  absl::Status Compute(OpKernelContext& ctx) override {
    if (ctx.step().call_frame == nullptr) return NoCall(ctx);
    return ctx.step().call_frame->SetRetval(index_, ctx.locked_input(0));
  }
  bool IsExpensive() const override { return false; }

 private:
  int32_t index_ = 0;
};

}  // namespace

absl::Status RegisterTransferKernels(KernelRegistry& kernels) {
  for (const char* op : {"_Send", "_HostSend"}) RETURN_IF_ERROR(kernels.Register<SendKernel>(Kernel(op).Cpu()));
  for (const char* op : {"_Recv", "_HostRecv"}) RETURN_IF_ERROR(kernels.Register<RecvKernel>(Kernel(op).Cpu()));
  RETURN_IF_ERROR(kernels.Register<ArgKernel>(Kernel("_Arg").Cpu()));
  return kernels.Register<RetvalKernel>(Kernel("_Retval").Cpu());
}

}  // namespace weir
