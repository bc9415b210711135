// Bringing the parts of a tensor from one sharding to another.
#pragma once

#include <string>
#include <vector>

#include "graph/spmd/emitter.h"
#include "graph/spmd/sharding.h"

namespace weir::spmd {

// A tensor over a mesh: one output for each of its devices.
struct Parts {
  std::vector<Output> on;
  Sharding sharding;
};

// Writes collectives between the devices of a mesh: CollectiveReduceV2, GatherV2, ReduceScatterV2 and AllToAllV2, and
// copies for types that those do not take. Groups have keys that follow from their devices, instances a number each.
class Resharder {
 public:
  Resharder(const Mesh* mesh, int* next_instance, Emitter* emitter)
      : mesh_(*mesh), next_instance_(next_instance), emitter_(emitter) {}

  // `name` is what the new nodes are named after.
  Parts Reshard(const std::string& name, Parts parts, const Sharding& to, const TensorShape& shape);
  // The tensor of a mesh as one output on `device`.
  Output Whole(const std::string& name, const Parts& parts, const std::string& device);
  // The piece that device `index` has of a tensor that is whole, cut on `device`.
  Output Piece(const std::string& name, const Output& whole, const std::string& device, int index, const Sharding& from,
               const Sharding& to, const TensorShape& shape);

 private:
  using OnDevice = std::vector<Output>;

  void AllReduce(const std::string& name, int axis, Parts* parts);
  void ReduceScatter(const std::string& name, int axis, int dim, Parts* parts);
  void AllGather(const std::string& name, int axis, int dim, Parts* parts);
  void AllToAll(const std::string& name, int axis, int from, int to, const TensorShape& shape, Parts* parts);
  void CopyAll(const std::string& name, int axis, int dim, Parts* parts);
  Output Collective(const std::string& name, const char* op, int device, int axis, int instance, const Output& input);
  // Dimension `from` moved to place `to`.
  Output Move(const std::string& name, int device, const Output& x, int rank, int from, int to);

  const Mesh& mesh_;
  int* const next_instance_;
  Emitter* const emitter_;
};

}  // namespace weir::spmd
