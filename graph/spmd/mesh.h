// Meshes of devices and layouts of tensors over them, as DTensor of TensorFlow writes them in attributes.
#pragma once

#include <string>
#include <vector>

#include "core/status.h"

namespace weir {

// Devices in a grid with named axes; the last axis varies fastest. A value. As text:
//   name|data=2,model=2|0,1,2,3|0,1,2,3|/job:worker/replica:0/task:0/device:CPU:0,…
// DTensor's list of local devices names all of them here: one graph holds the whole mesh.
class Mesh {
 public:
  struct Axis {
    std::string name;
    int size = 0;
    friend bool operator==(const Axis& a, const Axis& b) { return a.name == b.name && a.size == b.size; }
  };

  // The specification of a dimension that is not split.
  static constexpr char kUnsharded[] = "unsharded";

  Mesh() = default;
  // Full device names; InvalidArgument where they do not fill the axes, are named twice, or an axis is.
  static absl::StatusOr<Mesh> Create(std::vector<Axis> axes, std::vector<std::string> devices, std::string name = "");
  static absl::StatusOr<Mesh> Parse(absl::string_view text);
  std::string ToString() const;
  // "data=2,model=2", for messages.
  std::string AxesText() const;

  int size() const { return static_cast<int>(devices_.size()); }
  const std::vector<std::string>& devices() const { return devices_; }
  const std::vector<Axis>& axes() const { return axes_; }
  // -1 where there is none.
  int FindAxis(absl::string_view name) const;
  // Where device `device` stands along an axis.
  int Coordinate(int device, int axis) const;
  // The devices that differ from `device` along `axis` alone, itself included, in order.
  std::vector<int> Group(int device, int axis) const;
  // The part of the mesh at `coordinate` of an axis, without that axis.
  absl::StatusOr<Mesh> Slice(absl::string_view axis, int coordinate) const;

  friend bool operator==(const Mesh& a, const Mesh& b) { return a.axes_ == b.axes_ && a.devices_ == b.devices_; }

 private:
  int Stride(int axis) const;

  std::string name_;
  std::vector<Axis> axes_;
  std::vector<std::string> devices_;
};

// What each dimension of a tensor is split over: an axis of the mesh, or kUnsharded. A value. As text:
//   sharding_specs:data,unsharded, mesh:<mesh>
struct Layout {
  std::vector<std::string> specs;
  Mesh mesh;

  // InvalidArgument for an axis that the mesh lacks, or that splits two dimensions.
  static absl::StatusOr<Layout> Create(std::vector<std::string> specs, Mesh mesh);
  static absl::StatusOr<Layout> Parse(absl::string_view text);
  std::string ToString() const;
};

// Attributes of nodes: the layouts of the outputs (list(string), "" for one that is left open), and the mesh of a node
// that has none of its own.
inline constexpr char kLayoutAttr[] = "_layout";
inline constexpr char kMeshAttr[] = "_mesh";

}  // namespace weir
