// The sharding of a tensor over a mesh.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "core/tensor/tensor_shape.h"
#include "graph/spmd/mesh.h"

namespace weir::spmd {

inline constexpr int kWhole = -1;

// A value type. Unlike a Layout, it can be a partial sum, which exists only between nodes and is never requested.
struct Sharding {
  std::vector<int> dims;  // the mesh axis that splits each dimension, or kWhole
  uint32_t partial = 0;   // bit a: the tensor is the sum of the values along axis a

  static Sharding Replicated(int rank) { return Sharding{std::vector<int>(rank, kWhole), 0}; }
  bool IsPartial(int axis) const { return (partial >> axis & 1) != 0; }
  // -1 if the axis splits no dimension.
  int DimOf(int axis) const;
  // "[data,unsharded]", "partial(model)[unsharded]": for messages.
  std::string ToString(const Mesh& mesh) const;
  friend bool operator==(const Sharding& a, const Sharding& b) { return a.dims == b.dims && a.partial == b.partial; }
  friend bool operator<(const Sharding& a, const Sharding& b) {
    return a.partial != b.partial ? a.partial < b.partial : a.dims < b.dims;
  }
};

// The part of a tensor of this shape on one device; sizes divide evenly.
TensorShape LocalShape(const Mesh& mesh, const Sharding& sharding, const TensorShape& shape);

// An axis of size 1 splits nothing. InvalidArgument, naming dimension and axis, if the layout does not fit a tensor of
// this shape.
absl::StatusOr<Sharding> ShardingOf(const Layout& layout, const TensorShape& shape);

}  // namespace weir::spmd
