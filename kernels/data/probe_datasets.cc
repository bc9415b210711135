// Datasets that look at pipelines rather than change them: pauses, samples, thread pools; options and wrappers.
#include "absl/time/clock.h"
#include "core/attr_value.h"
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/family.h"
#include "kernels/data/seed_generator.h"
#include "kernels/device/named_resource.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {
namespace {

// Elements of the input, as they are.
class PassingDataset : public UnaryDataset {
 public:
  using UnaryDataset::UnaryDataset;
  int64_t Cardinality() const override { return input()->Cardinality(); }

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<PassingIterator>(this); }

 private:
  class PassingIterator : public UnaryIterator<PassingDataset> {
   public:
    using UnaryIterator::UnaryIterator;
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override { return input_->GetNext(ctx, element); }
  };
};

struct SleepTime {
  int64_t microseconds = 0;
};

// Waits before each element.
class SleepDataset : public UnaryDataset {
 public:
  SleepDataset(const DatasetPtr& input, SleepTime time) : UnaryDataset("Sleep", input), time_(time) {}
  int64_t Cardinality() const override { return input()->Cardinality(); }

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public UnaryIterator<SleepDataset> {
   public:
    using UnaryIterator::UnaryIterator;
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      const absl::Time until = absl::Now() + absl::Microseconds(dataset().time_.microseconds);
      // In short pieces, so that cancellation is soon noticed.
      for (absl::Duration left; (left = until - absl::Now()) > absl::ZeroDuration();) {
        RETURN_IF_ERROR(ctx.CheckCancelled());
        absl::SleepFor(std::min(left, absl::Milliseconds(20)));
      }
      return input_->GetNext(ctx, element);
    }
  };

  const SleepTime time_;
};

class SleepKernel : public DatasetKernel {
 protected:
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    ASSIGN_OR_RETURN(const int64_t time, inputs.Int("sleep_microseconds"));
    if (time < 0) return errors::InvalidArgument("`sleep_microseconds` must be >= 0");
    return std::make_shared<SleepDataset>(input, SleepTime{time});
  }
};

// Keeps each element with a given probability.
class SamplingDataset : public UnaryDataset {
 public:
  SamplingDataset(const DatasetPtr& input, float rate, Seeds seeds)
      : UnaryDataset("Sampling", input), rate_(rate), seeds_(seeds) {}

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public UnaryIterator<SamplingDataset> {
   public:
    explicit Iterator(std::shared_ptr<const SamplingDataset> dataset)
        : UnaryIterator(std::move(dataset)), stream_(this->dataset().seeds_.seed, this->dataset().seeds_.seed2) {}
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      for (;;) {
        ASSIGN_OR_RETURN(const bool more, input_->GetNext(ctx, element));
        if (!more) return false;
        ++drawn_;
        if (UniformFloat(stream_.Next()) < dataset().rate_) return true;
      }
    }
    absl::Status SaveState(IteratorContext& ctx, StateWriter writer) override {
      writer.Int("drawn", drawn_);
      return UnaryIterator::SaveState(ctx, writer);
    }
    absl::Status RestoreState(IteratorContext& ctx, const StateReader& reader) override {
      ASSIGN_OR_RETURN(drawn_, reader.Int("drawn"));
      stream_ = SampleStream(dataset().seeds_.seed, dataset().seeds_.seed2);
      stream_.Skip(drawn_);
      return UnaryIterator::RestoreState(ctx, reader);
    }

   private:
    SampleStream stream_;
    int64_t drawn_ = 0;
  };

  const float rate_;
  const Seeds seeds_;
};

class SamplingKernel : public DatasetKernel {
 protected:
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    const Tensor rate = inputs.Get("rate");
    if (rate.dtype() != DT_FLOAT || rate.dims() != 0) return errors::InvalidArgument("`rate` must be a scalar");
    ASSIGN_OR_RETURN(const int64_t seed, inputs.Int("seed"));
    ASSIGN_OR_RETURN(const int64_t seed2, inputs.Int("seed2"));
    return std::make_shared<SamplingDataset>(input, rate.scalar<float>(), Seeds::Resolve(seed, seed2));
  }
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

// Options messages of all datasets below, and nearer ones win: what their bytes, one behind the other, mean.
void AppendOptions(const DatasetBase& dataset, std::string* options) {
  for (const DatasetPtr& input : dataset.inputs()) AppendOptions(*input, options);
  const auto& node = dataset.origin().node;
  std::string own;
  if (node != nullptr && node->op() == "OptionsDataset" && GetNodeAttr(*node, "serialized_options", &own).ok()) {
    *options += own;
  }
}

class GetOptionsKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr dataset, DatasetFromTensor(ctx.locked_input(0)));
    std::string options;
    AppendOptions(*dataset, &options);
    ctx.set_output(0, Tensor::Scalar<tstring>(std::move(options)));
    return absl::OkStatus();
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

absl::Status RegisterProbeDatasetKernels(KernelRegistry& kernels) {
  for (const char* op : {"SleepDataset", "ExperimentalSleepDataset"}) {
    RETURN_IF_ERROR(kernels.Register<SleepKernel>(Kernel(op).Cpu()));
  }
  RETURN_IF_ERROR(kernels.Register<SamplingKernel>(Kernel("SamplingDataset").Cpu()));
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
  return kernels.Register<GetOptionsKernel>(Kernel("GetOptions").Cpu());
}

}  // namespace weir
