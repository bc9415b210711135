// Terms that many gradients are built of.
#pragma once

#include "core/tensor/types.h"
#include "graph/gradients/gradient_context.h"

namespace weir::gradients {

inline Output Add(GradientContext& g, const Output& a, const Output& b) { return g.Call("AddV2", {a, b}); }
inline Output Sub(GradientContext& g, const Output& a, const Output& b) { return g.Call("Sub", {a, b}); }
inline Output Mul(GradientContext& g, const Output& a, const Output& b) { return g.Call("Mul", {a, b}); }
inline Output Neg(GradientContext& g, const Output& a) { return g.Call("Neg", {a}); }
// The conjugate; of a real tensor, itself.
inline Output Conj(GradientContext& g, const Output& a) { return IsComplex(a.type()) ? g.Call("Conj", {a}) : a; }
// With a dimension of size 1 at `axis`; -1 is behind the last.
inline Output Expand(GradientContext& g, const Output& a, int32_t axis) {
  return g.Call("ExpandDims", {a, Tensor::Scalar<int32_t>(axis)});
}

}  // namespace weir::gradients
