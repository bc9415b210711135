// Shared by gradients of ops that broadcast two operands.
#pragma once

#include "graph/gradients/gradient_context.h"

namespace weir {

// The shapes of inputs `first` and `first` + 1, and the dimensions along which each was broadcast; created once per op.
class BroadcastGradient {
 public:
  explicit BroadcastGradient(GradientContext& g, int first = 0) : g_(g) {
    for (int i : {0, 1}) shapes_[i] = g.Call("Shape", {g.input(first + i)});
    const Output args = g.Call("BroadcastGradientArgs", {shapes_[0], shapes_[1]});
    for (int i : {0, 1}) axes_[i] = Output(args.op(), i);
  }
  // Reduces `gradient`, of the result's shape, to the shape of operand i.
  Output Reduce(int i, const Output& gradient) {
    return g_.Call("Reshape", {g_.Call("Sum", {gradient, axes_[i]}), shapes_[i]});
  }

 private:
  GradientContext& g_;
  Output shapes_[2], axes_[2];
};

// The same for two batches of matrices, whose last two dimensions stay.
class BatchBroadcast {
 public:
  explicit BatchBroadcast(GradientContext& g) : g_(g) {
    Output batch[2];
    for (int i : {0, 1}) {
      shapes_[i] = g.Call("Shape", {g.input(i)});
      batch[i] = g.Call(
          "StridedSlice",
          {shapes_[i], Tensor::Vector<int32_t>({0}), Tensor::Vector<int32_t>({-2}), Tensor::Vector<int32_t>({1})},
          {GradientContext::Set("begin_mask", int64_t{1})});
    }
    const Output args = g.Call("BroadcastGradientArgs", {batch[0], batch[1]});
    for (int i : {0, 1}) axes_[i] = Output(args.op(), i);
  }
  Output Reduce(int i, const Output& gradient) {
    return g_.Call("Reshape", {g_.Call("Sum", {gradient, axes_[i]}), shapes_[i]});
  }

 private:
  GradientContext& g_;
  Output shapes_[2], axes_[2];
};

}  // namespace weir
