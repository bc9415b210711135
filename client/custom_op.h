// Ops without a generated wrapper, such as those of a plug-in (kernels/plugin.h).
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "client/scope.h"
#include "core/api.h"
#include "core/op/attr_value.h"
#include "graph/output.h"

namespace WEIR_API weir {

// An attribute of an op: {"scale", 2.0f}. V as in SetNodeAttr: int64_t, float, bool, std::string, DataType, shapes,
// Tensor, and vectors of them; the attribute's type must match exactly.
class OpAttr {
 public:
  template <typename V>
  OpAttr(std::string name, V value)
      : set_([name = std::move(name), value = std::move(value)](tensorflow::NodeDef* def) {
          SetNodeAttr(name, value, def);
        }) {}
  void AddTo(tensorflow::NodeDef* def) const { set_(def); }

 private:
  std::function<void(tensorflow::NodeDef*)> set_;
};

// Adds an op: CustomOp(scope, "MyCube", {{x}}, {{"scale", 2.0f}}). One InputList for each argument of the op;
// attributes left out are inferred from the inputs, or have their default. Output i is Output(operation, i). Errors are
// recorded in the scope, as in its wrappers.
Operation CustomOp(const Scope& scope, const std::string& op, const std::vector<InputList>& inputs,
                   const std::vector<OpAttr>& attrs = {});

}  // namespace weir
