// Elements against the shapes that a node promises of them.
#pragma once

#include <algorithm>
#include <vector>

#include "core/status.h"
#include "core/tensor/tensor_shape.h"
#include "kernels/data/dataset.h"

namespace weir {

inline absl::Status CheckElementShapes(const Element& element, const std::vector<PartialTensorShape>& shapes) {
  for (size_t i = 0; i < std::min(element.size(), shapes.size()); ++i) {
    if (shapes[i].IsCompatibleWith(element[i].shape())) continue;
    return errors::InvalidArgument("Incompatible shapes at component ", i, ": expected ", shapes[i].ToString(),
                                   " but got ", element[i].shape().ToString(), ".");
  }
  return absl::OkStatus();
}

}  // namespace weir
