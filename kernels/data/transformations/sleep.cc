// sleep: waits before each element.
#include "absl/time/clock.h"
#include "core/clock.h"
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/family.h"

namespace weir {
namespace {

struct SleepTime {
  int64_t microseconds = 0;
};

// Waits before each element.
class SleepDataset : public UnaryDataset {
 public:
  SleepDataset(const DatasetPtr& input, SleepTime time) : UnaryDataset("Sleep", input), time_(time) {}
  int64_t CountElements(IteratorContext* ctx) const override { return input()->CountElements(ctx); }

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public UnaryIterator<SleepDataset> {
   public:
    using UnaryIterator::UnaryIterator;
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      const absl::Time until = MonotonicNow() + absl::Microseconds(dataset().time_.microseconds);
      // In short pieces, so that cancellation is soon noticed.
      for (absl::Duration left; (left = until - MonotonicNow()) > absl::ZeroDuration();) {
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

}  // namespace

absl::Status RegisterSleepDatasetKernels(KernelRegistry& kernels) {
  for (const char* op : {"SleepDataset", "ExperimentalSleepDataset"}) {
    RETURN_IF_ERROR(kernels.Register<SleepKernel>(Kernel(op).Cpu()));
  }
  return absl::OkStatus();
}

}  // namespace weir
