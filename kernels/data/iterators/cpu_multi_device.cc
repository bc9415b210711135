// Ops on multi-device iterators.
#include "core/tensor/resource_handle.h"
#include "kernels/data/anonymous.h"
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/family.h"
#include "kernels/data/iterators/multi_device_iterator.h"
#include "kernels/data/string_handle.h"
#include "kernels/device/named_resource.h"

namespace weir {
namespace {

using DoneCallback = AsyncOpKernel::DoneCallback;

absl::StatusOr<std::shared_ptr<MultiDeviceIterator>> FindMultiDeviceIterator(const OpKernelContext& ctx, int input) {
  ASSIGN_OR_RETURN(std::shared_ptr<MultiDeviceIterator> found,
                   FindAnonymous<MultiDeviceIterator>(ctx, ctx.locked_input(input)));
  if (found == nullptr) return errors::InvalidArgument("The handle names no multi-device iterator");
  return found;
}

template <typename T>
absl::StatusOr<T> ScalarInput(const OpKernelContext& ctx, int i, const char* name) {
  const Tensor value = ctx.locked_input(i);
  if (value.dtype() == DataTypeOf<T>() && value.dims() == 0) return value.scalar<T>();
  return errors::InvalidArgument(name, " must be a scalar");
}

// What the makers of such iterators read.
struct IteratorAttrs {
  absl::Status Read(OpKernelConstruction& ctx) {
    std::vector<std::string> devices;
    RETURN_IF_ERROR(ctx.GetAttr("devices", &devices));
    shards = static_cast<int64_t>(devices.size());
    RETURN_IF_ERROR(ctx.GetAttr("output_types", &types));
    return ctx.GetAttr("output_shapes", &shapes);
  }
  std::shared_ptr<MultiDeviceIterator> Make(Device* device) const {
    return std::make_shared<MultiDeviceIterator>(device, types, shapes, shards);
  }
  int64_t shards = 0;
  DataTypeVector types;
  std::vector<PartialTensorShape> shapes;
};

class MultiDeviceIteratorKernel : public ResourceKernel<MultiDeviceIterator> {
 protected:
  absl::Status Configure(OpKernelConstruction& ctx) override { return attrs_.Read(ctx); }
  absl::StatusOr<std::shared_ptr<MultiDeviceIterator>> Make(OpKernelContext& ctx, const std::string&) override {
    return attrs_.Make(ctx.device());
  }
  absl::Status CheckMatches(const MultiDeviceIterator& iterator) const override {
    return iterator.CheckMatches(attrs_.types, attrs_.shapes);
  }
  std::string TypeName() const override { return MultiDeviceIterator::kTypeName; }

 private:
  IteratorAttrs attrs_;
};

class AnonymousMultiDeviceIteratorKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return attrs_.Read(ctx); }
  absl::Status Compute(OpKernelContext& ctx) override {
    SetAnonymous(ctx, attrs_.Make(ctx.device()));
    return absl::OkStatus();
  }

 private:
  IteratorAttrs attrs_;
};

class InitKernel : public AsyncOpKernel {
 public:
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    absl::StatusOr<DatasetPtr> dataset = DatasetFromTensor(ctx.locked_input(0));
    if (!dataset.ok()) return done(dataset.status());
    absl::StatusOr<std::shared_ptr<MultiDeviceIterator>> iterator = FindMultiDeviceIterator(ctx, 1);
    if (!iterator.ok()) return done(iterator.status());
    absl::StatusOr<int64_t> max_buffer = ScalarInput<int64_t>(ctx, 2, "max_buffer_size");
    if (!max_buffer.ok()) return done(max_buffer.status());
    (*iterator)->Init(ctx.step(), *std::move(dataset), *max_buffer,
                      [&ctx, done = std::move(done)](absl::StatusOr<int64_t> incarnation) {
                        if (incarnation.ok()) ctx.set_output(0, Tensor::Scalar<int64_t>(*incarnation));
                        done(incarnation.status());
                      });
  }
};

class GetNextFromShardKernel : public AsyncOpKernel {
 public:
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    absl::StatusOr<std::shared_ptr<MultiDeviceIterator>> iterator = FindMultiDeviceIterator(ctx, 0);
    if (!iterator.ok()) return done(iterator.status());
    absl::StatusOr<int32_t> shard = ScalarInput<int32_t>(ctx, 1, "shard_num");
    if (!shard.ok()) return done(shard.status());
    absl::StatusOr<int64_t> incarnation = ScalarInput<int64_t>(ctx, 2, "incarnation_id");
    if (!incarnation.ok()) return done(incarnation.status());
    (*iterator)->GetNext(ctx.step(), *shard, *incarnation,
                         [&ctx, done = std::move(done)](absl::StatusOr<IteratorResource::Result> result) {
                           if (!result.ok()) return done(result.status());
                           if (!result->has_element) return done(errors::OutOfRange("End of sequence"));
                           done(SetElementOutputs(ctx, std::move(result->element)));
                         });
  }
};

using ToStringKernel = ToStringHandleKernel<MultiDeviceIterator, &FindMultiDeviceIterator>;

}  // namespace

absl::Status RegisterMultiDeviceIteratorKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<MultiDeviceIteratorKernel>(Kernel("MultiDeviceIterator").Cpu()));
  for (const char* op : {"AnonymousMultiDeviceIterator", "AnonymousMultiDeviceIteratorV3"}) {
    RETURN_IF_ERROR(kernels.Register<AnonymousMultiDeviceIteratorKernel>(Kernel(op).Cpu()));
  }
  RETURN_IF_ERROR(kernels.Register<InitKernel>(Kernel("MultiDeviceIteratorInit").Cpu()));
  RETURN_IF_ERROR(kernels.Register<GetNextFromShardKernel>(Kernel("MultiDeviceIteratorGetNextFromShard").Cpu()));
  RETURN_IF_ERROR(kernels.Register<ToStringKernel>(Kernel("MultiDeviceIteratorToStringHandle").Cpu()));
  RETURN_IF_ERROR(kernels.Register<FromStringHandleKernel<MultiDeviceIterator>>(
      Kernel("MultiDeviceIteratorFromStringHandle").Cpu()));
  return kernels.Register<DeleteAnonymousKernel>(Kernel("DeleteMultiDeviceIterator").Cpu());
}

}  // namespace weir
