#include "graph/spmd/mesh.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/device/device_name.h"

namespace weir {
namespace {

constexpr int kMaxDevices = 1 << 16;
constexpr size_t kMaxAxes = 16;
constexpr char kSpecsPrefix[] = "sharding_specs:";
constexpr char kMeshPrefix[] = " mesh:";

absl::Status CheckAxes(const std::vector<Mesh::Axis>& axes, size_t num_devices) {
  if (axes.size() > kMaxAxes) return errors::InvalidArgument("A mesh has ", kMaxAxes, " axes at most");
  absl::flat_hash_set<std::string> names;
  int64_t size = 1;
  for (const Mesh::Axis& axis : axes) {
    if (axis.name.empty() || axis.name == Mesh::kUnsharded || absl::StrContains(axis.name, ',') ||
        absl::StrContains(axis.name, '|') || absl::StrContains(axis.name, '=')) {
      return errors::InvalidArgument("'", axis.name, "' cannot be the name of a mesh axis");
    }
    if (!names.insert(axis.name).second) return errors::InvalidArgument("Mesh axis '", axis.name, "' is named twice");
    if (axis.size <= 0 || axis.size > kMaxDevices) {
      return errors::InvalidArgument("Mesh axis '", axis.name, "' has the size ", axis.size, "; expected 1 to ",
                                     kMaxDevices);
    }
    size = std::min<int64_t>(size * axis.size, kMaxDevices + 1);
  }
  if (size != static_cast<int64_t>(num_devices)) {
    return errors::InvalidArgument("The axes of the mesh make ", size, " devices, but ", num_devices, " are named");
  }
  return absl::OkStatus();
}

absl::StatusOr<Mesh::Axis> ParseAxis(absl::string_view text) {
  const std::vector<std::string> parts = absl::StrSplit(text, '=');
  Mesh::Axis axis;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[1], &axis.size)) {
    return errors::InvalidArgument("'", text, "' is not a mesh axis; expected name=size");
  }
  axis.name = parts[0];
  return axis;
}

}  // namespace

absl::StatusOr<Mesh> Mesh::Create(std::vector<Axis> axes, std::vector<std::string> devices, std::string name) {
  RETURN_IF_ERROR(CheckAxes(axes, devices.size()));
  absl::flat_hash_set<std::string> seen;
  for (std::string& device : devices) {
    ASSIGN_OR_RETURN(const DeviceName full, DeviceName::ParseFull(device));
    device = full.ToString();
    if (!seen.insert(device).second) return errors::InvalidArgument("Device ", device, " is twice in the mesh");
  }
  Mesh mesh;
  mesh.name_ = std::move(name);
  mesh.axes_ = std::move(axes);
  mesh.devices_ = std::move(devices);
  return mesh;
}

absl::StatusOr<Mesh> Mesh::Parse(absl::string_view text) {
  const std::vector<std::string> parts = absl::StrSplit(text, '|');
  if (parts.size() < 5) {
    return errors::InvalidArgument("'", text, "' is not a mesh; expected name|axis=size,…|ids|ids|devices");
  }
  std::vector<Axis> axes;
  for (absl::string_view axis : absl::StrSplit(parts[1], ',', absl::SkipEmpty())) {
    ASSIGN_OR_RETURN(axes.emplace_back(), ParseAxis(axis));
  }
  return Create(std::move(axes), absl::StrSplit(parts[4], ',', absl::SkipEmpty()), parts[0]);
}

std::string Mesh::ToString() const {
  std::vector<int> ids(devices_.size());
  for (int i = 0; i < size(); ++i) ids[i] = i;
  const std::string all = absl::StrJoin(ids, ",");
  return absl::StrCat(name_, "|", AxesText(), "|", all, "|", all, "|", absl::StrJoin(devices_, ","));
}

std::string Mesh::AxesText() const {
  return absl::StrJoin(axes_, ",",
                       [](std::string* out, const Axis& axis) { absl::StrAppend(out, axis.name, "=", axis.size); });
}

int Mesh::FindAxis(absl::string_view name) const {
  for (size_t i = 0; i < axes_.size(); ++i) {
    if (axes_[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

int Mesh::Stride(int axis) const {
  int stride = 1;
  for (size_t i = axis + 1; i < axes_.size(); ++i) stride *= axes_[i].size;
  return stride;
}

int Mesh::Coordinate(int device, int axis) const { return device / Stride(axis) % axes_[axis].size; }

std::vector<int> Mesh::Group(int device, int axis) const {
  const int stride = Stride(axis), first = device - Coordinate(device, axis) * stride;
  std::vector<int> group;
  for (int i = 0; i < axes_[axis].size; ++i) group.push_back(first + i * stride);
  return group;
}

absl::StatusOr<Mesh> Mesh::Slice(absl::string_view axis, int coordinate) const {
  const int index = FindAxis(axis);
  if (index < 0) return errors::InvalidArgument("The mesh ", AxesText(), " has no axis '", axis, "'");
  if (coordinate < 0 || coordinate >= axes_[index].size) {
    return errors::InvalidArgument("Mesh axis '", axis, "' has no coordinate ", coordinate);
  }
  Mesh part;
  part.name_ = name_;
  for (size_t i = 0; i < axes_.size(); ++i) {
    if (static_cast<int>(i) != index) part.axes_.push_back(axes_[i]);
  }
  for (int i = 0; i < size(); ++i) {
    if (Coordinate(i, index) == coordinate) part.devices_.push_back(devices_[i]);
  }
  return part;
}

absl::StatusOr<Layout> Layout::Create(std::vector<std::string> specs, Mesh mesh) {
  absl::flat_hash_set<std::string> used;
  for (const std::string& spec : specs) {
    if (spec == Mesh::kUnsharded) continue;
    if (mesh.FindAxis(spec) < 0) {
      return errors::InvalidArgument("The mesh ", mesh.AxesText(), " has no axis '", spec,
                                     "'; name one of its axes or '", Mesh::kUnsharded, "'");
    }
    if (!used.insert(spec).second) {
      return errors::InvalidArgument("Mesh axis '", spec, "' splits two dimensions of one tensor");
    }
  }
  return Layout{std::move(specs), std::move(mesh)};
}

absl::StatusOr<Layout> Layout::Parse(absl::string_view text) {
  const absl::string_view whole = text;
  const size_t mesh_at = text.find(kMeshPrefix);
  if (!absl::ConsumePrefix(&text, kSpecsPrefix) || mesh_at == absl::string_view::npos) {
    return errors::InvalidArgument("'", whole, "' is not a layout; expected ", kSpecsPrefix, "axis,…,", kMeshPrefix,
                                   "…");
  }
  ASSIGN_OR_RETURN(Mesh mesh, Mesh::Parse(whole.substr(mesh_at + sizeof(kMeshPrefix) - 1)));
  const absl::string_view specs = whole.substr(sizeof(kSpecsPrefix) - 1, mesh_at - (sizeof(kSpecsPrefix) - 1));
  return Create(absl::StrSplit(specs, ',', absl::SkipEmpty()), std::move(mesh));
}

std::string Layout::ToString() const {
  std::string text = kSpecsPrefix;
  for (const std::string& spec : specs) absl::StrAppend(&text, spec, ",");
  return absl::StrCat(text, kMeshPrefix, mesh.ToString());
}

}  // namespace weir
