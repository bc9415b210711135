// Kernels of iterators over dealt chunks.
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/element_shapes.h"
#include "kernels/dealing/dealt_iterator.h"
#include "kernels/dealing/dealt_range.h"
#include "kernels/dealing/family.h"
#include "kernels/device/named_resource.h"

namespace weir {
namespace {

class DealtIteratorKernel : public ResourceKernel<DealtIterator> {
 protected:
  absl::Status Configure(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("output_types", &types_));
    return ctx.GetAttr("output_shapes", &shapes_);
  }
  absl::StatusOr<std::shared_ptr<DealtIterator>> Make(OpKernelContext& ctx, const std::string&) override {
    return std::make_shared<DealtIterator>(ctx.device(), types_, shapes_);
  }
  absl::Status CheckMatches(const DealtIterator& iterator) const override {
    return iterator.CheckMatches(types_, shapes_);
  }
  std::string TypeName() const override { return "DealtIterator"; }

 private:
  DataTypeVector types_;
  std::vector<PartialTensorShape> shapes_;
};

class DealtIteratorGetNextKernel : public AsyncOpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return node_.Init(ctx); }

  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    if (absl::Status status = Start(ctx, done); !status.ok()) done(std::move(status));
  }

 private:
  // Leaves `done` alone if it fails.
  absl::Status Start(OpKernelContext& ctx, DoneCallback& done) {
    ASSIGN_OR_RETURN(const std::shared_ptr<DealtIterator> iterator, FindResource<DealtIterator>(ctx, 0));
    ASSIGN_OR_RETURN(const DealtRange range, DealtRangeFrom(ctx.input(1)));
    const NodeInputs inputs(ctx, node_);
    auto make = [function = inputs.Function("dataset_function", "other_arguments"), range](IteratorContext& ctx) {
      return function.CallForDataset(ctx, {Tensor::Scalar(range.epoch), Tensor::Scalar(range.chunk),
                                           Tensor::Scalar(range.begin), Tensor::Scalar(range.end)});
    };
    iterator->GetNext(ctx.step(), range, std::move(make),
                      [this, &ctx, done = std::move(done)](absl::StatusOr<Element> batch) {
                        if (!batch.ok()) return done(batch.status());
                        absl::Status status = CheckElementShapes(*batch, node_.output_shapes());
                        if (!status.ok()) return done(std::move(status));
                        done(SetElementOutputs(ctx, *std::move(batch)));
                      });
    return absl::OkStatus();
  }

  NodeArguments node_;
};

}  // namespace

absl::Status RegisterDealtIteratorKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<DealtIteratorKernel>(Kernel("DealtIterator").Cpu()));
  return kernels.Register<DealtIteratorGetNextKernel>(Kernel("DealtIteratorGetNext").Cpu());
}

}  // namespace weir
