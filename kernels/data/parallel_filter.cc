// filter with several calls of the predicate at a time.
#include <optional>

#include "kernels/data/parallel_mapper.h"
#include "kernels/data/rare_families.h"

namespace weir {
namespace {

class ParallelFilterDataset : public UnaryDataset {
 public:
  struct Options {
    MapFunction predicate;
    int64_t parallelism = 1;
    bool deterministic = true;
  };
  ParallelFilterDataset(const DatasetPtr& input, Options options)
      : UnaryDataset("ParallelFilter", input), options_(std::move(options)) {}

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public DatasetIterator<ParallelFilterDataset> {
   public:
    using DatasetIterator::DatasetIterator;
    absl::Status Initialize(IteratorContext& ctx) override {
      ASSIGN_OR_RETURN(IteratorPtr input, dataset().input()->MakeIterator(ctx));
      const Options& options = dataset().options_;
      mapper_.emplace(ctx, std::move(input),
                      ParallelMapper::Options{&options.predicate, options.parallelism, options.deterministic, true,
                                              dataset().output_types(), &dataset()});
      return absl::OkStatus();
    }
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      return mapper_->GetNext(ctx, element);
    }
    absl::Status SaveState(IteratorContext& ctx, StateWriter writer) override { return mapper_->Save(ctx, writer); }
    absl::Status RestoreState(IteratorContext& ctx, const StateReader& reader) override {
      return mapper_->Restore(ctx, reader);
    }

   private:
    std::optional<ParallelMapper> mapper_;
  };

  const Options options_;
};

class ParallelFilterKernel : public DatasetKernel {
 protected:
  absl::Status InitDataset(OpKernelConstruction& ctx) override { return ReadDeterminism(ctx, &deterministic_); }
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    ASSIGN_OR_RETURN(const int64_t parallelism, ParallelCalls(inputs));
    return std::make_shared<ParallelFilterDataset>(
        input, ParallelFilterDataset::Options{
                   {inputs.Function("predicate", "other_arguments"), false}, parallelism, deterministic_});
  }

 private:
  bool deterministic_ = true;
};

}  // namespace

absl::Status RegisterParallelFilterKernels(KernelRegistry& kernels) {
  return kernels.Register<ParallelFilterKernel>(Kernel("ParallelFilterDataset").Cpu());
}

}  // namespace weir
