// Converts tensors between shardings.
#pragma once

#include <string>
#include <vector>

#include "graph/spmd/emitter.h"
#include "graph/spmd/sharding.h"

namespace weir::spmd {

// A tensor over a mesh: one output per device.
struct Parts {
  std::vector<Output> on;
  Sharding sharding;
};

// Adds collectives between the devices of a mesh: CollectiveReduceV2, GatherV2, ReduceScatterV2 and AllToAllV2, and
// copies for types that those do not support. Group keys are derived from the devices; each instance has its own
// number.
class Resharder {
 public:
  Resharder(const Mesh* mesh, int* next_instance, Emitter* emitter)
      : mesh_(*mesh), next_instance_(next_instance), emitter_(emitter) {}

  // New nodes are named after `name`.
  Parts Reshard(const std::string& name, Parts parts, const Sharding& to, const TensorShape& shape);
  // Gathers the tensor into one output on `device`.
  Output Whole(const std::string& name, const Parts& parts, const std::string& device);
  // The piece of device `index` of a whole tensor, sliced on `device`.
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
  // Moves dimension `from` to position `to`.
  Output Move(const std::string& name, int device, const Output& x, int rank, int from, int to);

  const Mesh& mesh_;
  int* const next_instance_;
  Emitter* const emitter_;
};

}  // namespace weir::spmd
