// Writes GraphDefs that both sides run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/step_spec.h"
#include "core/op/attr_value.h"
#include "core/status.h"
#include "core/tensor/tensor.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace weir::bench {

// Inputs are names in NodeDef form ("x", "x:1", "^x"); methods return the node's name. Nodes get the current device. Op
// types are TensorFlow's. Nothing is checked here; both sides validate on import.
class GraphWriter {
 public:
  using Names = std::vector<std::string>;

  class NodeRef {
   public:
    explicit NodeRef(tensorflow::NodeDef* def) : def_(def) {}
    template <typename V>
    NodeRef& Attr(const char* name, const V& value) {
      SetNodeAttr(name, value, def_);
      return *this;
    }
    operator std::string() const { return def_->name(); }  // NOLINT(google-explicit-constructor): its name

   private:
    tensorflow::NodeDef* def_;
  };

  NodeRef Add(const std::string& op, const std::string& name, const Names& inputs = {});
  // An op whose only attribute is T = float.
  std::string Float(const std::string& op, const std::string& name, const Names& inputs);
  std::string NoOp(const std::string& name, const Names& after);
  std::string Const(const std::string& name, const Tensor& value);
  std::string Placeholder(const std::string& name, DataType type, const std::vector<int64_t>& dims);
  // A float resource variable; its initialisation from `value` is added to init(). Use Read for its value.
  std::string Variable(const std::string& name, const std::vector<int64_t>& dims, const std::string& value);
  // A variable with all elements 1.
  std::string OnesVariable(const std::string& name, int64_t elements);
  std::string Read(const std::string& name, const std::string& variable, const Names& after = {});

  void set_device(std::string device) { device_ = std::move(device); }
  StepSpec& spec() { return spec_; }
  const Names& assignments() const { return assignments_; }
  // Writes PATH.pb and PATH.spec. A node "init" initialises all variables, if there are any.
  absl::Status Write(const std::string& path);

 private:
  tensorflow::GraphDef graph_;
  StepSpec spec_;
  std::string device_;
  Names assignments_;
};

// Writes PATH.pb and PATH.spec.
absl::Status WriteGraph(const std::string& path, tensorflow::GraphDef graph, const StepSpec& spec);

}  // namespace weir::bench
