// Shared definitions of ops with handles. A handle is a resource, or, in the first versions of many ops, a
// reference to the strings [container, name].
#pragma once

#include <string>

#include "core/op/op_registry.h"
#include "graph/shapes/shape_inference.h"

namespace weir {

// The two kinds of an op: its name is `base` or `base` + "V2" (or has "Resource" in front), its handle is of the kind,
// and the first kind is stateful only where it makes the object.
struct HandleKind {
  bool resource = false;

  std::string type() const { return resource ? "resource" : "Ref(string)"; }
  // An op that takes the handle as its first input.
  Op User(const std::string& name, const std::string& handle) const {
    Op op(name);
    op.Input(handle + ": " + type());
    if (resource) op.Stateful();
    return op;
  }
  // An op that gives one.
  Op Maker(const std::string& name, const std::string& handle) const {
    Op op(name);
    op.Output(handle + ": " + type()).Stateful();
    op.Shape([is_resource = resource](InferenceContext& c) {
      c.set_output(0, is_resource ? c.Scalar() : c.Vector(2));
      return absl::OkStatus();
    });
    return op;
  }
  std::string Versioned(const std::string& base) const { return resource ? base + "V2" : base; }
};

constexpr HandleKind kHandleKinds[] = {{false}, {true}};

// Demands that the first input is a handle: a scalar, or a vector of two.
inline absl::Status CheckHandle(InferenceContext& c) {
  const bool is_resource = c.input(0).dims() == 0;
  if (is_resource) return absl::OkStatus();
  ASSIGN_OR_RETURN(PartialTensorShape handle, c.WithRank(c.input(0), 1));
  return c.MergeDim(c.Dim(handle, 0), 2).status();
}

}  // namespace weir
