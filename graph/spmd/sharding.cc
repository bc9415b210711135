#include "graph/spmd/sharding.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace weir::spmd {

int Sharding::DimOf(int axis) const {
  const auto found = std::find(dims.begin(), dims.end(), axis);
  return found == dims.end() ? -1 : static_cast<int>(found - dims.begin());
}

std::string Sharding::ToString(const Mesh& mesh) const {
  std::vector<std::string> specs, sums;
  for (int axis : dims) specs.push_back(axis == kWhole ? Mesh::kUnsharded : mesh.axes()[axis].name);
  for (size_t a = 0; a < mesh.axes().size(); ++a) {
    if (IsPartial(static_cast<int>(a))) sums.push_back(mesh.axes()[a].name);
  }
  return absl::StrCat(sums.empty() ? "" : absl::StrCat("partial(", absl::StrJoin(sums, ","), ")"), "[",
                      absl::StrJoin(specs, ","), "]");
}

TensorShape LocalShape(const Mesh& mesh, const Sharding& sharding, const TensorShape& shape) {
  std::vector<int64_t> dims(shape.dim_sizes().begin(), shape.dim_sizes().end());
  for (size_t d = 0; d < dims.size(); ++d) {
    if (sharding.dims[d] != kWhole) dims[d] /= mesh.axes()[sharding.dims[d]].size;
  }
  return TensorShape(dims);
}

absl::StatusOr<Sharding> ShardingOf(const Layout& layout, const TensorShape& shape) {
  if (static_cast<int>(layout.specs.size()) != shape.dims()) {
    return errors::InvalidArgument("The layout has ", layout.specs.size(), " dimensions, but the tensor has the shape ",
                                   shape.ToString());
  }
  Sharding sharding = Sharding::Replicated(shape.dims());
  for (int d = 0; d < shape.dims(); ++d) {
    if (layout.specs[d] == Mesh::kUnsharded) continue;
    const int axis = layout.mesh.FindAxis(layout.specs[d]);
    const int parts = layout.mesh.axes()[axis].size;
    if (shape.dim_size(d) % parts != 0) {
      return errors::InvalidArgument("Dimension ", d, " of shape ", shape.ToString(), " does not divide by mesh axis '",
                                     layout.specs[d], "' of size ", parts, ": change one of them, or leave the ",
                                     "dimension unsharded");
    }
    if (parts > 1) sharding.dims[d] = axis;
  }
  return sharding;
}

}  // namespace weir::spmd
