// The interface of gradient functions.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/api.h"
#include "core/op/attr_value.h"
#include "core/op/op_registry.h"
#include "core/status.h"
#include "graph/gradients/gradient.h"
#include "graph/output.h"

namespace WEIR_API weir {

class Graph;
class Node;

// Passed to gradient functions: the op, the gradients of its outputs, and methods that add ops (named "gradients/<op
// name>_grad/…", on the op's device). The first error sticks and is reported by the builder.
class GradientContext {
 public:
  GradientContext(Graph* graph, Node* op, std::vector<Gradient> grad_outputs, std::string name_scope);

  const Graph& graph() const { return *graph_; }
  const Node& op() const { return *op_; }
  const tensorflow::NodeDef& def() const;
  Output input(int i) const;
  Output output(int i) const { return Output(op_, i); }
  int num_inputs() const;

  bool has_grad(int i) const { return grad_outputs_[i].valid(); }
  // The dense gradient of output i (sparse ones are densified); zeros of its shape if there is none.
  Output dy(int i = 0);
  // `gradient` as one tensor; it must be valid.
  Output Densify(const Gradient& gradient);
  const Gradient& grad(int i) const { return grad_outputs_[i]; }

  // Distinguishes the gradients of this AddGradients from others in the same graph: part of the name of accumulators
  // that are found by name.
  const std::string& run() const { return run_; }
  void set_run(std::string run) { run_ = std::move(run); }

  template <typename V>
  V Attr(absl::string_view name) {
    V value{};
    UpdateStatus(GetNodeAttr(def(), name, &value));
    return value;
  }

  // Adds an op: Call("MatMul", {dy(), input(1)}, {Set("transpose_b", true)}). For list arguments use the overload with
  // InputLists. Returns output 0; the others are Output(result.op(), i).
  using AttrSetter = std::function<void(tensorflow::NodeDef*)>;
  template <typename V>
  static AttrSetter Set(std::string name, V value) {
    return
        [name = std::move(name), value = std::move(value)](tensorflow::NodeDef* def) { SetNodeAttr(name, value, def); };
  }
  Output Call(absl::string_view op, const std::vector<Input>& inputs, const std::vector<AttrSetter>& attrs = {});
  Output CallWithLists(absl::string_view op, const std::vector<InputList>& inputs,
                       const std::vector<AttrSetter>& attrs = {});

  // Sets d(loss)/d(input i). Inputs that are never set have no gradient (integers, shapes).
  void set_grad(int i, Gradient gradient) { grad_inputs_[i] = gradient; }

  void UpdateStatus(absl::Status status) {
    if (status_.ok()) status_ = std::move(status);
  }
  const absl::Status& status() const { return status_; }
  std::vector<Gradient> TakeInputGradients() { return std::move(grad_inputs_); }

 private:
  Graph* const graph_;
  Node* const op_;
  std::vector<Gradient> grad_outputs_;
  std::vector<Gradient> grad_inputs_;
  const std::string name_scope_;
  std::string run_;
  absl::Status status_;
};

}  // namespace weir
