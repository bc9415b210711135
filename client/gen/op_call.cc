#include "client/gen/op_call.h"

#include "graph/graph.h"
#include "tensorflow/core/framework/attr_value.pb.h"

namespace weir {

OpCall::OpCall(const OpScope& scope, const char* op) : scope_(scope) { def_.set_op(op); }
OpCall::~OpCall() = default;

void OpCall::Arg(const Input& input) { inputs_.push_back({input}); }
void OpCall::Arg(const InputList& inputs) { inputs_.push_back(inputs); }

void OpCall::Attr(const char* name, const std::vector<NameAttrList>& functions) {
  std::vector<tensorflow::NameAttrList> values;
  for (const NameAttrList& function : functions) values.push_back(*function);
  SetNodeAttr(name, values, &def_);
}

Operation OpCall::Add() {
  operation_ = scope_.scope().AddOp(std::move(def_), inputs_, scope_.line());
  return operation_;
}

Output OpCall::Take() { return operation_.valid() ? Output(operation_, next_output_++) : Output(); }

OutputList OpCall::TakeList(const char* count_attr) {
  OutputList outputs;
  if (!operation_.valid()) return outputs;
  const tensorflow::AttrValue* attr = FindAttr(operation_.node()->def(), count_attr);
  const int64_t count = attr->has_list() ? attr->list().type_size() : attr->i();
  for (int64_t i = 0; i < count; ++i) outputs.push_back(Take());
  return outputs;
}

}  // namespace weir
