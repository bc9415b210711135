// OneShotIterator: an iterator with a dataset of its own.
#include <atomic>

#include "kernels/data/dataset_kernel.h"
#include "kernels/data/family.h"
#include "kernels/data/iterators/iterator_handle.h"

namespace weir {
namespace {

class OneShotIteratorKernel : public AsyncOpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(node_.Init(ctx));
    factory_ = CapturedFunction(node_.Function("dataset_factory"), {});
    return handle_.Init(ctx);
  }

  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    absl::StatusOr<NamedIterator::Found> found = handle_.Find(ctx);
    if (!found.ok()) return done(found.status());
    ctx.set_output(0, Tensor::Scalar(found->handle));
    if (initialised_.load(std::memory_order_acquire) == found->iterator.get()) return done(absl::OkStatus());
    IteratorResource* const iterator = found->iterator.get();
    iterator->SetDatasetOnce(
        ctx.step(), [this](IteratorContext& ctx) { return factory_.CallForDataset(ctx, {}); },
        [this, iterator, done = std::move(done)](absl::Status status) {
          if (status.ok()) initialised_.store(iterator, std::memory_order_release);
          done(std::move(status));
        });
  }

 private:
  NodeArguments node_;
  CapturedFunction factory_;
  NamedIterator handle_;
  std::atomic<const IteratorResource*> initialised_{nullptr};
};

}  // namespace

absl::Status RegisterOneShotKernels(KernelRegistry& kernels) {
  return kernels.Register<OneShotIteratorKernel>(Kernel("OneShotIterator").Cpu());
}

}  // namespace weir
