#include "graph/spmd/reshard.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace weir::spmd {
namespace {

bool IsReducible(DataType type) {
  return type == DT_BFLOAT16 || type == DT_HALF || type == DT_FLOAT || type == DT_DOUBLE || type == DT_INT32 ||
         type == DT_INT64;
}

bool IsGatherable(DataType type) { return IsReducible(type) && type != DT_BFLOAT16; }

// Positive, and the same for the same devices in every graph (FNV-1a).
int GroupKey(const Mesh& mesh, const std::vector<int>& group) {
  uint32_t hash = 2166136261u;
  for (int device : group) {
    for (char c : absl::StrCat(mesh.devices()[device], ";")) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
  }
  return static_cast<int>(hash >> 1);
}

}  // namespace

Output Resharder::Collective(const std::string& name, const char* op, int device, int axis, int instance,
                             const Output& input) {
  const std::string& on = mesh_.devices()[device];
  const std::vector<int> group = mesh_.Group(device, axis);
  std::vector<Emitter::AttrSetter> attrs;
  if (absl::string_view(op) == "CollectiveReduceV2" || absl::string_view(op) == "CollectiveReduceScatterV2") {
    attrs = {Emitter::Set("merge_op", "Add"), Emitter::Set("final_op", "Id")};
  }
  return emitter_->Add(name, on, op,
                       {{input},
                        {emitter_->Int(on, static_cast<int>(group.size()))},
                        {emitter_->Int(on, GroupKey(mesh_, group))},
                        {emitter_->Int(on, instance)},
                        {}},
                       attrs);
}

Output Resharder::Move(const std::string& name, int device, const Output& x, int rank, int from, int to) {
  if (from == to) return x;
  std::vector<int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  order.erase(order.begin() + from);
  order.insert(order.begin() + to, from);
  const std::string& on = mesh_.devices()[device];
  return emitter_->Add(absl::StrCat(name, "/transpose"), on, "Transpose", {{x}, {emitter_->Vector(on, order)}});
}

void Resharder::AllReduce(const std::string& name, int axis, Parts* parts) {
  const OnDevice before = parts->on;
  const bool copies = !IsReducible(before[0].type());
  const int instance = copies ? 0 : (*next_instance_)++;
  for (int i = 0; i < mesh_.size(); ++i) {
    if (!copies) {
      parts->on[i] = Collective(absl::StrCat(name, "/all_reduce"), "CollectiveReduceV2", i, axis, instance, before[i]);
      continue;
    }
    InputList group;
    for (int member : mesh_.Group(i, axis)) group.emplace_back(before[member]);
    parts->on[i] = emitter_->Add(absl::StrCat(name, "/sum"), mesh_.devices()[i], "AddN", {group});
  }
  parts->sharding.partial &= ~(1u << axis);
}

void Resharder::ReduceScatter(const std::string& name, int axis, int dim, Parts* parts) {
  const int rank = static_cast<int>(parts->sharding.dims.size()), instance = (*next_instance_)++;
  for (int i = 0; i < mesh_.size(); ++i) {
    const Output front = Move(name, i, parts->on[i], rank, dim, 0);
    const Output mine =
        Collective(absl::StrCat(name, "/reduce_scatter"), "CollectiveReduceScatterV2", i, axis, instance, front);
    parts->on[i] = Move(name, i, mine, rank, 0, dim);
  }
  parts->sharding.partial &= ~(1u << axis);
  parts->sharding.dims[dim] = axis;
}

void Resharder::CopyAll(const std::string& name, int axis, int dim, Parts* parts) {
  const OnDevice before = parts->on;
  for (int i = 0; i < mesh_.size(); ++i) {
    InputList group;
    for (int member : mesh_.Group(i, axis)) group.emplace_back(before[member]);
    const std::string& on = mesh_.devices()[i];
    parts->on[i] = emitter_->Add(absl::StrCat(name, "/concat"), on, "ConcatV2", {group, {emitter_->Int(on, dim)}});
  }
}

void Resharder::AllGather(const std::string& name, int axis, int dim, Parts* parts) {
  const int rank = static_cast<int>(parts->sharding.dims.size());
  if (!IsGatherable(parts->on[0].type())) {
    CopyAll(name, axis, dim, parts);
  } else {
    const int instance = (*next_instance_)++;
    for (int i = 0; i < mesh_.size(); ++i) {
      const Output front = Move(name, i, parts->on[i], rank, dim, 0);
      const Output all = Collective(absl::StrCat(name, "/all_gather"), "CollectiveGatherV2", i, axis, instance, front);
      parts->on[i] = Move(name, i, all, rank, 0, dim);
    }
  }
  parts->sharding.dims[dim] = kWhole;
}

// Each device has all of `to` and its part of `from`. For the exchange the blocks of `to` become the leading dimension;
// the received blocks are ordered by sender, which are the blocks of `from`.
void Resharder::AllToAll(const std::string& name, int axis, int from, int to, const TensorShape& shape, Parts* parts) {
  const int64_t size = mesh_.axes()[axis].size;
  const int rank = shape.dims(), instance = (*next_instance_)++;
  const TensorShape local = LocalShape(mesh_, parts->sharding, shape);
  std::vector<int64_t> cut(local.dim_sizes().begin(), local.dim_sizes().end());
  cut[to] /= size;
  cut.insert(cut.begin() + to, size);
  std::vector<int64_t> merged(local.dim_sizes().begin(), local.dim_sizes().end());
  merged[to] /= size;
  merged[from] *= size;
  for (int i = 0; i < mesh_.size(); ++i) {
    const std::string& on = mesh_.devices()[i];
    const Output blocks =
        emitter_->Add(absl::StrCat(name, "/blocks"), on, "Reshape", {{parts->on[i]}, {emitter_->Vector(on, cut)}});
    const Output exchanged = Collective(absl::StrCat(name, "/all_to_all"), "CollectiveAllToAllV2", i, axis, instance,
                                        Move(name, i, blocks, rank + 1, to, 0));
    parts->on[i] = emitter_->Add(absl::StrCat(name, "/merge"), on, "Reshape",
                                 {{Move(name, i, exchanged, rank + 1, 0, from)}, {emitter_->Vector(on, merged)}});
  }
  parts->sharding.dims[from] = kWhole;
  parts->sharding.dims[to] = axis;
}

Output Resharder::Piece(const std::string& name, const Output& whole, const std::string& device, int index,
                        const Sharding& from, const Sharding& to, const TensorShape& shape) {
  const TensorShape size = LocalShape(mesh_, to, shape);
  std::vector<int64_t> begin(shape.dims(), 0), sizes(shape.dims(), -1);  // -1: to the end
  bool is_all = true;
  for (int d = 0; d < shape.dims(); ++d) {
    if (to.dims[d] == kWhole || to.dims[d] == from.dims[d]) continue;
    is_all = false;
    begin[d] = mesh_.Coordinate(index, to.dims[d]) * size.dim_size(d);
    sizes[d] = size.dim_size(d);
  }
  if (is_all) return whole;
  return emitter_->Add(absl::StrCat(name, "/slice"), device, "Slice",
                       {{whole}, {emitter_->Vector(device, begin)}, {emitter_->Vector(device, sizes)}});
}

Parts Resharder::Reshard(const std::string& name, Parts parts, const Sharding& to, const TensorShape& shape) {
  Sharding& now = parts.sharding;
  const int num_axes = static_cast<int>(mesh_.axes().size());
  for (int axis = 0; axis < num_axes; ++axis) {
    if (!now.IsPartial(axis) || to.IsPartial(axis)) continue;
    const int dim = to.DimOf(axis);
    if (dim >= 0 && now.dims[dim] == kWhole && IsReducible(parts.on[0].type())) {
      ReduceScatter(name, axis, dim, &parts);
    } else {
      AllReduce(name, axis, &parts);
    }
  }
  for (int d = 0; d < static_cast<int>(now.dims.size()); ++d) {
    const int axis = now.dims[d];
    if (axis == kWhole || to.dims[d] == axis) continue;
    const int other = to.DimOf(axis);
    if (other >= 0 && now.dims[other] == kWhole && IsReducible(parts.on[0].type())) {
      AllToAll(name, axis, d, other, shape, &parts);
    } else {
      AllGather(name, axis, d, &parts);
    }
  }
  if (now == to) return parts;
  for (int i = 0; i < mesh_.size(); ++i) {
    parts.on[i] = Piece(name, parts.on[i], mesh_.devices()[i], i, now, to, shape);
  }
  now.dims = to.dims;
  return parts;
}

Output Resharder::Whole(const std::string& name, const Parts& parts, const std::string& device) {
  OnDevice left = parts.on;
  std::vector<bool> is_left(left.size(), true);
  for (int axis = static_cast<int>(mesh_.axes().size()) - 1; axis >= 0; --axis) {
    const int dim = parts.sharding.DimOf(axis);
    for (int i = 0; i < mesh_.size(); ++i) {
      if (mesh_.Coordinate(i, axis) != 0) is_left[i] = false;
      if (!is_left[i] || mesh_.axes()[axis].size == 1) continue;
      InputList group;
      for (int member : mesh_.Group(i, axis)) group.emplace_back(left[member]);
      if (parts.sharding.IsPartial(axis)) {
        left[i] = emitter_->Add(absl::StrCat(name, "/sum"), device, "AddN", {group});
      } else if (dim >= 0) {
        left[i] =
            emitter_->Add(absl::StrCat(name, "/whole"), device, "ConcatV2", {group, {emitter_->Int(device, dim)}});
      }
    }
  }
  return left[0];
}

}  // namespace weir::spmd
