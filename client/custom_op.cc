#include "client/custom_op.h"

#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {

Operation CustomOp(const Scope& scope, const std::string& op, const std::vector<InputList>& inputs,
                   const std::vector<OpAttr>& attrs) {
  tensorflow::NodeDef def;
  def.set_op(op);
  for (const OpAttr& attr : attrs) attr.AddTo(&def);
  return scope.AddOp(std::move(def), inputs);
}

}  // namespace weir
