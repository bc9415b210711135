// Attributes and shapes of convolutions of affinely quantised integers, for shape functions and kernels.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/status.h"
#include "core/tensor/tensor_shape.h"

namespace tensorflow {
class NodeDef;
}

namespace weir {

// The dimensions of one operand: batch and features of the image and of the output, features out and in of the kernel;
// then the spatial ones.
using OperandDims = std::vector<int64_t>;

class QuantizedConvolution {
 public:
  // From a node's attributes.
  static absl::StatusOr<QuantizedConvolution> Read(const tensorflow::NodeDef& node);

  // These attributes with what they leave open filled in. InvalidArgument where they do not fit operands of these
  // shapes, or each other.
  absl::StatusOr<QuantizedConvolution> For(const TensorShape& image, const TensorShape& kernel) const;

  // Of what For() returned.
  const OperandDims& image_dims() const { return dims_[0]; }
  const OperandDims& kernel_dims() const { return dims_[1]; }
  const OperandDims& output_dims() const { return dims_[2]; }
  const TensorShape& output() const { return output_; }
  int64_t feature_groups() const { return feature_groups_; }
  int64_t batch_groups() const { return batch_groups_; }
  // For each spatial dimension.
  const std::vector<int64_t>& strides() const { return strides_; }
  const std::vector<int64_t>& image_dilation() const { return image_dilation_; }
  const std::vector<int64_t>& kernel_dilation() const { return kernel_dilation_; }
  int64_t padding_before(int i) const { return padding_list_[2 * i]; }

 private:
  absl::Status FillDims(int rank);
  absl::Status CheckGroups(const TensorShape& image, const TensorShape& kernel) const;
  // Pads, and sets the output's shape.
  absl::Status FillSizes(const TensorShape& image, const TensorShape& kernel);

  std::vector<int64_t> strides_, image_dilation_, kernel_dilation_, padding_list_;
  std::string padding_;
  int64_t feature_groups_ = 1, batch_groups_ = 1;
  std::array<OperandDims, 3> dims_;  // empty: those of NCHW and OIHW
  TensorShape output_;
};

}  // namespace weir
