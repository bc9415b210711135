#include "kernels/elementwise/args_broadcast.h"

#include <algorithm>

#include "core/status.h"

namespace weir {

absl::StatusOr<Broadcasting> Broadcasting::Of(const TensorShape& x, const TensorShape& y) {
  Broadcasting b;
  const int rank = std::max(x.dims(), y.dims());
  DimVector dims(rank);
  bool x_repeats = false, y_repeats = false;
  int64_t x_run = 1, y_run = 1;  // elements of one step along the current dimension
  for (int i = 1; i <= rank; ++i) {
    const int64_t nx = i <= x.dims() ? x.dim_size(x.dims() - i) : 1;
    const int64_t ny = i <= y.dims() ? y.dim_size(y.dims() - i) : 1;
    if (nx != ny && nx != 1 && ny != 1) {
      return errors::InvalidArgument("Incompatible shapes: ", x.ToString(), " vs. ", y.ToString());
    }
    const int64_t n = nx == 1 ? ny : nx;
    dims[rank - i] = n;
    if (n != 1) {
      if (!b.sizes.empty() && (nx == 1) == x_repeats && (ny == 1) == y_repeats) {
        b.sizes.back() *= n;
      } else {
        x_repeats = nx == 1;
        y_repeats = ny == 1;
        b.sizes.push_back(n);
        b.x_steps.push_back(x_repeats ? 0 : x_run);
        b.y_steps.push_back(y_repeats ? 0 : y_run);
      }
    }
    x_run *= nx;
    y_run *= ny;
  }
  if (b.sizes.empty()) {
    b.sizes = {1};
    b.x_steps = b.y_steps = {1};
  }
  std::reverse(b.sizes.begin(), b.sizes.end());
  std::reverse(b.x_steps.begin(), b.x_steps.end());
  std::reverse(b.y_steps.begin(), b.y_steps.end());
  ASSIGN_OR_RETURN(b.shape, TensorShape::Build(dims));
  return b;
}

}  // namespace weir
