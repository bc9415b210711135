// filter with several calls of the predicate at a time.

#include "kernels/data/family.h"
#include "kernels/data/transformations/parallel_mapper.h"

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

  ParallelMapper::Options mapper_options() const {
    return {&options_.predicate, options_.parallelism, options_.deterministic, true, output_types(), this};
  }

 protected:
  IteratorPtr NewIterator() const override {
    return NewIteratorOf<ParallelMapperIterator<ParallelFilterDataset>>(this);
  }

 private:
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
