// Chooses the memory layout of images.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/tensor/tensor_shape.h"
#include "graph/passes/pass.h"

namespace weir {

// The cost of ops on images in each layout, in microseconds; nullopt if unknown. Thread-safe; may block on files.
class LayoutCosts {
 public:
  virtual ~LayoutCosts() = default;
  // The measured cost of a node with a rule (graph/passes/layout_rules.h) if its data_format were `format`; infinite if
  // no library supports it. The shapes are those of its current format.
  virtual std::optional<double> OfNode(const Node& node, absl::Span<const PartialTensorShape> inputs,
                                       absl::Span<const PartialTensorShape> outputs,
                                       absl::string_view format) const = 0;
  // The cost of transposing that many bytes on a device.
  virtual std::optional<double> OfTranspose(absl::string_view device, int64_t bytes) const = 0;
};

struct LayoutOptions {
  std::string device_type;                 // of nodes that may change
  std::string from = "NHWC", to = "NCHW";  // data_format
  const LayoutCosts* costs = nullptr;      // outlives the pass
};

// TensorFlow's layout optimizer, for a placed graph.
// - Convolutions, pooling, batch normalisation, biases and their gradients (graph/passes/layout_rules.h) change their
//   data_format, with a Transpose before and after each.
// - Transposes move through element-wise ops and cancel out.
// - Outputs of fetched, fed and targeted nodes stay the same.
//
// If the costs of all nodes in question are known in both formats, their sums, including transposes, decide. If they
// are known in one format only, the graph gets the other one, so that it is measured. If neither is known it is
// converted, except for 16-bit floats on GPUs, whose matrix units favour channels last.
std::unique_ptr<Pass> MakeLayoutPass(LayoutOptions options);

}  // namespace weir
