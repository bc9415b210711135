// How one tensor lies on the devices of a mesh.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "core/tensor_shape.h"
#include "graph/spmd/mesh.h"

namespace weir::spmd {

inline constexpr int kWhole = -1;

// A value. Besides what a Layout says, it knows partial sums: they exist between nodes alone, nobody asks for them.
struct Sharding {
  std::vector<int> dims;  // the mesh axis that splits each dimension, or kWhole
  uint32_t partial = 0;   // bit a: the tensor is the sum of what the devices along axis a hold

  static Sharding Replicated(int rank) { return Sharding{std::vector<int>(rank, kWhole), 0}; }
  bool IsReplicated() const;
  bool IsPartial(int axis) const { return (partial >> axis & 1) != 0; }
  // -1 where the axis splits no dimension.
  int DimOf(int axis) const;
  // "[data,unsharded]", "partial(model)[unsharded]": for messages.
  std::string ToString(const Mesh& mesh) const;
  friend bool operator==(const Sharding& a, const Sharding& b) { return a.dims == b.dims && a.partial == b.partial; }
  friend bool operator<(const Sharding& a, const Sharding& b) {
    return a.partial != b.partial ? a.partial < b.partial : a.dims < b.dims;
  }
};

// What one device holds of a tensor of this shape; the dimensions divide.
TensorShape LocalShape(const Mesh& mesh, const Sharding& sharding, const TensorShape& shape);

// An axis of size 1 splits nothing. InvalidArgument, naming dimension and axis, where the layout does not fit a tensor
// of this shape.
absl::StatusOr<Sharding> ShardingOf(const Layout& layout, const TensorShape& shape);

}  // namespace weir::spmd
