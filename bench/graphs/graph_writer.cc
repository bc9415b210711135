#include "bench/graphs/graph_writer.h"

#include <fstream>

namespace weir::bench {

GraphWriter::NodeRef GraphWriter::Add(const std::string& op, const std::string& name, const Names& inputs) {
  tensorflow::NodeDef* node = graph_.add_node();
  node->set_op(op);
  node->set_name(name);
  node->set_device(device_);
  for (const std::string& input : inputs) node->add_input(input);
  return NodeRef(node);
}

std::string GraphWriter::Float(const std::string& op, const std::string& name, const Names& inputs) {
  return Add(op, name, inputs).Attr("T", DT_FLOAT);
}

std::string GraphWriter::NoOp(const std::string& name, const Names& after) {
  Names controls;
  for (const std::string& node : after) controls.push_back("^" + node);
  return Add("NoOp", name, controls);
}

std::string GraphWriter::Const(const std::string& name, const Tensor& value) {
  return Add("Const", name).Attr("dtype", value.dtype()).Attr("value", value);
}

std::string GraphWriter::Placeholder(const std::string& name, DataType type, const std::vector<int64_t>& dims) {
  spec_.feeds.push_back({name, type == DT_FLOAT ? "float" : "int32", dims});
  return Add("Placeholder", name).Attr("dtype", type).Attr("shape", TensorShape(dims));
}

std::string GraphWriter::Variable(const std::string& name, const std::vector<int64_t>& dims, const std::string& value) {
  Add("VarHandleOp", name).Attr("dtype", DT_FLOAT).Attr("shape", TensorShape(dims)).Attr("shared_name", name);
  assignments_.push_back(Add("AssignVariableOp", name + "/assign", {name, value}).Attr("dtype", DT_FLOAT));
  return name;
}

std::string GraphWriter::OnesVariable(const std::string& name, int64_t elements) {
  Tensor dims(DT_INT32, {1});
  dims.data<int32_t>()[0] = static_cast<int32_t>(elements);
  const std::string ones =
      Add("Fill", name + "/ones", {Const(name + "/dims", dims), Const(name + "/one", Tensor::Scalar<float>(1))})
          .Attr("T", DT_FLOAT);
  return Variable(name, {elements}, ones);
}

std::string GraphWriter::Read(const std::string& name, const std::string& variable, const Names& after) {
  Names inputs = {variable};
  for (const std::string& node : after) inputs.push_back("^" + node);
  return Add("ReadVariableOp", name, inputs).Attr("dtype", DT_FLOAT);
}

absl::Status GraphWriter::Write(const std::string& path) {
  if (!assignments_.empty()) spec_.init.insert(spec_.init.begin(), NoOp("init", assignments_));
  return WriteGraph(path, graph_, spec_);
}

absl::Status WriteGraph(const std::string& path, tensorflow::GraphDef graph, const StepSpec& spec) {
  // A version that both sides accept.
  graph.mutable_versions()->set_producer(1882);
  std::ofstream graph_file(path + ".pb", std::ios::binary), spec_file(path + ".spec");
  spec_file << spec.ToText();
  if (!graph.SerializeToOstream(&graph_file) || !graph_file.flush() || !spec_file.flush()) {
    return errors::Internal("Cannot write ", path, ".pb and .spec; check free space and permissions");
  }
  return absl::OkStatus();
}

}  // namespace weir::bench
