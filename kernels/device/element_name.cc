#include "kernels/device/element_name.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace weir {

std::string ElementName(const TensorShape& shape, int64_t flat) {
  if (shape.dims() == 0) return "";
  DimVector coordinates(shape.dims());
  for (int i = shape.dims() - 1; i >= 0; --i) {
    const int64_t size = std::max<int64_t>(shape.dim_size(i), 1);
    coordinates[i] = flat % size;
    flat /= size;
  }
  return absl::StrCat("[", absl::StrJoin(coordinates, ","), "]");
}

}  // namespace weir
