// Ops on iterators.
#include "core/tensor/resource_handle.h"
#include "core/tensor/variant_registry.h"
#include "kernels/data/anonymous.h"
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/element_shapes.h"
#include "kernels/data/family.h"
#include "kernels/data/iterators/iterator_handle.h"
#include "kernels/data/iterators/iterator_resource.h"
#include "kernels/data/iterators/optional.h"
#include "kernels/data/string_handle.h"

namespace weir {
namespace {

using DoneCallback = AsyncOpKernel::DoneCallback;

absl::StatusOr<std::shared_ptr<IteratorResource>> FindIterator(const OpKernelContext& ctx, int input) {
  ASSIGN_OR_RETURN(std::shared_ptr<IteratorResource> found,
                   FindAnonymous<IteratorResource>(ctx, ctx.locked_input(input)));
  if (found == nullptr) return errors::InvalidArgument("The handle names no iterator");
  return found;
}

// IteratorV2, Iterator
class IteratorKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return handle_.Init(ctx); }
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const NamedIterator::Found found, handle_.Find(ctx));
    ctx.set_output(0, Tensor::Scalar(found.handle));
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }

 private:
  NamedIterator handle_;
};

// Of AnonymousIterator the resource manager is the owner, so that a string handle names it, until DestroyResourceOp or
// Reset; of the later versions the handle and its deleter are.
class AnonymousIteratorKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    is_managed_ = ctx.op() == "AnonymousIterator";
    RETURN_IF_ERROR(ctx.GetAttr("output_types", &types_));
    return ctx.GetAttr("output_shapes", &shapes_);
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    auto iterator = std::make_shared<IteratorResource>(ctx.device(), types_, shapes_);
    if (!is_managed_) {
      SetAnonymous(ctx, std::move(iterator));
      return absl::OkStatus();
    }
    ResourceHandle handle = UniqueHandle<IteratorResource>(ctx);
    RETURN_IF_ERROR(ctx.resources()->Create(handle.container, handle.name, std::move(iterator)));
    ctx.set_output(0, Tensor::Scalar(std::move(handle)));
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }

 private:
  bool is_managed_ = false;
  DataTypeVector types_;
  std::vector<PartialTensorShape> shapes_;
};

class MakeIteratorKernel : public AsyncOpKernel {
 public:
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    absl::StatusOr<DatasetPtr> dataset = DatasetFromTensor(ctx.locked_input(0));
    if (!dataset.ok()) return done(dataset.status());
    absl::StatusOr<std::shared_ptr<IteratorResource>> iterator = FindIterator(ctx, 1);
    if (!iterator.ok()) return done(iterator.status());
    (*iterator)->SetDataset(ctx.step(), *std::move(dataset), std::move(done));
  }
};

class GetNextKernel : public AsyncOpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("output_shapes", &shapes_); }
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    absl::StatusOr<std::shared_ptr<IteratorResource>> iterator = FindIterator(ctx, 0);
    if (!iterator.ok()) return done(iterator.status());
    (*iterator)->GetNext(ctx.step(),
                         [this, &ctx, done = std::move(done)](absl::StatusOr<IteratorResource::Result> result) {
                           if (!result.ok()) return done(result.status());
                           if (!result->has_element) return done(errors::OutOfRange("End of sequence"));
                           if (absl::Status status = CheckElementShapes(result->element, shapes_); !status.ok())
                             return done(std::move(status));
                           done(SetElementOutputs(ctx, std::move(result->element)));
                         });
  }

 private:
  std::vector<PartialTensorShape> shapes_;
};

class GetNextAsOptionalKernel : public AsyncOpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("output_types", &types_); }
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    absl::StatusOr<std::shared_ptr<IteratorResource>> iterator = FindIterator(ctx, 0);
    if (!iterator.ok()) return done(iterator.status());
    (*iterator)->GetNext(ctx.step(),
                         [this, &ctx, done = std::move(done)](absl::StatusOr<IteratorResource::Result> result) {
                           if (!result.ok()) return done(result.status());
                           if (result->has_element) {
                             absl::Status status = CheckElement(result->element, types_);
                             if (!status.ok()) return done(std::move(status));
                             ctx.set_output(0, OptionalTensor(std::move(result->element)));
                           } else {
                             ctx.set_output(0, OptionalTensor(std::nullopt));
                           }
                           done(absl::OkStatus());
                         });
  }

 private:
  DataTypeVector types_;
};

class SerializeKernel : public AsyncOpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    int64_t policy = 0;
    RETURN_IF_ERROR(ctx.GetAttr("external_state_policy", &policy));
    policy_ = static_cast<ExternalStatePolicy>(policy);
    return absl::OkStatus();
  }
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    absl::StatusOr<std::shared_ptr<IteratorResource>> iterator = FindIterator(ctx, 0);
    if (!iterator.ok()) return done(iterator.status());
    auto give = [&ctx, done = std::move(done)](absl::StatusOr<std::shared_ptr<IteratorState>> state) {
      if (!state.ok()) return done(state.status());
      Tensor serialized(DT_VARIANT, TensorShape({1}));
      serialized.data<Variant>()[0] = Variant(*std::move(state));
      ctx.set_output(0, std::move(serialized));
      done(absl::OkStatus());
    };
    (*iterator)->Save(ctx.step(), policy_, std::move(give));
  }

 private:
  ExternalStatePolicy policy_ = ExternalStatePolicy::kWarn;
};

// States may have been written to a file and read again, or sent.
absl::StatusOr<std::shared_ptr<const IteratorState>> StateFrom(const Tensor& serialized) {
  if (serialized.dtype() == DT_VARIANT && serialized.dims() == 1 && serialized.NumElements() == 1) {
    const Variant& variant = *serialized.data<Variant>();
    if (const auto* state = variant.get<IteratorState>()) return std::make_shared<IteratorState>(*state);
    const auto* encoded = variant.get<EncodedVariant>();
    if (encoded != nullptr && encoded->TypeName() == IteratorState::kTypeName) {
      ASSIGN_OR_RETURN(std::unique_ptr<IteratorState> state,
                       IteratorState::Decode(encoded->metadata(), encoded->tensors()));
      return std::shared_ptr<const IteratorState>(std::move(state));
    }
  }
  return errors::InvalidArgument("`serialized` must be a vector of one variant that SerializeIterator gave");
}

class DeserializeKernel : public AsyncOpKernel {
 public:
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    absl::StatusOr<std::shared_ptr<IteratorResource>> iterator = FindIterator(ctx, 0);
    if (!iterator.ok()) return done(iterator.status());
    absl::StatusOr<std::shared_ptr<const IteratorState>> state = StateFrom(ctx.locked_input(1));
    if (!state.ok()) return done(state.status());
    (*iterator)->Restore(ctx.step(), *std::move(state), [done = std::move(done)](absl::Status status) {
      done(Annotate(std::move(status), "Failed to restore the iterator from its saved state"));
    });
  }
};

class GetDeviceKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    RETURN_IF_ERROR(FindIterator(ctx, 0).status());
    ctx.set_output(0, Tensor::Scalar<tstring>(ctx.device()->name()));
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterIteratorKernels(KernelRegistry& kernels) {
  for (const char* op : {"IteratorV2", "Iterator"}) {
    RETURN_IF_ERROR(kernels.Register<IteratorKernel>(Kernel(op).Cpu()));
  }
  for (const char* op : {"AnonymousIterator", "AnonymousIteratorV2", "AnonymousIteratorV3"}) {
    RETURN_IF_ERROR(kernels.Register<AnonymousIteratorKernel>(Kernel(op).Cpu()));
  }
  for (const char* op : {"IteratorGetNext", "IteratorGetNextSync"}) {
    RETURN_IF_ERROR(kernels.Register<GetNextKernel>(Kernel(op).Cpu()));
  }
  for (const char* op : {"IteratorFromStringHandle", "IteratorFromStringHandleV2"}) {
    RETURN_IF_ERROR(kernels.Register<FromStringHandleKernel<IteratorResource>>(Kernel(op).Cpu()));
  }
  for (const char* op : {"IteratorGetDevice", "ExperimentalIteratorGetDevice"}) {
    RETURN_IF_ERROR(kernels.Register<GetDeviceKernel>(Kernel(op).Cpu()));
  }
  RETURN_IF_ERROR(kernels.Register<MakeIteratorKernel>(Kernel("MakeIterator").Cpu()));
  RETURN_IF_ERROR(kernels.Register<GetNextAsOptionalKernel>(Kernel("IteratorGetNextAsOptional").Cpu()));
  RETURN_IF_ERROR(kernels.Register<SerializeKernel>(Kernel("SerializeIterator").Cpu()));
  RETURN_IF_ERROR(kernels.Register<DeserializeKernel>(Kernel("DeserializeIterator").Cpu()));
  RETURN_IF_ERROR(kernels.Register<DeleteAnonymousKernel>(Kernel("DeleteIterator").Cpu()));
  return kernels.Register<ToStringHandleKernel<IteratorResource, &FindIterator>>(
      Kernel("IteratorToStringHandle").Cpu());
}

}  // namespace weir
