// Device meshes and tensor layouts, in the attribute format of TensorFlow's DTensor.
#pragma once

#include <string>
#include <vector>

#include "core/api.h"
#include "core/status.h"

namespace WEIR_API weir {

// A grid of devices with named axes; the last axis varies fastest. A value type. As text:
//   name|data=2,model=2|0,1,2,3|0,1,2,3|/job:worker/replica:0/task:0/device:CPU:0,…
// DTensor's list of local devices contains all devices here: one graph covers the whole mesh.
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
  // Full device names. InvalidArgument if they do not match the axes' sizes, or if a device or axis occurs twice.
  static absl::StatusOr<Mesh> Create(std::vector<Axis> axes, std::vector<std::string> devices, std::string name = "");
  static absl::StatusOr<Mesh> Parse(absl::string_view text);
  std::string ToString() const;
  // "data=2,model=2", for messages.
  std::string AxesText() const;

  int size() const { return static_cast<int>(devices_.size()); }
  const std::vector<std::string>& devices() const { return devices_; }
  const std::vector<Axis>& axes() const { return axes_; }
  // -1 if there is none.
  int FindAxis(absl::string_view name) const;
  // The coordinate of device `device` along an axis.
  int Coordinate(int device, int axis) const;
  // The devices that differ from `device` only along `axis`, including itself, in order.
  std::vector<int> Group(int device, int axis) const;
  // The submesh at `coordinate` of an axis, without that axis.
  absl::StatusOr<Mesh> Slice(absl::string_view axis, int coordinate) const;

  friend bool operator==(const Mesh& a, const Mesh& b) { return a.axes_ == b.axes_ && a.devices_ == b.devices_; }

 private:
  int Stride(int axis) const;

  std::string name_;
  std::vector<Axis> axes_;
  std::vector<std::string> devices_;
};

// The mesh axis that splits each dimension of a tensor, or kUnsharded. A value type. As text:
//   sharding_specs:data,unsharded, mesh:<mesh>
struct Layout {
  std::vector<std::string> specs;
  Mesh mesh;

  // InvalidArgument for an unknown axis, or one that splits two dimensions.
  static absl::StatusOr<Layout> Create(std::vector<std::string> specs, Mesh mesh);
  static absl::StatusOr<Layout> Parse(absl::string_view text);
  std::string ToString() const;
};

// Node attributes: the layouts of the outputs (list(string), "" if unspecified), and the mesh of a node without a
// layout.
inline constexpr char kLayoutAttr[] = "_layout";
inline constexpr char kMeshAttr[] = "_mesh";

}  // namespace weir
