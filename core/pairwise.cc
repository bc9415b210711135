#include "core/pairwise.h"

namespace weir {

absl::Status CheckPairwise(const Tensor& x, const Tensor& y) {
  if (x.NumElements() == y.NumElements()) return absl::OkStatus();
  return errors::InvalidArgument("The two arguments to a cwise op must have same number of elements, got ",
                                 x.NumElements(), " and ", y.NumElements());
}

}  // namespace weir
