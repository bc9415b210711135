// The layout pass's rules for ops.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {

// For ops with an attribute data_format.
struct OpLayoutRule {
  absl::string_view op;
  std::vector<int> images, results;  // indices of inputs and outputs that are images of four dimensions
  std::vector<int> shapes;           // indices of inputs that hold an image's shape
};

// nullptr if the pass does not convert the op.
const OpLayoutRule* FindLayoutRule(absl::string_view op);

// The position in `from` of each dimension of `to`: {0, 3, 1, 2} for NHWC and NCHW.
std::vector<int> LayoutPermutation(absl::string_view from, absl::string_view to);
// Sets data_format, and permutes the attributes with one value per dimension (strides, dilations, windows, paddings).
void SetLayout(absl::string_view from, absl::string_view to, tensorflow::NodeDef* def);

}  // namespace weir
