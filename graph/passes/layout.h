// Which way round images lie in memory.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/tensor_shape.h"
#include "graph/passes/pass.h"

namespace weir {

// How long a node takes with inputs of these shapes, in microseconds, as measured; nullopt: nobody has. The node says
// its op, types, device and data_format.
using LayoutCost =
    std::function<std::optional<double>(const Node& node, const std::vector<PartialTensorShape>& inputs)>;

struct LayoutOptions {
  std::string device_type;                 // of nodes that may change
  std::string from = "NHWC", to = "NCHW";  // data_format
  // Empty, or silent about one of the nodes in question: the graph is converted without asking, but for 16-bit floats,
  // whose products GPUs make faster with channels last.
  LayoutCost cost;
};

// TensorFlow's layout optimizer, for a graph that is placed: convolutions, pooling, batch normalisation, biases and
// their gradients (graph/passes/layout_rules.h) change their data_format, with a Transpose before and behind each.
// Transposes go through what works on each element by itself, and vanish where they meet. The graph is as it was if
// that costs more than it gains. What is fetched, fed or run by name keeps what it gives.
std::unique_ptr<Pass> MakeLayoutPass(LayoutOptions options);

}  // namespace weir
