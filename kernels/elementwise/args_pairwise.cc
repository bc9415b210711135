#include "kernels/elementwise/args_pairwise.h"

namespace weir {

absl::Status CheckPairwise(const TensorShape& x, const TensorShape& y) {
  if (x.num_elements() == y.num_elements()) return absl::OkStatus();
  return errors::InvalidArgument("The two arguments to a cwise op must have same number of elements, got ",
                                 x.num_elements(), " and ", y.num_elements());
}

absl::Status CheckSameShape(absl::string_view name, absl::string_view op, const TensorShape& x, const TensorShape& y) {
  if (x == y) return absl::OkStatus();
  return errors::InvalidArgument("Inputs to operation ", name, " of type ", op,
                                 " must have the same size and shape.  Input 0: ", x.ToString(),
                                 " != input 1: ", y.ToString());
}

}  // namespace weir
