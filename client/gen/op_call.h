// The implementation of generated wrappers, kept out of line so that hundreds of them compile fast.
#pragma once

#include <string>
#include <vector>

#include "client/ops/op_scope.h"
#include "core/op/attr_value.h"
#include "core/proto_value.h"
#include "graph/output.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {

// Adds one op: pass arguments in order, then attributes, call Add, then take outputs in order.
class OpCall {
 public:
  OpCall(const OpScope& scope, const char* op);
  ~OpCall();
  OpCall(const OpCall&) = delete;

  void Arg(const Input& input);
  void Arg(const InputList& inputs);
  template <typename V>
  void Attr(const char* name, const V& value) {
    SetNodeAttr(name, value, &def_);
  }
  void Attr(const char* name, const NameAttrList& function) { SetNodeAttr(name, *function, &def_); }
  void Attr(const char* name, const std::vector<NameAttrList>& functions);
  Operation Add();
  // The next output; invalid if the op could not be built.
  Output Take();
  // The next outputs, for an argument whose number of tensors is the value, or the list length, of attribute
  // `count_attr`.
  OutputList TakeList(const char* count_attr);

 private:
  const OpScope& scope_;
  tensorflow::NodeDef def_;
  std::vector<InputList> inputs_;
  Operation operation_;
  int next_output_ = 0;
};

}  // namespace weir
