// Levenshtein's distance between the sequences of two sparse tensors.
#include "kernels/sparse/family.h"
#include "kernels/sparse/sparse_shapes.h"

namespace weir {
namespace {

using sparse_shapes::WithRanks;

absl::Status EditDistanceShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {2, 1, 1, 2, 1, 1}));
  const Tensor *const hypothesis = c.input_tensor(2), *const truth = c.input_tensor(5);
  if (hypothesis == nullptr || truth == nullptr) return absl::OkStatus();
  if (hypothesis->NumElements() != truth->NumElements()) {
    return errors::InvalidArgument("Num elements of hypothesis_shape does not match truth_shape: ",
                                   hypothesis->NumElements(), " vs. ", truth->NumElements());
  }
  DimVector dims;
  for (int64_t i = 0; i + 1 < truth->NumElements(); ++i) {
    dims.push_back(std::max(hypothesis->data<int64_t>()[i], truth->data<int64_t>()[i]));
  }
  return op_shapes::SetOutput(c, 0, dims);
}

}  // namespace

absl::Status RegisterEditDistanceOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("EditDistance")
                                   .Input("hypothesis_indices: int64")
                                   .Input("hypothesis_values: T")
                                   .Input("hypothesis_shape: int64")
                                   .Input("truth_indices: int64")
                                   .Input("truth_values: T")
                                   .Input("truth_shape: int64")
                                   .Output("output: float")
                                   .Attr("normalize: bool = true")
                                   .Attr("T: type")
                                   .Shape(EditDistanceShape)));
  return absl::OkStatus();
}

}  // namespace weir
