#include "graph/gradients/copied_attrs.h"

#include "core/op/attr_value.h"
#include "graph/graph.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {

std::vector<GradientContext::AttrSetter> CopiedAttrs(const GradientContext& g,
                                                     std::initializer_list<const char*> names) {
  std::vector<GradientContext::AttrSetter> setters;
  for (const char* name : names) {
    const tensorflow::AttrValue* const value = FindAttr(g.op().def(), name);
    if (value == nullptr) continue;
    setters.push_back(
        [name = std::string(name), value = *value](tensorflow::NodeDef* def) { (*def->mutable_attr())[name] = value; });
  }
  return setters;
}

}  // namespace weir
