// Options, rewrites and models of a pipeline, and GetOptions.
#include "kernels/data/dataset_graph.h"
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/family.h"

namespace weir {
namespace {

// Options, rewrites and models change how a pipeline may be run, never its elements: these are the input's.
class HintDataset : public SameElementsDataset {
 public:
  using SameElementsDataset::SameElementsDataset;
  bool HasRandomAccess() const override { return type() == "Options"; }
  absl::Status CheckGlobalShuffle() const override {
    return HasRandomAccess() ? CheckInputsGlobalShuffle() : DatasetBase::CheckGlobalShuffle();
  }

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public UnaryIterator<HintDataset> {
   public:
    using UnaryIterator::UnaryIterator;
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override { return input_->GetNext(ctx, element); }
  };
};

class HintKernel : public DatasetKernel {
 protected:
  absl::Status InitDataset(OpKernelConstruction& ctx) override {
    type_ = ctx.op();
    if (type_.rfind("Experimental", 0) == 0) type_ = type_.substr(12);
    if (const size_t suffix = type_.find("Dataset"); suffix != std::string::npos) type_.resize(suffix);
    return absl::OkStatus();
  }
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    for (const char* number : {"num_threads", "max_intra_op_parallelism"}) {
      if (!inputs.Has(number)) continue;
      ASSIGN_OR_RETURN(const int64_t value, inputs.Int(number));
      if (value < 0) return errors::InvalidArgument("`", number, "` must be greater or equal to 0");
    }
    return std::make_shared<HintDataset>(type_, input);
  }

 private:
  std::string type_;
};

class GetOptionsKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr dataset, DatasetFromTensor(ctx.locked_input(0)));
    ctx.set_output(0, Tensor::Scalar<tstring>(SerializedOptions(*dataset)));
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterDatasetOptionsKernels(KernelRegistry& kernels) {
  for (const char* op : {"OptionsDataset", "RewriteDataset", "ModelDataset", "OptimizeDataset", "OptimizeDatasetV2",
                         "FinalizeDataset", "NonSerializableDataset", "ExperimentalNonSerializableDataset",
                         "MaxIntraOpParallelismDataset", "ExperimentalMaxIntraOpParallelismDataset",
                         "PrivateThreadPoolDataset", "ExperimentalPrivateThreadPoolDataset"}) {
    RETURN_IF_ERROR(kernels.Register<HintKernel>(Kernel(op).Cpu()));
  }
  RETURN_IF_ERROR(kernels.Register<GetOptionsKernel>(Kernel("GetOptions").Cpu()));
  return absl::OkStatus();
}

}  // namespace weir
