// global_shuffle: all elements of a dataset with random access, in an order that a cipher of their indices gives.
#include <array>

#include "core/tensor/resource_handle.h"
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/family.h"
#include "kernels/data/index_shuffle.h"
#include "kernels/data/seed_generator.h"

namespace weir {
namespace {

class GlobalShuffleDataset : public UnaryDataset {
 public:
  GlobalShuffleDataset(const DatasetPtr& input, std::shared_ptr<SeedGenerator> seeds)
      : UnaryDataset("GlobalShuffle", input), seeds_(std::move(seeds)) {}
  int64_t CountElements(IteratorContext* ctx) const override { return input()->CountElements(ctx); }

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public DatasetIterator<GlobalShuffleDataset> {
   public:
    using DatasetIterator::DatasetIterator;
    absl::Status Initialize(IteratorContext&) override {
      SeedGenerator& generator = *dataset().seeds_;
      const Seeds first = generator.Generate(), second = generator.Generate();
      key_ = {static_cast<uint32_t>(first.seed), static_cast<uint32_t>(first.seed2),
              static_cast<uint32_t>(second.seed)};
      generator_samples_ = generator.num_samples();
      return absl::OkStatus();
    }
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      const int64_t size = dataset().Cardinality();
      if (next_ >= size) return false;
      const uint64_t index = IndexShuffle(next_, key_, size - 1);
      IteratorContext shuffled = ctx;
      shuffled.global_shuffle = true;
      absl::Status status = dataset().input()->Get(shuffled, static_cast<int64_t>(index), element);
      RETURN_IF_ERROR(ctx.CheckCancelled());
      ++next_;  // also past an element that fails
      RETURN_IF_ERROR(status);
      return true;
    }
    absl::Status SaveState(IteratorContext&, StateWriter writer) override {
      writer.Int("generator_samples", generator_samples_);
      writer.Int("next", next_);
      for (size_t i = 0; i < key_.size(); ++i) writer.Int(absl::StrCat("key", i), key_[i]);
      return absl::OkStatus();
    }
    absl::Status RestoreState(IteratorContext&, const StateReader& reader) override {
      ASSIGN_OR_RETURN(generator_samples_, reader.Int("generator_samples"));
      dataset().seeds_->Reset(generator_samples_);
      ASSIGN_OR_RETURN(next_, reader.Int("next", 0, dataset().Cardinality()));
      for (size_t i = 0; i < key_.size(); ++i) {
        ASSIGN_OR_RETURN(key_[i], reader.Int(absl::StrCat("key", i), 0, UINT32_MAX));
      }
      return absl::OkStatus();
    }

   private:
    std::array<uint32_t, 3> key_ = {};
    int64_t generator_samples_ = 0;  // of the generator, once it gave key_
    int64_t next_ = 0;
  };

  const std::shared_ptr<SeedGenerator> seeds_;
};

class GlobalShuffleKernel : public DatasetKernel {
 protected:
  absl::Status InitDataset(OpKernelConstruction& ctx) override {
    return ctx.GetAttr("reshuffle_each_iteration", &reshuffle_);
  }
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    if (absl::Status status = input->CheckGlobalShuffle(); !status.ok()) {
      return errors::FailedPrecondition(
          "`global_shuffle` requires all upstream transformations be compatible with random access. Got: ",
          status.ToString());
    }
    const int64_t size = input->Cardinality();
    if (size <= 0) {
      return errors::InvalidArgument(
          "`global_shuffle` requires the input dataset to have a non-empty finite cardinality. Got cardinality ", size,
          " for dataset ", input->DebugString());
    }
    ASSIGN_OR_RETURN(std::shared_ptr<SeedGenerator> seeds, SeedGeneratorFor(inputs, reshuffle_));
    return std::make_shared<GlobalShuffleDataset>(input, std::move(seeds));
  }

 private:
  bool reshuffle_ = true;
};

}  // namespace

absl::Status RegisterGlobalShuffleKernels(KernelRegistry& kernels) {
  return kernels.Register<GlobalShuffleKernel>(Kernel("GlobalShuffleDataset").Cpu());
}

}  // namespace weir
