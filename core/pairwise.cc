#include "core/pairwise.h"

namespace weir {

absl::Status CheckPairwise(const Tensor& x, const Tensor& y) {
  if (x.NumElements() == y.NumElements()) return absl::OkStatus();
  return errors::InvalidArgument("The two arguments to a cwise op must have same number of elements, got ",
                                 x.NumElements(), " and ", y.NumElements());
}

absl::Status CheckSameShape(absl::string_view name, absl::string_view op, const Tensor& x, const Tensor& y) {
  if (x.shape() == y.shape()) return absl::OkStatus();
  return errors::InvalidArgument("Inputs to operation ", name, " of type ", op,
                                 " must have the same size and shape.  Input 0: ", x.shape().ToString(),
                                 " != input 1: ", y.shape().ToString());
}

}  // namespace weir
