// ignore_errors: elements whose computation fails are skipped.
#include "core/logging.h"
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/family.h"

namespace weir {
namespace {

class IgnoreErrorsDataset : public UnaryDataset {
 public:
  IgnoreErrorsDataset(const DatasetPtr& input, bool log_warning)
      : UnaryDataset("IgnoreErrors", input), log_warning_(log_warning) {}

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public UnaryIterator<IgnoreErrorsDataset> {
   public:
    using UnaryIterator::UnaryIterator;
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      for (;;) {
        absl::StatusOr<bool> more = input_->GetNext(ctx, element);
        if (more.ok()) return more;
        RETURN_IF_ERROR(ctx.CheckCancelled());
        if (dataset().log_warning_) WEIR_LOG(WARNING) << "Error raised with error message " << more.status().message();
      }
    }
  };

  const bool log_warning_;
};

class IgnoreErrorsKernel : public DatasetKernel {
 protected:
  absl::Status InitDataset(OpKernelConstruction& ctx) override { return ctx.GetAttr("log_warning", &log_warning_); }
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    return std::make_shared<IgnoreErrorsDataset>(input, log_warning_);
  }

 private:
  bool log_warning_ = false;
};

}  // namespace

absl::Status RegisterIgnoreErrorsKernels(KernelRegistry& kernels) {
  for (const char* op : {"IgnoreErrorsDataset", "ExperimentalIgnoreErrorsDataset"}) {
    RETURN_IF_ERROR(kernels.Register<IgnoreErrorsKernel>(Kernel(op).Cpu()));
  }
  return absl::OkStatus();
}

}  // namespace weir
