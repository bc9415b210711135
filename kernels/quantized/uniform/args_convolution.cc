#include "kernels/quantized/uniform/args_convolution.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "core/op/attr_value.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/util/quantization/uniform_quant_ops_attr.pb.h"

namespace weir {
namespace {

using Numbers = tensorflow::UniformQuantizedConvolutionDimensionNumbersAttr;

template <typename Spatial>
OperandDims Dims(int64_t first, int64_t second, const Spatial& spatial) {
  OperandDims dims = {first, second};
  dims.insert(dims.end(), spatial.begin(), spatial.end());
  return dims;
}

// Every dimension once.
absl::Status CheckDims(const OperandDims& dims, int rank) {
  if (static_cast<int>(dims.size()) != rank) {
    return errors::InvalidArgument("Spatial dimensions size must be rank - 2. Given rank ", rank,
                                   " and spatial dimensions size ", dims.size() - 2);
  }
  std::vector<bool> named(rank, false);
  for (const int64_t dim : dims) {
    if (dim < 0 || dim >= rank) {
      return errors::InvalidArgument("Each dimension number must be in region [0, rank). Given rank ", rank,
                                     " and dimension number value ", dim);
    }
    if (named[dim]) return errors::InvalidArgument("Dimension number ", dim, " is given twice");
    named[dim] = true;
  }
  return absl::OkStatus();
}

absl::Status FillOnes(const std::string& name, size_t spatial, std::vector<int64_t>* values) {
  if (values->empty()) values->assign(spatial, 1);
  if (values->size() != spatial) return errors::InvalidArgument("Size of ", name, " Attr must be dims - 2.");
  if (std::all_of(values->begin(), values->end(), [](int64_t x) { return x >= 1 && x <= INT32_MAX; })) {
    return absl::OkStatus();
  }
  return errors::InvalidArgument("All elements of ", name, " must be >= 1. Given ", absl::StrJoin(*values, ", "));
}

// Sizes beyond 2^62 are no sizes; up to there sums of two do not overflow.
absl::StatusOr<int64_t> Dilated(int64_t size, int64_t dilation) {
  int64_t dilated;
  if (size == 0) return 0;
  if (__builtin_mul_overflow(size - 1, dilation, &dilated) || dilated >= int64_t{1} << 60) {
    return errors::InvalidArgument("A size of ", size, " with dilation ", dilation, " is too large");
  }
  return dilated + 1;
}

}  // namespace

absl::StatusOr<QuantizedConvolution> QuantizedConvolution::Read(const tensorflow::NodeDef& node) {
  QuantizedConvolution made;
  std::string numbers_text;
  RETURN_IF_ERROR(GetNodeAttr(node, "window_strides", &made.strides_));
  RETURN_IF_ERROR(GetNodeAttr(node, "lhs_dilation", &made.image_dilation_));
  RETURN_IF_ERROR(GetNodeAttr(node, "rhs_dilation", &made.kernel_dilation_));
  RETURN_IF_ERROR(GetNodeAttr(node, "batch_group_count", &made.batch_groups_));
  RETURN_IF_ERROR(GetNodeAttr(node, "feature_group_count", &made.feature_groups_));
  RETURN_IF_ERROR(GetNodeAttr(node, "padding", &made.padding_));
  RETURN_IF_ERROR(GetNodeAttr(node, "explicit_padding", &made.padding_list_));
  RETURN_IF_ERROR(GetNodeAttr(node, "dimension_numbers", &numbers_text));
  if (made.padding_ != "EXPLICIT" && made.padding_ != "SAME" && made.padding_ != "VALID") {
    return errors::InvalidArgument("padding Attr must be one of [EXPLICIT | SAME | VALID], but given: ", made.padding_);
  }
  if (made.padding_ != "EXPLICIT" && !made.padding_list_.empty()) {
    return errors::InvalidArgument(
        "If padding Attr is not 'EXPLICIT', explicit_padding Attr must be empty. Given padding ", made.padding_,
        " and explicit_padding of size ", made.padding_list_.size());
  }
  Numbers numbers;
  if (!numbers.ParseFromString(numbers_text)) {
    return errors::InvalidArgument("Error parsing convolution dimension numbers.");
  }
  if (numbers.input_spatial_dimensions_size() == 0) return made;
  made.dims_ = {
      Dims(numbers.input_batch_dimension(), numbers.input_feature_dimension(), numbers.input_spatial_dimensions()),
      Dims(numbers.kernel_output_feature_dimension(), numbers.kernel_input_feature_dimension(),
           numbers.kernel_spatial_dimensions()),
      Dims(numbers.output_batch_dimension(), numbers.output_feature_dimension(), numbers.output_spatial_dimensions())};
  return made;
}

absl::StatusOr<QuantizedConvolution> QuantizedConvolution::For(const TensorShape& image,
                                                               const TensorShape& kernel) const {
  if (image.dims() != kernel.dims()) {
    return errors::InvalidArgument("lhs and rhs must have same dims. Given lhs and rhs of shapes: ", image.ToString(),
                                   kernel.ToString());
  }
  if (image.dims() <= 2) {
    return errors::InvalidArgument("lhs and rhs shape dims must be at least 3. Given: ", image.dims());
  }
  const size_t spatial = image.dims() - 2;
  QuantizedConvolution made = *this;
  RETURN_IF_ERROR(FillOnes("window_strides", spatial, &made.strides_));
  RETURN_IF_ERROR(FillOnes("lhs_dilation", spatial, &made.image_dilation_));
  RETURN_IF_ERROR(FillOnes("rhs_dilation", spatial, &made.kernel_dilation_));
  RETURN_IF_ERROR(made.FillDims(image.dims()));
  RETURN_IF_ERROR(made.CheckGroups(image, kernel));
  RETURN_IF_ERROR(made.FillSizes(image, kernel));
  return made;
}

absl::Status QuantizedConvolution::FillDims(int rank) {
  const bool is_open = dims_[0].empty();
  for (OperandDims& dims : dims_) {
    for (int i = 0; is_open && i < rank; ++i) dims.push_back(i);
    RETURN_IF_ERROR(CheckDims(dims, rank));
  }
  return absl::OkStatus();
}

absl::Status QuantizedConvolution::CheckGroups(const TensorShape& image, const TensorShape& kernel) const {
  const auto size = [](const TensorShape& shape, int64_t dim) { return shape.dim_size(static_cast<int>(dim)); };
  const int64_t features = size(image, image_dims()[1]), batch = size(image, image_dims()[0]);
  const int64_t out = size(kernel, kernel_dims()[0]), in = size(kernel, kernel_dims()[1]);
  if (feature_groups_ <= 0) {
    return errors::InvalidArgument("feature_group_count must be a positive integer, given: ", feature_groups_);
  }
  if (features % feature_groups_ != 0) {
    return errors::InvalidArgument("feature_group_count must divide lhs feature dimension size, but ", feature_groups_,
                                   " does not divide ", features);
  }
  if (in == 0 || features % in != 0) {
    return errors::InvalidArgument("rhs input feature dimension must divide lhs feature dimension size, but ", in,
                                   " does not divide ", features);
  }
  if (features / feature_groups_ != in) {
    return errors::InvalidArgument(
        "lhs feature dimension size divided by feature_group_count must equal the rhs input feature dimension size, "
        "but ",
        features, " / ", feature_groups_, " != ", in);
  }
  if (out % feature_groups_ != 0) {
    return errors::InvalidArgument("rhs output dimension size must be a multiple of feature_group_count, but ", out,
                                   " is not a multiple of ", feature_groups_);
  }
  if (batch_groups_ <= 0) {
    return errors::InvalidArgument("batch_group_count Attr must be a positive integer. Given: ", batch_groups_);
  }
  if (batch % batch_groups_ != 0) {
    return errors::InvalidArgument("batch_group_count must divide lhs batch dimension size, but ", batch_groups_,
                                   " does not divide ", batch);
  }
  if (out % batch_groups_ == 0) return absl::OkStatus();
  return errors::InvalidArgument("rhs output dimension size must be a multiple of batch_group_count, but ", out,
                                 " is not a multiple of ", batch_groups_);
}

absl::Status QuantizedConvolution::FillSizes(const TensorShape& image, const TensorShape& kernel) {
  const size_t spatial = strides_.size();
  if (padding_ != "EXPLICIT") {
    padding_list_.assign(2 * spatial, 0);
  } else if (padding_list_.size() != 2 * spatial) {
    return errors::InvalidArgument("Size of explicit_padding Attr must be 2 * (rank - 2). Given rank ", image.dims(),
                                   " and explicit_padding of size ", padding_list_.size());
  } else if (!std::all_of(padding_list_.begin(), padding_list_.end(),
                          [](int64_t x) { return x >= 0 && x <= INT32_MAX; })) {
    return errors::InvalidArgument("All explicit_padding elems must be >= 0, Given ",
                                   absl::StrJoin(padding_list_, ", "));
  }
  std::vector<int64_t> sizes(image.dims());
  sizes[output_dims()[0]] = image.dim_size(static_cast<int>(image_dims()[0])) / batch_groups_;
  sizes[output_dims()[1]] = kernel.dim_size(static_cast<int>(kernel_dims()[0]));
  for (size_t i = 0; i < spatial; ++i) {
    ASSIGN_OR_RETURN(const int64_t in,
                     Dilated(image.dim_size(static_cast<int>(image_dims()[2 + i])), image_dilation_[i]));
    ASSIGN_OR_RETURN(const int64_t window,
                     Dilated(kernel.dim_size(static_cast<int>(kernel_dims()[2 + i])), kernel_dilation_[i]));
    int64_t& before = padding_list_[2 * i];
    int64_t& after = padding_list_[2 * i + 1];
    if (padding_ == "SAME") {
      const int64_t last = (in + strides_[i] - 1) / strides_[i] - 1;
      const int64_t total = std::max<int64_t>(last * strides_[i] + window - in, 0);
      before = total / 2;
      after = total - before;
    }
    int64_t& size = sizes[output_dims()[2 + i]];
    size = (in + before + after - window + strides_[i]) / strides_[i];
    if (size < 0) return errors::InvalidArgument("Expected shape dimensions to be non-negative, got ", size);
  }
  ASSIGN_OR_RETURN(output_, TensorShape::Build(sizes));
  return absl::OkStatus();
}

}  // namespace weir
