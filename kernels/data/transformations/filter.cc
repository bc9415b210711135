// filter and take_while.
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/family.h"

namespace weir {
namespace {

// Keeps the elements for which the predicate holds; a take_while ends at the first for which it does not.
class FilterDataset : public UnaryDataset {
 public:
  FilterDataset(std::string type, const DatasetPtr& input, CapturedFunction predicate, bool ends)
      : UnaryDataset(std::move(type), input), predicate_(std::move(predicate)), ends_(ends) {}

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public UnaryIterator<FilterDataset> {
   public:
    using UnaryIterator::UnaryIterator;
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      for (;;) {
        ASSIGN_OR_RETURN(const bool more, input_->GetNext(ctx, element));
        if (!more) return false;
        absl::StatusOr<bool> called = dataset().predicate_.CallPredicate(ctx, *element);
        if (!dataset().ends_) called = InFunctionOf(dataset(), std::move(called));
        ASSIGN_OR_RETURN(const bool holds, std::move(called));
        if (holds) return true;
        if (dataset().ends_) return false;
      }
    }
  };

  const CapturedFunction predicate_;
  const bool ends_;
};

class FilterKernel : public DatasetKernel {
 protected:
  absl::Status InitDataset(OpKernelConstruction& ctx) override {
    ends_ = ctx.op().find("TakeWhile") != std::string::npos;
    return absl::OkStatus();
  }
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    return std::make_shared<FilterDataset>(ends_ ? "TakeWhile" : "Filter", input,
                                           inputs.Function("predicate", "other_arguments"), ends_);
  }

 private:
  bool ends_ = false;
};

}  // namespace

absl::Status RegisterFilterKernels(KernelRegistry& kernels) {
  for (const char* op : {"FilterDataset", "TakeWhileDataset", "ExperimentalTakeWhileDataset"}) {
    RETURN_IF_ERROR(kernels.Register<FilterKernel>(Kernel(op).Cpu()));
  }
  return absl::OkStatus();
}

}  // namespace weir
