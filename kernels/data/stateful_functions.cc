#include "kernels/data/stateful_functions.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "core/kernel/determinism.h"
#include "core/kernel/function_runtime.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.pb.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/op_def.pb.h"

namespace weir {
namespace {

// Ops whose state makes no difference to what a function computes, and ops that make datasets.
bool IsHarmless(const tensorflow::OpDef& op) {
  for (const char* name :
       {"Assert", "Print", "PrintV2", "LookupTableFind", "LookupTableFindV2", "LookupTableSize", "LookupTableSizeV2"}) {
    if (op.name() == name) return true;
  }
  return op.output_arg_size() == 1 && op.output_arg(0).type() == tensorflow::DT_VARIANT &&
         (absl::EndsWith(op.name(), "Dataset") || absl::EndsWith(op.name(), "DatasetV2"));
}

void AddCalled(const tensorflow::NodeDef& node, std::vector<std::string>* called) {
  called->push_back(node.op());
  for (const auto& [key, attr] : node.attr()) {
    if (attr.has_func()) called->push_back(attr.func().name());
    for (const auto& function : attr.list().func()) called->push_back(function.name());
  }
}

}  // namespace

std::string StatefulOp(const tensorflow::NodeDef& node, const FunctionRuntime& functions) {
  std::vector<std::string> waiting;
  AddCalled(node, &waiting);
  std::set<std::string> seen;
  for (size_t i = 0; i < waiting.size(); ++i) {
    const tensorflow::FunctionDef* const function = functions.Find(waiting[i]);
    if (function == nullptr || !seen.insert(waiting[i]).second) continue;
    for (const auto& called : function->node_def()) {
      const tensorflow::OpDef* const op = functions.FindOp(called.op());
      const bool is_branch = called.op() == "If" || called.op() == "While";
      if (op != nullptr && op->is_stateful() && !is_branch && !IsHarmless(*op)) return called.op();
      AddCalled(called, &waiting);
    }
  }
  return "";
}

bool CallsInOrder(const NodeInputs& inputs) {
  const std::shared_ptr<FunctionRuntime>& library = inputs.node().library();
  return library != nullptr && IsDeterministic(inputs.ctx().node_def()) &&
         !StatefulOp(*inputs.node().node(), *library).empty();
}

}  // namespace weir
