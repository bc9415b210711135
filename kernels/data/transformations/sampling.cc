// sampling: keeps each element with a given probability.
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/family.h"
#include "kernels/data/seed_generator.h"

namespace weir {
namespace {

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
    ASSIGN_OR_RETURN(const Seeds seeds, Seeds::Resolve(inputs, seed, seed2));
    return std::make_shared<SamplingDataset>(input, rate.scalar<float>(), seeds);
  }
};

}  // namespace

absl::Status RegisterSamplingDatasetKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<SamplingKernel>(Kernel("SamplingDataset").Cpu()));
  return absl::OkStatus();
}

}  // namespace weir
