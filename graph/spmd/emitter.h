// Adds nodes that run on one device of a mesh.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/op/attr_value.h"
#include "core/status.h"
#include "core/tensor/tensor.h"
#include "graph/graph.h"
#include "graph/output.h"

namespace weir::spmd {

// Keeps the first error; later calls then return invalid outputs. Not thread-safe.
class Emitter {
 public:
  explicit Emitter(Graph* graph) : graph_(graph) {}

  using AttrSetter = std::function<void(tensorflow::NodeDef*)>;
  template <typename V>
  static AttrSetter Set(std::string name, V value) {
    return
        [name = std::move(name), value = std::move(value)](tensorflow::NodeDef* def) { SetNodeAttr(name, value, def); };
  }

  Graph* graph() const { return graph_; }
  const absl::Status& status() const { return status_; }
  void UpdateStatus(absl::Status status) {
    if (status_.ok()) status_ = std::move(status);
  }

  // Output 0 of a new node "<name>" (made unique); its attributes follow from the inputs and `attrs`.
  Output Add(const std::string& name, const std::string& device, const char* op, const std::vector<InputList>& inputs,
             const std::vector<AttrSetter>& attrs = {});
  // Adds the definition unchanged, with these inputs.
  Node* AddNode(tensorflow::NodeDef def, const std::vector<Output>& inputs);
  // Small constants are shared per device.
  Output Constant(const std::string& device, const Tensor& value);
  Output Vector(const std::string& device, const std::vector<int64_t>& values, DataType type = DT_INT32);
  Output Int(const std::string& device, int value) { return Constant(device, Tensor::Scalar<int32_t>(value)); }

 private:
  Graph* const graph_;
  absl::Status status_;
  absl::flat_hash_map<std::string, Output> constants_;
};

}  // namespace weir::spmd
