#include "kernels/data/dataset_fingerprint.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/fingerprint.h"
#include "kernels/data/dataset_graph.h"
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/family.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.pb.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/op_def.pb.h"

namespace weir {
namespace {

// The same bytes for equal messages.
std::string Serialized(const google::protobuf::Message& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&coded);
  }
  return bytes;
}

// Functions are called by names that differ from program to program: each stands for what it does.
class GraphFingerprint {
 public:
  explicit GraphFingerprint(const tensorflow::GraphDef& graph) {
    for (const auto& function : graph.library().function()) functions_[function.signature().name()] = &function;
  }

  uint64_t OfNode(tensorflow::NodeDef node) {
    node.mutable_attr()->erase("metadata");
    if (functions_.contains(node.op())) node.set_op(absl::StrCat(OfFunction(node.op())));
    for (auto& [name, attr] : *node.mutable_attr()) {
      if (attr.has_func()) Rename(attr.mutable_func());
      if (!attr.has_list()) continue;
      for (auto& function : *attr.mutable_list()->mutable_func()) Rename(&function);
    }
    return Fingerprint64(Serialized(node));
  }

 private:
  void Rename(tensorflow::NameAttrList* function) {
    function->mutable_attr()->clear();  // hints of the client
    function->set_name(absl::StrCat(OfFunction(function->name())));
  }

  uint64_t OfFunction(const std::string& name) {
    if (!known_.contains(name)) Learn(name);
    return known_[name];
  }

  // Those that it calls come first: a stack of its own, for chains of calls may be long.
  void Learn(const std::string& name) {
    for (std::vector<std::string> open = {name}; !open.empty();) {
      const std::string top = open.back();
      const auto function = functions_.find(top);
      const bool is_new = known_.try_emplace(top, Fingerprint64("")).second;  // meanwhile: a function may call itself
      if (is_new && function != functions_.end()) {
        for (const auto& node : function->second->node_def()) OpenCalled(node, &open);
        continue;
      }
      open.pop_back();
      if (!learnt_.insert(top).second) continue;
      known_[top] = function == functions_.end() ? Fingerprint64(top) : OfBody(*function->second);
    }
  }
  void OpenCalled(const tensorflow::NodeDef& node, std::vector<std::string>* open) const {
    const auto add = [this, open](const std::string& name) {
      if (!known_.contains(name)) open->push_back(name);
    };
    if (functions_.contains(node.op())) add(node.op());
    for (const auto& [name, attr] : node.attr()) {
      if (attr.has_func()) add(attr.func().name());
      for (const auto& function : attr.list().func()) add(function.name());
    }
  }

  // Calls only functions that are known.
  uint64_t OfBody(tensorflow::FunctionDef function) {
    uint64_t hash = 0;
    for (auto& node : *function.mutable_node_def()) {
      node.clear_experimental_debug_info();
      hash = FingerprintCat64(hash, OfNode(node));
    }
    function.clear_node_def();
    function.clear_attr();
    function.clear_arg_attr();
    function.mutable_signature()->clear_name();
    return FingerprintCat64(hash, Fingerprint64(Serialized(function)));
  }

  std::map<std::string, const tensorflow::FunctionDef*> functions_;
  std::map<std::string, uint64_t> known_;
  std::set<std::string> learnt_;  // what is known of them is no stand-in
};

class FingerprintKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr dataset, DatasetFromTensor(ctx.locked_input(0)));
    ASSIGN_OR_RETURN(const uint64_t fingerprint, FingerprintOf(*dataset));
    ctx.set_output(0, Tensor::Scalar<uint64_t>(fingerprint));
    return absl::OkStatus();
  }
};

}  // namespace

absl::StatusOr<uint64_t> FingerprintOf(const DatasetBase& dataset) {
  tensorflow::GraphDef graph;
  RETURN_IF_ERROR(DatasetToGraphDef(dataset, &graph));
  GraphFingerprint fingerprint(graph);
  uint64_t hash = 0;
  // Nodes are named by their ops, in the order in which they are met.
  for (const auto& node : graph.node()) hash = FingerprintCat64(hash, fingerprint.OfNode(node));
  return hash;
}

absl::Status RegisterFingerprintKernels(KernelRegistry& kernels) {
  return kernels.Register<FingerprintKernel>(Kernel("DatasetFingerprint").Cpu());
}

}  // namespace weir
