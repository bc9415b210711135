// Feature crosses of sparse and dense columns.
#include "kernels/sparse/family.h"
#include "kernels/sparse/sparse_shapes.h"

namespace weir {
namespace {

using sparse_shapes::SetSparse;

absl::Status SparseCrossShape(InferenceContext& c) {
  SetSparse(c, 0, 2);
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterSparseCrossOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("SparseCross")
                                   .Input("indices: N * int64")
                                   .Input("values: sparse_types")
                                   .Input("shapes: N * int64")
                                   .Input("dense_inputs: dense_types")
                                   .Output("output_indices: int64")
                                   .Output("output_values: out_type")
                                   .Output("output_shape: int64")
                                   .Attr("N: int >= 0")
                                   .Attr("hashed_output: bool")
                                   .Attr("num_buckets: int >= 0")
                                   .Attr("hash_key: int")
                                   .Attr("sparse_types: list({int64, string}) >= 0")
                                   .Attr("dense_types: list({int64, string}) >= 0")
                                   .Attr("out_type: {int64, string}")
                                   .Attr("internal_type: {int64, string}")
                                   .Shape(SparseCrossShape)));
  RETURN_IF_ERROR(ops.Register(Op("SparseCrossV2")
                                   .Input("indices: N * int64")
                                   .Input("values: sparse_types")
                                   .Input("shapes: N * int64")
                                   .Input("dense_inputs: dense_types")
                                   .Input("sep: string")
                                   .Output("output_indices: int64")
                                   .Output("output_values: string")
                                   .Output("output_shape: int64")
                                   .Attr("N: int >= 0")
                                   .Attr("sparse_types: list({int64, string}) >= 0")
                                   .Attr("dense_types: list({int64, string}) >= 0")
                                   .Shape(SparseCrossShape)));
  RETURN_IF_ERROR(ops.Register(Op("SparseCrossHashed")
                                   .Input("indices: N * int64")
                                   .Input("values: sparse_types")
                                   .Input("shapes: N * int64")
                                   .Input("dense_inputs: dense_types")
                                   .Input("num_buckets: int64")
                                   .Input("strong_hash: bool")
                                   .Input("salt: int64")
                                   .Output("output_indices: int64")
                                   .Output("output_values: int64")
                                   .Output("output_shape: int64")
                                   .Attr("N: int >= 0")
                                   .Attr("sparse_types: list({int64, string}) >= 0")
                                   .Attr("dense_types: list({int64, string}) >= 0")
                                   .Shape(SparseCrossShape)));
  return absl::OkStatus();
}

}  // namespace weir
