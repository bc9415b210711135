// Shape functions by family, for op definitions: Op("MatMul")….Shape(shapes::MatMul). Inputs and attributes are in the
// positions of TensorFlow's ops of that name.
#pragma once

#include <optional>

#include "core/api.h"
#include "graph/shapes/shape_inference.h"

namespace weir {
namespace WEIR_API shapes {

// --- Building blocks for other shape functions: common_shapes_math.cc; WindowedSize: common_shapes_nn.cc ---

// The axis in input `i` (an integer scalar, or a vector of one), counted from the front; nullopt if it or `rank` (-1)
// is unknown. InvalidArgument unless it is in [-rank, rank).
absl::StatusOr<std::optional<int>> AxisInput(const InferenceContext& c, int i, int rank);
absl::StatusOr<int> CheckAxis(int64_t axis, int rank);
// The output size of a window (filter, pool) along one spatial dimension; -1 if `in` or `filter` is unknown. `padding`
// is SAME, VALID or EXPLICIT; EXPLICIT uses `before` and `after`.
absl::StatusOr<int64_t> WindowedSize(int64_t in, int64_t filter, int64_t stride, int64_t dilation,
                                     absl::string_view padding, int64_t before = 0, int64_t after = 0);
// The shape without the given axes, or with size 1 for them if keep_dims.
absl::StatusOr<PartialTensorShape> ReducedShape(const PartialTensorShape& shape, absl::Span<const int64_t> axes,
                                                bool keep_dims);
int64_t NumElements(const PartialTensorShape& shape);  // -1: unknown

// --- Sources: common_shapes_math.cc ---
absl::Status FromShapeInput(InferenceContext& c);  // output 0's shape is input 0's value: Fill, RandomUniform, Empty …
absl::Status FromShapeAttr(InferenceContext& c);   // output 0's shape is the attribute `shape`
absl::Status Range(InferenceContext& c);
absl::Status LinSpace(InferenceContext& c);
absl::Status OneHot(InferenceContext& c);

// --- Mathematics: common_shapes_math.cc ---
absl::Status MatMul(InferenceContext& c);        // transpose_a, transpose_b
absl::Status BatchMatMul(InferenceContext& c);   // adj_x, adj_y; batch dimensions broadcast
absl::Status Select(InferenceContext& c);        // version 1: the condition is a scalar, a vector, or of full shape
absl::Status Reduction(InferenceContext& c);     // Sum, Mean, Max …: axes in input 1, keep_dims
absl::Status ArgReduction(InferenceContext& c);  // ArgMax, ArgMin: axis in input 1
absl::Status SegmentSum(InferenceContext& c);
absl::Status UnsortedSegmentSum(InferenceContext& c);
absl::Status BroadcastGradientArgs(InferenceContext& c);

// --- Arrays: common_shapes_array.cc; strided slices: common_shapes_slice.cc ---
absl::Status ShapeOf(InferenceContext& c);  // Shape, ShapeN
absl::Status Reshape(InferenceContext& c);
absl::Status ExpandDims(InferenceContext& c);
absl::Status Squeeze(InferenceContext& c);
absl::Status Transpose(InferenceContext& c);
absl::Status Concat(InferenceContext& c);    // axis first
absl::Status ConcatV2(InferenceContext& c);  // axis last
absl::Status ConcatOffset(InferenceContext& c);
absl::Status Split(InferenceContext& c);
absl::Status SplitV(InferenceContext& c);
absl::Status Pack(InferenceContext& c);
absl::Status Unpack(InferenceContext& c);
absl::Status Slice(InferenceContext& c);
absl::Status StridedSlice(InferenceContext& c);
absl::Status StridedSliceGrad(InferenceContext& c);
absl::Status Tile(InferenceContext& c);
absl::Status Pad(InferenceContext& c);  // Pad, PadV2, MirrorPad
absl::Status BroadcastTo(InferenceContext& c);
absl::Status Gather(InferenceContext& c);    // version 1, ResourceGather's dense form
absl::Status GatherV2(InferenceContext& c);  // axis in input 2, batch_dims
absl::Status GatherNd(InferenceContext& c);
absl::Status ScatterNd(InferenceContext& c);
absl::Status Where(InferenceContext& c);
absl::Status Unique(InferenceContext& c);
absl::Status InvertPermutation(InferenceContext& c);
absl::Status DynamicPartition(InferenceContext& c);
absl::Status DynamicStitch(InferenceContext& c);

// --- Neural networks: common_shapes_nn.cc ---
absl::Status Conv2D(InferenceContext& c);
absl::Status Conv2DBackpropInput(InferenceContext& c);
absl::Status Conv2DBackpropFilter(InferenceContext& c);
absl::Status DepthwiseConv2D(InferenceContext& c);
absl::Status Pool(InferenceContext& c);         // MaxPool, AvgPool
absl::Status AvgPoolGrad(InferenceContext& c);  // input 0 holds the shape
absl::Status BiasAdd(InferenceContext& c);
absl::Status BiasAddGrad(InferenceContext& c);
absl::Status Softmax(InferenceContext& c);
absl::Status SoftmaxCrossEntropy(InferenceContext& c);
absl::Status SparseSoftmaxCrossEntropy(InferenceContext& c);
absl::Status FusedBatchNorm(InferenceContext& c);  // all versions: further outputs are vectors of channels
absl::Status FusedBatchNormGrad(InferenceContext& c);
absl::Status TopK(InferenceContext& c);  // k in input 1
absl::Status InTopK(InferenceContext& c);

}  // namespace shapes
}  // namespace weir
