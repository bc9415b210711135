// The interface of shape functions, and rules that many ops share.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/api.h"
#include "core/op/attr_value.h"
#include "core/status.h"
#include "core/tensor/resource_handle.h"
#include "core/tensor/tensor.h"
#include "core/tensor/tensor_shape.h"

namespace tensorflow {
class NodeDef;
class OpDef;
}  // namespace tensorflow

namespace WEIR_API weir {

// Shapes are value types; -1 is an unknown dimension. A shape function reads inputs and attributes, checks what is
// known, and sets the outputs; an output that it does not set has unknown shape. Errors are InvalidArgument and name
// the wrong input; the caller adds node and op.
class InferenceContext {
 public:
  using HandleData = std::vector<ResourceHandle::DtypeAndShape>;

  InferenceContext(const tensorflow::NodeDef& node, const tensorflow::OpDef& op_def,
                   std::vector<PartialTensorShape> inputs, std::vector<const Tensor*> input_tensors, int num_outputs);

  const tensorflow::NodeDef& node() const { return node_; }
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  const PartialTensorShape& input(int i) const { return inputs_[i]; }
  // The value of input i if it is a constant, otherwise nullptr.
  const Tensor* input_tensor(int i) const { return input_tensors_[i]; }
  // The known part of the shape that input i (an int32 or int64 vector) holds: all of it for a constant, single
  // dimensions if it is computed from shapes, at least its rank if the vector's length is known. Elements of -1 are
  // unknown dimensions. InvalidArgument for a wrong rank or values below -1.
  absl::StatusOr<PartialTensorShape> InputAsShape(int i) const;
  // The caller's knowledge for InputAsShape beyond constants; empty if there is none.
  void set_input_values_as_shapes(std::vector<PartialTensorShape> values) { values_as_shapes_ = std::move(values); }
  // The dimension in an integer scalar: -1 if it is unknown, InvalidArgument if it is negative.
  absl::StatusOr<int64_t> InputAsScalar(int i) const;
  // Input i's elements if it is an integer constant, otherwise nullopt.
  std::optional<std::vector<int64_t>> InputAsIntegers(int i) const;

  template <typename V>
  absl::Status GetAttr(absl::string_view name, V* value) const {
    return GetNodeAttr(node_, name, value);
  }

  void set_output(int i, PartialTensorShape shape) { outputs_[i] = std::move(shape); }
  const PartialTensorShape& output(int i) const { return outputs_[i]; }

  // The known content of a resource or variant input (empty: unknown).
  const HandleData& input_handle(int i) const { return input_handles_[i]; }
  void set_input_handles(std::vector<HandleData> handles) { input_handles_ = std::move(handles); }
  const HandleData& output_handle(int i) const { return output_handles_[i]; }
  void set_output_handle(int i, HandleData data) { output_handles_[i] = std::move(data); }

  // --- Rules. Each returns its argument narrowed by its requirement, or InvalidArgument. ---
  absl::StatusOr<PartialTensorShape> WithRank(const PartialTensorShape& shape, int rank) const;
  absl::StatusOr<PartialTensorShape> WithRankAtLeast(const PartialTensorShape& shape, int rank) const;
  absl::StatusOr<PartialTensorShape> WithRankAtMost(const PartialTensorShape& shape, int rank) const;
  absl::StatusOr<int64_t> MergeDim(int64_t a, int64_t b) const;
  absl::StatusOr<PartialTensorShape> Merge(const PartialTensorShape& a, const PartialTensorShape& b) const;
  // Dimension i (negative counts from the end); -1 if unknown.
  static int64_t Dim(const PartialTensorShape& shape, int i);
  // Dimensions [start, end); negative indices count from the end. Unknown if the rank is.
  static absl::StatusOr<PartialTensorShape> Subshape(const PartialTensorShape& shape, int start,
                                                     int end = kMaxRank + 1);
  static PartialTensorShape Concatenate(const PartialTensorShape& a, const PartialTensorShape& b);
  static PartialTensorShape UnknownOfRank(int64_t rank);
  static PartialTensorShape Scalar() { return TensorShape(); }
  static PartialTensorShape Vector(int64_t n);
  static PartialTensorShape Matrix(int64_t rows, int64_t columns);
  // The shape with these dimensions; unknown if they are invalid (below -1, or a product beyond int64).
  static PartialTensorShape Of(absl::Span<const int64_t> dims);

 private:
  const tensorflow::NodeDef& node_;
  const tensorflow::OpDef& op_def_;
  std::vector<PartialTensorShape> inputs_;
  std::vector<const Tensor*> input_tensors_;
  std::vector<PartialTensorShape> values_as_shapes_;
  std::vector<HandleData> input_handles_;
  std::vector<PartialTensorShape> outputs_;
  std::vector<HandleData> output_handles_;
};

// Shape functions that many ops share. More, by family, are in graph/shapes/common_shapes.h.
namespace shapes {
// Copies the shape of input i, and handle data, to output i.
void PassOn(InferenceContext& c, int input, int output);
absl::Status Unchanged(InferenceContext& c);        // output 0 has input 0's shape
absl::Status MergeAll(InferenceContext& c);         // all inputs and output 0 have the same shape
absl::Status BroadcastBinary(InferenceContext& c);  // output 0 is inputs 0 and 1 broadcast
absl::Status Scalar(InferenceContext& c);           // every output is a scalar
absl::Status NoOutputs(InferenceContext& c);
absl::Status Unknown(InferenceContext& c);  // every output's shape is unknown
absl::StatusOr<PartialTensorShape> Broadcast(const PartialTensorShape& a, const PartialTensorShape& b);
}  // namespace shapes

}  // namespace weir
