// The operations and bytes of a node, from inferred shapes.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "graph/shapes/shape_refiner.h"

namespace weir {

struct NodeWork {
  double flops = 0;
  double bytes = 0;                 // read and written by the kernel
  std::vector<int64_t> outputs;     // the bytes of each output
  bool outputs_are_shared = false;  // with an input or a variable: they need no memory of their own
  int64_t state = 0;                // bytes that the node keeps between steps: a variable
};

// An unknown dimension counts as `unknown_dimension`, an unknown shape as one element. Matrix products, convolutions,
// recurrent layers and their gradients count their multiplications and additions; nodes that pass their input on
// (Identity, Reshape, reading a variable) move nothing; all others take one operation, or a few for functions such as
// Exp, for each element of their largest input or output.
NodeWork WorkOf(const Node& node, const ShapeRefiner& shapes, int64_t unknown_dimension);

}  // namespace weir
