// What the layout pass knows of ops.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {

// Of an op with an attribute data_format.
struct LayoutRule {
  absl::string_view op;
  std::vector<int> images, results;  // inputs and outputs that are images, of four dimensions
  std::vector<int> shapes;           // inputs that are the shape of one
};

// nullptr: the op is none of those that the pass converts.
const LayoutRule* FindLayoutRule(absl::string_view op);
// Works on each element by itself: on images as they come, whichever way round. It has one output.
bool IsLayoutAgnostic(absl::string_view op);

// Where dimension i of `to` is in `from`: {0, 3, 1, 2} for NHWC and NCHW.
std::vector<int> LayoutPermutation(absl::string_view from, absl::string_view to);
// Sets data_format, and puts what the attributes say of each dimension (strides, dilations, windows, paddings) into its
// order.
void SetLayout(absl::string_view from, absl::string_view to, tensorflow::NodeDef* def);

}  // namespace weir
