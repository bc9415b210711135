// Datasets that yield the elements of an input: thread pools, choose_fastest, wrapped variants.
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/family.h"
#include "kernels/device/named_resource.h"

namespace weir {
namespace {

// Elements of the input, as they are.
class PassingDataset : public UnaryDataset {
 public:
  using UnaryDataset::UnaryDataset;
  int64_t CountElements(IteratorContext* ctx) const override { return input()->CountElements(ctx); }

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<PassingIterator>(this); }

 private:
  class PassingIterator : public UnaryIterator<PassingDataset> {
   public:
    using UnaryIterator::UnaryIterator;
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override { return input_->GetNext(ctx, element); }
  };
};

// A pool has no threads of its own here: all datasets run on the device's.
class ThreadPoolResource : public Resource {
 public:
  std::string DebugString() const override { return "ThreadPool"; }
};

class ThreadPoolHandleKernel : public ResourceKernel<ThreadPoolResource> {
 protected:
  absl::Status Configure(OpKernelConstruction& ctx) override {
    int64_t threads;
    RETURN_IF_ERROR(ctx.GetAttr("num_threads", &threads));
    if (threads > 0 && threads < 65536) return absl::OkStatus();
    return errors::InvalidArgument("`num_threads` must be greater than zero and less than 65536.");
  }
  absl::StatusOr<std::shared_ptr<ThreadPoolResource>> Make(OpKernelContext&, const std::string&) override {
    return std::make_shared<ThreadPoolResource>();
  }
  std::string TypeName() const override { return "tensorflow::data::ThreadPoolResource"; }
};

class ThreadPoolKernel : public DatasetKernel {
 protected:
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    const Tensor pool = inputs.Get("thread_pool");
    if (pool.dtype() != DT_RESOURCE || pool.dims() != 0) {
      return errors::InvalidArgument("thread_pool must be a resource scalar");
    }
    RETURN_IF_ERROR(inputs.ctx().resources()->Lookup<ThreadPoolResource>(pool.scalar<ResourceHandle>()).status());
    return std::make_shared<PassingDataset>("ThreadPool", input);
  }
};

// All inputs yield the same elements; which is fastest is not measured.
class ChooseFastestKernel : public DatasetKernel {
 protected:
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(std::vector<DatasetPtr> datasets, inputs.Datasets("input_datasets"));
    for (const DatasetPtr& dataset : datasets) {
      RETURN_IF_ERROR(CheckTypesMatch(inputs.node().output_types(), dataset->output_types()));
      RETURN_IF_ERROR(CheckShapesCompatible(inputs.node().output_shapes(), dataset->output_shapes()));
      if (dataset->Cardinality() != datasets[0]->Cardinality()) {
        return errors::InvalidArgument("Dataset cardinalities must match: ", datasets[0]->Cardinality(), " and ",
                                       dataset->Cardinality());
      }
    }
    if (datasets.empty()) return errors::InvalidArgument("ChooseFastestDataset needs an input");
    return std::make_shared<PassingDataset>("ChooseFastest", datasets[0]);
  }
};

// A dataset stays itself in a further wrapper.
class WrapKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    RETURN_IF_ERROR(DatasetFromTensor(ctx.locked_input(0)).status());
    ctx.set_output(0, ctx.input(0));
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterWrappingDatasetKernels(KernelRegistry& kernels) {
  for (const char* op : {"ThreadPoolHandle", "ExperimentalThreadPoolHandle"}) {
    RETURN_IF_ERROR(kernels.Register<ThreadPoolHandleKernel>(Kernel(op).Cpu()));
  }
  for (const char* op : {"ThreadPoolDataset", "ExperimentalThreadPoolDataset"}) {
    RETURN_IF_ERROR(kernels.Register<ThreadPoolKernel>(Kernel(op).Cpu()));
  }
  for (const char* op : {"ChooseFastestDataset", "ExperimentalChooseFastestDataset"}) {
    RETURN_IF_ERROR(kernels.Register<ChooseFastestKernel>(Kernel(op).Cpu()));
  }
  for (const char* op : {"WrapDatasetVariant", "UnwrapDatasetVariant"}) {
    RETURN_IF_ERROR(kernels.Register<WrapKernel>(Kernel(op).Cpu()));
  }
  return absl::OkStatus();
}

}  // namespace weir
