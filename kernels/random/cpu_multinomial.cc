#include "kernels/random/cpu_multinomial.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/tensor/index_tensor.h"
#include "kernels/elementwise/cast/cpu_cast.h"
#include "kernels/random/random_fill.h"

namespace weir {

absl::Status ComputeMultinomial(OpKernelContext& ctx, const Tensor& logits, int64_t samples, const Philox& stream) {
  const int64_t batch = logits.dim_size(0), classes = logits.dim_size(1);
  ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, TensorShape({batch, samples})));
  if (output->NumElements() == 0) return absl::OkStatus();
  std::vector<double> wide(batch * classes), totals(classes);
  if (logits.dtype() == DT_DOUBLE) {
    std::copy_n(logits.data<double>(), wide.size(), wide.data());
  } else {
    FindCast(logits.dtype(), DT_DOUBLE)(logits.raw_data(), wide.data(), wide.size());
  }
  SingleSamples words(stream);
  DimVector drawn(batch * samples);
  for (int64_t b = 0; b < batch; ++b) {
    const double* row = wide.data() + b * classes;
    double highest = std::numeric_limits<double>::lowest();
    for (int64_t j = 0; j < classes; ++j) {
      if (std::isfinite(row[j])) highest = std::max(highest, row[j]);
    }
    double total = 0;
    for (int64_t j = 0; j < classes; ++j) {
      if (std::isfinite(row[j])) total += std::exp(row[j] - highest);
      totals[j] = total;
    }
    for (int64_t j = 0; j < samples; ++j) {
      const uint32_t high = words.Next(), low = words.Next();
      const double target = UniformDouble(high, low) * total;
      drawn[b * samples + j] = std::upper_bound(totals.begin(), totals.end(), target) - totals.begin();
    }
  }
  return WriteIntegers(drawn, output);
}

}  // namespace weir
