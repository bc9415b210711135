// Maps tensors of the old graph to the new one.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/spmd/reshard.h"

namespace weir::spmd {

// A tensor of the old graph: one node's output, or parts over a mesh.
struct Value {
  int mesh = -1;  // of `parts`; -1 if there is only `single`
  Parts parts;
  Output single;
  bool has_shape = false;
  TensorShape shape;  // of the whole tensor
};

// Supplies tensors in the form that their readers need, and creates each form once. Not thread-safe.
class TensorTable {
 public:
  TensorTable(const std::vector<Mesh>* meshes, Emitter* emitter);

  void Set(const Output& old, Value value) { entries_[old].value = std::move(value); }
  const Value& Get(const Output& old) const { return entries_.at(old).value; }
  bool Has(const Output& old) const { return entries_.contains(old); }
  // The sharding that a reader on `mesh` can use without resharding.
  Sharding Offer(const Output& old, int mesh) const;
  // The parts, for `mesh`. If the shape is unknown, `to` is replicated.
  std::vector<Output> On(const Output& old, int mesh, const Sharding& to);
  // The whole tensor in one place: where it is if it is single, otherwise on the first device of its mesh.
  Output Whole(const Output& old);
  // Reshards a value that was computed on its mesh.
  Parts Reshard(const std::string& name, int mesh, Parts parts, const Sharding& to, const TensorShape& shape) {
    return resharders_[mesh].Reshard(name, std::move(parts), to, shape);
  }

 private:
  struct Entry {
    Value value;
    std::map<std::pair<int, Sharding>, std::vector<Output>> made;
    Output whole;
  };
  // A reader of one device's value must wait for the other devices too, which would otherwise be missing in the
  // collectives that produced it.
  void AwaitAllParts(const std::string& name, const std::string& device, const std::vector<Output>& parts,
                     Output* whole);
  bool IsSameGrid(int a, int b) const { return meshes_[a].axes() == meshes_[b].axes(); }

  const std::vector<Mesh>& meshes_;
  Emitter* const emitter_;
  int next_instance_ = 1;
  std::vector<Resharder> resharders_;
  absl::flat_hash_map<Output, Entry> entries_;
};

}  // namespace weir::spmd
