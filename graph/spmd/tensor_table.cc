#include "graph/spmd/tensor_table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace weir::spmd {
namespace {

std::string NameFor(const Output& old) { return absl::StrCat("spmd/", old.node()->name()); }

}  // namespace

TensorTable::TensorTable(const std::vector<Mesh>* meshes, Emitter* emitter) : meshes_(*meshes), emitter_(emitter) {
  for (const Mesh& mesh : meshes_) resharders_.emplace_back(&mesh, &next_instance_, emitter);
}

Sharding TensorTable::Offer(const Output& old, int mesh) const {
  const Value& value = Get(old);
  if (value.mesh >= 0 && (value.mesh == mesh || IsSameGrid(value.mesh, mesh))) return value.parts.sharding;
  return Sharding::Replicated(value.has_shape ? value.shape.dims() : 0);
}

std::vector<Output> TensorTable::On(const Output& old, int mesh, const Sharding& to) {
  Entry& entry = entries_.at(old);
  const Value& value = entry.value;
  const auto [at, is_new] = entry.made.try_emplace({mesh, to});
  if (!is_new) return at->second;
  std::vector<Output>& result = at->second;
  if (value.mesh >= 0 && (value.mesh == mesh || IsSameGrid(value.mesh, mesh))) {
    result = resharders_[mesh].Reshard(NameFor(old), value.parts, to, value.shape).on;
    return result;
  }
  const Output whole = Whole(old);
  if (!whole.valid()) return std::vector<Output>(meshes_[mesh].size());
  const std::string device = whole.node()->requested_device();
  const Sharding from = Sharding::Replicated(static_cast<int>(to.dims.size()));
  std::map<std::vector<int>, Output> pieces;
  for (int i = 0; i < meshes_[mesh].size(); ++i) {
    std::vector<int> place;
    for (int axis : to.dims) place.push_back(axis == kWhole ? 0 : meshes_[mesh].Coordinate(i, axis));
    Output& piece = pieces[place];
    if (!piece.valid()) piece = resharders_[mesh].Piece(NameFor(old), whole, device, i, from, to, value.shape);
    result.push_back(piece);
  }
  return result;
}

Output TensorTable::Whole(const Output& old) {
  Entry& entry = entries_.at(old);
  const Value& value = entry.value;
  if (value.mesh < 0) return value.single;
  if (!entry.whole.valid()) {
    const std::string& device = meshes_[value.mesh].devices()[0];
    entry.whole = resharders_[value.mesh].Whole(NameFor(old), value.parts, device);
    AwaitAllParts(NameFor(old), device, value.parts.on, &entry.whole);
  }
  return entry.whole;
}

void TensorTable::AwaitAllParts(const std::string& name, const std::string& device, const std::vector<Output>& parts,
                                Output* whole) {
  std::vector<Node*> others;
  for (const Output& part : parts) {
    if (!whole->valid() || !part.valid()) return;
    if (part.node() != whole->node() && !part.node()->IsConstant()) others.push_back(part.node());
  }
  if (others.empty()) return;
  if (*whole == parts[0]) *whole = emitter_->Add(absl::StrCat(name, "/whole"), device, "Identity", {{*whole}});
  if (!whole->valid()) return;
  for (Node* other : others) {
    const auto& edges = whole->node()->in_edges();
    const bool is_input = std::any_of(edges.begin(), edges.end(), [&](const Edge* edge) { return edge->src == other; });
    if (!is_input) emitter_->graph()->AddControlEdge(other, whole->node());
  }
}

}  // namespace weir::spmd
