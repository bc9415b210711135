#include "kernels/random/multinomial.h"

#include "core/tensor/index_tensor.h"
#include "kernels/random/random_stream.h"

namespace weir {

absl::StatusOr<int64_t> CheckMultinomial(const Tensor& logits, const Tensor& num_samples) {
  if (logits.dims() != 2) {
    return errors::InvalidArgument("logits should be a matrix, got shape ", logits.shape().ToString());
  }
  if (num_samples.dims() != 0) {
    return errors::InvalidArgument("num_samples should be a scalar, got shape ", num_samples.shape().ToString());
  }
  ASSIGN_OR_RETURN(const int64_t samples, ReadInteger(num_samples, "num_samples"));
  if (samples < 0) return errors::InvalidArgument("num_samples should be non-negative, got ", samples);
  if (logits.dim_size(1) <= 0) {
    return errors::InvalidArgument("num_classes should be positive, got ", logits.dim_size(1));
  }
  return samples;
}

uint64_t MultinomialGroups(int64_t batch, int64_t samples) {
  // Two numbers for each sample, rounded up to groups.
  return static_cast<uint64_t>(batch) * static_cast<uint64_t>((samples + 3) / 4 * 4) * 2 * kGroupsPerOutput;
}

}  // namespace weir
