// prefetch: reads its input ahead.
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/family.h"
#include "kernels/data/sources/read_ahead.h"

namespace weir {
namespace {

constexpr int64_t kAutomatic = -1;
constexpr int64_t kAutomaticSize = 4;

class PrefetchKernel : public DatasetKernel {
 protected:
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    ASSIGN_OR_RETURN(const int64_t size, inputs.Int("buffer_size"));
    if (size < 0 && size != kAutomatic) {
      return errors::InvalidArgument("buffer_size must be >= 0 or set buffer_size to be ", kAutomatic,
                                     " for auto-tuning");
    }
    return NewReadAheadDataset("Prefetch", input, size == kAutomatic ? kAutomaticSize : size);
  }
};

}  // namespace

absl::Status RegisterPrefetchKernels(KernelRegistry& kernels) {
  return kernels.Register<PrefetchKernel>(Kernel("PrefetchDataset").Cpu());
}

}  // namespace weir
