// Collectives whose group and instance are attributes (the first versions) or inputs (V2).
#include "kernels/collective/collective_kernel.h"

#include "core/kernel/kernel_registry.h"
#include "core/tensor/index_tensor.h"
#include "kernels/collective/family.h"

namespace weir {
namespace {

absl::Status ReadFinalOp(const OpKernelConstruction& ctx, bool* is_mean) {
  std::string final_op;
  RETURN_IF_ERROR(ctx.GetAttr("final_op", &final_op));
  if (final_op != "Id" && final_op != "Div") {
    return errors::InvalidArgument("final_op must be one of {\"Id\", \"Div\"} but got ", final_op);
  }
  *is_mean = final_op == "Div";
  return absl::OkStatus();
}

template <CollectiveType kType>
constexpr bool kReduces = kType == CollectiveType::kReduce || kType == CollectiveType::kReduceScatter;

// Attributes of both versions.
template <CollectiveType kType>
absl::Status ReadCommon(OpKernelConstruction& ctx, CollectiveParams* params) {
  params->type = kType;
  ASSIGN_OR_RETURN(params->timeout, ReadTimeout(ctx));
  if constexpr (kReduces<kType>) {
    ASSIGN_OR_RETURN(params->reduction, ReadReduction(ctx, "merge_op"));
    return ReadFinalOp(ctx, &params->is_mean);
  }
  return absl::OkStatus();
}

absl::Status ReadKeyAttributes(const OpKernelConstruction& ctx, CollectiveParams* params) {
  RETURN_IF_ERROR(ctx.GetAttr("group_size", &params->group.size));
  RETURN_IF_ERROR(CheckGroupSize(params->group.size));
  RETURN_IF_ERROR(ctx.GetAttr("group_key", &params->group.key));
  return ctx.GetAttr("instance_key", &params->instance_key);
}

// Inputs from `first` on.
absl::Status ReadKeyInputs(const OpKernelContext& ctx, int first, CollectiveParams* params) {
  ASSIGN_OR_RETURN(params->group.size, ReadKey(ctx.input(first), "group_size"));
  RETURN_IF_ERROR(CheckGroupSize(params->group.size));
  ASSIGN_OR_RETURN(params->group.key, ReadKey(ctx.input(first + 1), "group_key"));
  ASSIGN_OR_RETURN(params->instance_key, ReadKey(ctx.input(first + 2), "instance_key"));
  return absl::OkStatus();
}

template <CollectiveType kType>
class KeyAttributesKernel : public CollectiveKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(CollectiveKernel::Init(ctx));
    RETURN_IF_ERROR(ReadCommon<kType>(ctx, &params_));
    return ReadKeyAttributes(ctx, &params_);
  }

 protected:
  absl::Status Describe(OpKernelContext& ctx, CollectiveParams* params, Tensor* input) const override {
    return AllocateCollectiveOutput(ctx, *params, input);
  }
};

template <CollectiveType kType>
class KeyInputsKernel : public CollectiveKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(CollectiveKernel::Init(ctx));
    return ReadCommon<kType>(ctx, &params_);
  }

 protected:
  absl::Status Describe(OpKernelContext& ctx, CollectiveParams* params, Tensor* input) const override {
    RETURN_IF_ERROR(ReadKeyInputs(ctx, 1, params));
    return AllocateCollectiveOutput(ctx, *params, input);
  }
};

// The shape is declared, so that the receivers know it.
class BroadcastSendKernel : public KeyAttributesKernel<CollectiveType::kBroadcast> {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(KeyAttributesKernel::Init(ctx));
    params_.is_source = true;
    return ctx.GetAttr("shape", &shape_);
  }

 protected:
  absl::Status Describe(OpKernelContext& ctx, CollectiveParams* params, Tensor* input) const override {
    if (ctx.input(0).shape() != shape_) {
      return errors::Internal("Declared shape of op ", params->name,
                              " does not match shape of input: ", shape_.ToString(), " vs. ",
                              ctx.input(0).shape().ToString());
    }
    return KeyAttributesKernel::Describe(ctx, params, input);
  }

 private:
  TensorShape shape_;
};

class BroadcastReceiveKernel : public CollectiveKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(CollectiveKernel::Init(ctx));
    RETURN_IF_ERROR(ReadCommon<CollectiveType::kBroadcast>(ctx, &params_));
    RETURN_IF_ERROR(ReadKeyAttributes(ctx, &params_));
    return ctx.GetAttr("shape", &shape_);
  }

 protected:
  absl::Status Describe(OpKernelContext& ctx, CollectiveParams*, Tensor*) const override {
    return ctx.allocate_output(0, shape_).status();
  }

 private:
  TensorShape shape_;
};

class BroadcastSendV2Kernel : public KeyInputsKernel<CollectiveType::kBroadcast> {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    params_.is_source = true;
    return KeyInputsKernel::Init(ctx);
  }
};

class BroadcastReceiveV2Kernel : public CollectiveKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(CollectiveKernel::Init(ctx));
    return ReadCommon<CollectiveType::kBroadcast>(ctx, &params_);
  }

 protected:
  absl::Status Describe(OpKernelContext& ctx, CollectiveParams* params, Tensor*) const override {
    RETURN_IF_ERROR(ReadKeyInputs(ctx, 0, params));
    ASSIGN_OR_RETURN(const TensorShape shape, ReadShape(ctx.input(3)));
    return ctx.allocate_output(0, shape).status();
  }
};

template <CollectiveType kType>
absl::Status RegisterV2(KernelRegistry& kernels, const char* op) {
  return kernels.Register<KeyInputsKernel<kType>>(Kernel(op).Cpu());
}

}  // namespace

absl::Status RegisterCollectiveKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<KeyAttributesKernel<CollectiveType::kReduce>>(Kernel("CollectiveReduce").Cpu()));
  RETURN_IF_ERROR(kernels.Register<KeyAttributesKernel<CollectiveType::kGather>>(Kernel("CollectiveGather").Cpu()));
  RETURN_IF_ERROR(kernels.Register<BroadcastSendKernel>(Kernel("CollectiveBcastSend").Cpu()));
  RETURN_IF_ERROR(kernels.Register<BroadcastReceiveKernel>(Kernel("CollectiveBcastRecv").Cpu()));
  RETURN_IF_ERROR(RegisterV2<CollectiveType::kReduce>(kernels, "CollectiveReduceV2"));
  RETURN_IF_ERROR(RegisterV2<CollectiveType::kGather>(kernels, "CollectiveGatherV2"));
  RETURN_IF_ERROR(RegisterV2<CollectiveType::kAllToAll>(kernels, "CollectiveAllToAllV2"));
  RETURN_IF_ERROR(RegisterV2<CollectiveType::kReduceScatter>(kernels, "CollectiveReduceScatterV2"));
  RETURN_IF_ERROR(kernels.Register<BroadcastSendV2Kernel>(Kernel("CollectiveBcastSendV2").Cpu()));
  return kernels.Register<BroadcastReceiveV2Kernel>(Kernel("CollectiveBcastRecvV2").Cpu());
}

}  // namespace weir
