// map with several calls at a time, and map_and_batch.

#include "kernels/data/element_buffer.h"
#include "kernels/data/family.h"
#include "kernels/data/transformations/batching.h"
#include "kernels/data/transformations/parallel_mapper.h"

namespace weir {
namespace {

class ParallelMapDataset : public UnaryDataset {
 public:
  struct Options {
    MapFunction map;
    int64_t parallelism = 1;
    bool deterministic = true;
  };
  ParallelMapDataset(const DatasetPtr& input, DataTypeVector types, std::vector<PartialTensorShape> shapes,
                     Options options)
      : UnaryDataset("ParallelMap", input, std::move(types), std::move(shapes)), options_(std::move(options)) {}
  int64_t CountElements(IteratorContext* ctx) const override { return options_.map.CountElements(ctx, *input()); }
  bool HasRandomAccess() const override { return true; }
  absl::Status CheckGlobalShuffle() const override { return CheckInputsGlobalShuffle(); }

  ParallelMapper::Options mapper_options() const {
    return {&options_.map, options_.parallelism, options_.deterministic, false, output_types(), this};
  }

 protected:
  absl::Status GetElement(IteratorContext& ctx, int64_t index, Element* element) const override {
    Element args;
    RETURN_IF_ERROR(input()->Get(ctx, index, &args));
    return options_.map.Get(ctx, *this, std::move(args), element);
  }
  IteratorPtr NewIterator() const override { return NewIteratorOf<ParallelMapperIterator<ParallelMapDataset>>(this); }

 private:
  const Options options_;
};

class ParallelMapKernel : public DatasetKernel {
 protected:
  absl::Status InitDataset(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ReadDeterminism(ctx, &deterministic_));
    return ctx.GetAttr("preserve_cardinality", &preserve_cardinality_);
  }
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    ASSIGN_OR_RETURN(const int64_t parallelism, ParallelCalls(inputs));
    return std::make_shared<ParallelMapDataset>(
        input, inputs.node().output_types(), inputs.node().output_shapes(),
        ParallelMapDataset::Options{
            {inputs.Function("f", "other_arguments"), preserve_cardinality_}, parallelism, deterministic_});
  }

 private:
  bool deterministic_ = true, preserve_cardinality_ = false;
};

// --- MapAndBatch ---

class MapAndBatchDataset : public UnaryDataset {
 public:
  MapAndBatchDataset(const DatasetPtr& mapped, const NodeArguments& node, int64_t size, bool drop_remainder)
      : UnaryDataset("MapAndBatch", mapped, node.output_types(), node.output_shapes()),
        batching_{size, drop_remainder, /*errors_end_batch=*/true} {}
  int64_t CountElements(IteratorContext* ctx) const override { return batching_.Count(input()->CountElements(ctx)); }

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public UnaryIterator<MapAndBatchDataset> {
   public:
    using UnaryIterator::UnaryIterator;
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      std::vector<Element> elements;
      ASSIGN_OR_RETURN(const bool more, dataset().batching_.Next(ctx, *input_, &elements));
      if (!more) return false;
      ASSIGN_OR_RETURN(*element, StackElements(ctx, elements));
      return true;
    }
  };

  const Batching batching_;
};

class MapAndBatchKernel : public DatasetKernel {
 protected:
  absl::Status InitDataset(OpKernelConstruction& ctx) override {
    return ctx.GetAttr("preserve_cardinality", &preserve_cardinality_);
  }
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    ASSIGN_OR_RETURN(const int64_t parallelism, ParallelCalls(inputs));
    ASSIGN_OR_RETURN(const int64_t size, inputs.Int("batch_size"));
    if (size <= 0) return errors::InvalidArgument("batch_size must be greater than zero.");
    ASSIGN_OR_RETURN(const bool drop_remainder, inputs.Bool("drop_remainder"));
    auto mapped = std::make_shared<ParallelMapDataset>(
        input, inputs.node().output_types(), std::vector<PartialTensorShape>(inputs.node().output_types().size()),
        ParallelMapDataset::Options{
            {inputs.Function("f", "other_arguments"), preserve_cardinality_}, parallelism, true});
    return std::make_shared<MapAndBatchDataset>(mapped, inputs.node(), size, drop_remainder);
  }

 private:
  bool preserve_cardinality_ = false;
};

}  // namespace

absl::Status RegisterParallelMapKernels(KernelRegistry& kernels) {
  for (const char* op : {"ParallelMapDataset", "ParallelMapDatasetV2"}) {
    RETURN_IF_ERROR(kernels.Register<ParallelMapKernel>(Kernel(op).Cpu()));
  }
  for (const char* op : {"MapAndBatchDataset", "ExperimentalMapAndBatchDataset"}) {
    RETURN_IF_ERROR(kernels.Register<MapAndBatchKernel>(Kernel(op).Cpu()));
  }
  return absl::OkStatus();
}

}  // namespace weir
