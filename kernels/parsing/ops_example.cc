// Ops that read serialised examples.
#include "kernels/parsing/family.h"
#include "kernels/sparse/sparse_shapes.h"

namespace weir {
namespace {

using op_shapes::kUnknown;
using sparse_shapes::WithRanks;

// Sets outputs one after another.
class Outputs {
 public:
  explicit Outputs(InferenceContext& c) : c_(c) {}

  void Put(size_t count, const PartialTensorShape& shape) {
    for (size_t i = 0; i < count; ++i) Set(shape);
  }
  void PutSparse(size_t count, int64_t rank) {
    Put(count, c_.Matrix(kUnknown, rank));
    Put(count, c_.Vector(kUnknown));
    Put(count, c_.Vector(rank));
  }
  // Each behind `prefix`.
  void PutDense(const std::vector<PartialTensorShape>& shapes, const PartialTensorShape& prefix) {
    for (const PartialTensorShape& shape : shapes) Set(c_.Concatenate(prefix, shape));
  }

 private:
  // Attributes may contradict each other: the kernel refuses them.
  void Set(const PartialTensorShape& shape) {
    if (next_ < c_.num_outputs()) c_.set_output(next_++, shape);
  }

  InferenceContext& c_;
  int next_ = 0;
};

absl::StatusOr<size_t> Count(const InferenceContext& c, const char* types) {
  DataTypeVector values;
  RETURN_IF_ERROR(c.GetAttr(types, &values));
  return values.size();
}

// One more than there are records in a batch.
int64_t SplitsOf(const PartialTensorShape& serialized) {
  return serialized.dims() == 1 && serialized.dim_size(0) >= 0 ? serialized.dim_size(0) + 1 : kUnknown;
}

// Ranks of sparse features: one more than those of a single record. -1 where it is not known which it is.
int64_t SparseRank(const PartialTensorShape& serialized, int64_t single) {
  return serialized.unknown_rank() ? kUnknown : serialized.dims() + single;
}

absl::Status ParseExampleShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialTensorShape serialized, c.WithRank(c.input(0), 1));
  std::vector<PartialTensorShape> shapes;
  RETURN_IF_ERROR(c.GetAttr("dense_shapes", &shapes));
  ASSIGN_OR_RETURN(const size_t sparse, Count(c, "sparse_types"));
  Outputs outputs(c);
  outputs.PutSparse(sparse, 2);
  outputs.PutDense(shapes, serialized);
  return absl::OkStatus();
}

absl::Status ParseExampleV2Shape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialTensorShape serialized, c.WithRankAtMost(c.input(0), 1));
  RETURN_IF_ERROR(WithRanks(c, {-1, -1, 1, 1, 1}));
  std::vector<PartialTensorShape> shapes;
  RETURN_IF_ERROR(c.GetAttr("dense_shapes", &shapes));
  ASSIGN_OR_RETURN(const size_t sparse, Count(c, "sparse_types"));
  ASSIGN_OR_RETURN(const size_t ragged, Count(c, "ragged_value_types"));
  Outputs outputs(c);
  outputs.PutSparse(sparse, SparseRank(serialized, 1));
  outputs.PutDense(shapes, serialized);
  outputs.Put(ragged, c.Vector(kUnknown));
  outputs.Put(ragged, c.Vector(SplitsOf(serialized)));
  return absl::OkStatus();
}

absl::Status ParseSingleExampleShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {0}));
  std::vector<PartialTensorShape> shapes;
  RETURN_IF_ERROR(c.GetAttr("dense_shapes", &shapes));
  ASSIGN_OR_RETURN(const size_t sparse, Count(c, "sparse_types"));
  Outputs outputs(c);
  outputs.PutSparse(sparse, 1);
  outputs.PutDense(shapes, c.Scalar());
  return absl::OkStatus();
}

// The three ops on sequence examples differ in whether records are batched and whether there are ragged features.
absl::Status SequenceShape(InferenceContext& c, const PartialTensorShape& serialized, bool has_ragged,
                           bool has_lengths) {
  std::vector<PartialTensorShape> context_shapes, list_shapes;
  RETURN_IF_ERROR(c.GetAttr("context_dense_shapes", &context_shapes));
  RETURN_IF_ERROR(c.GetAttr("feature_list_dense_shapes", &list_shapes));
  ASSIGN_OR_RETURN(const size_t context_sparse, Count(c, "context_sparse_types"));
  ASSIGN_OR_RETURN(const size_t list_sparse, Count(c, "feature_list_sparse_types"));
  Outputs outputs(c);
  outputs.PutSparse(context_sparse, SparseRank(serialized, 1));
  outputs.PutDense(context_shapes, serialized);
  size_t context_ragged = 0, list_ragged = 0;
  if (has_ragged) {
    ASSIGN_OR_RETURN(context_ragged, Count(c, "context_ragged_value_types"));
    ASSIGN_OR_RETURN(list_ragged, Count(c, "feature_list_ragged_value_types"));
  }
  const PartialTensorShape splits = serialized.dims() == 1 ? c.Vector(SplitsOf(serialized)) : PartialTensorShape();
  outputs.Put(context_ragged, c.Vector(kUnknown));
  outputs.Put(context_ragged, splits);
  outputs.PutSparse(list_sparse, SparseRank(serialized, 2));
  outputs.PutDense(list_shapes, c.Concatenate(serialized, c.Vector(kUnknown)));
  if (has_lengths) outputs.Put(list_shapes.size(), serialized);
  outputs.Put(list_ragged, c.Vector(kUnknown));
  outputs.Put(list_ragged, splits);
  outputs.Put(list_ragged, c.Vector(kUnknown));
  return absl::OkStatus();
}

absl::Status ParseSequenceExampleShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialTensorShape serialized, c.WithRankAtMost(c.input(0), 1));
  return SequenceShape(c, serialized, false, true);
}

absl::Status ParseSequenceExampleV2Shape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialTensorShape serialized, c.WithRankAtMost(c.input(0), 1));
  return SequenceShape(c, serialized, true, true);
}

absl::Status ParseSingleSequenceExampleShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {0, 1}));
  return SequenceShape(c, c.Scalar(), false, false);
}

}  // namespace

absl::Status RegisterExampleOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("ParseExample")
                                   .Input("serialized: string")
                                   .Input("names: string")
                                   .Input("sparse_keys: Nsparse * string")
                                   .Input("dense_keys: Ndense * string")
                                   .Input("dense_defaults: Tdense")
                                   .Output("sparse_indices: Nsparse * int64")
                                   .Output("sparse_values: sparse_types")
                                   .Output("sparse_shapes: Nsparse * int64")
                                   .Output("dense_values: Tdense")
                                   .Attr("Nsparse: int >= 0")
                                   .Attr("Ndense: int >= 0")
                                   .Attr("sparse_types: list({float, int64, string}) >= 0")
                                   .Attr("Tdense: list({float, int64, string}) >= 0")
                                   .Attr("dense_shapes: list(shape) >= 0")
                                   .Shape(ParseExampleShape)));
  RETURN_IF_ERROR(ops.Register(Op("ParseExampleV2")
                                   .Input("serialized: string")
                                   .Input("names: string")
                                   .Input("sparse_keys: string")
                                   .Input("dense_keys: string")
                                   .Input("ragged_keys: string")
                                   .Input("dense_defaults: Tdense")
                                   .Output("sparse_indices: num_sparse * int64")
                                   .Output("sparse_values: sparse_types")
                                   .Output("sparse_shapes: num_sparse * int64")
                                   .Output("dense_values: Tdense")
                                   .Output("ragged_values: ragged_value_types")
                                   .Output("ragged_row_splits: ragged_split_types")
                                   .Attr("Tdense: list({float, int64, string}) >= 0")
                                   .Attr("num_sparse: int >= 0")
                                   .Attr("sparse_types: list({float, int64, string}) >= 0")
                                   .Attr("ragged_value_types: list({float, int64, string}) >= 0")
                                   .Attr("ragged_split_types: list({int32, int64}) >= 0")
                                   .Attr("dense_shapes: list(shape) >= 0")
                                   .Shape(ParseExampleV2Shape)));
  RETURN_IF_ERROR(ops.Register(Op("ParseSingleExample")
                                   .Input("serialized: string")
                                   .Input("dense_defaults: Tdense")
                                   .Output("sparse_indices: num_sparse * int64")
                                   .Output("sparse_values: sparse_types")
                                   .Output("sparse_shapes: num_sparse * int64")
                                   .Output("dense_values: Tdense")
                                   .Attr("num_sparse: int >= 0")
                                   .Attr("sparse_keys: list(string) >= 0")
                                   .Attr("dense_keys: list(string) >= 0")
                                   .Attr("sparse_types: list({float, int64, string}) >= 0")
                                   .Attr("Tdense: list({float, int64, string}) >= 0")
                                   .Attr("dense_shapes: list(shape) >= 0")
                                   .Shape(ParseSingleExampleShape)));
  RETURN_IF_ERROR(ops.Register(Op("ParseSequenceExample")
                                   .Input("serialized: string")
                                   .Input("debug_name: string")
                                   .Input("context_dense_defaults: Tcontext_dense")
                                   .Output("context_sparse_indices: Ncontext_sparse * int64")
                                   .Output("context_sparse_values: context_sparse_types")
                                   .Output("context_sparse_shapes: Ncontext_sparse * int64")
                                   .Output("context_dense_values: Tcontext_dense")
                                   .Output("feature_list_sparse_indices: Nfeature_list_sparse * int64")
                                   .Output("feature_list_sparse_values: feature_list_sparse_types")
                                   .Output("feature_list_sparse_shapes: Nfeature_list_sparse * int64")
                                   .Output("feature_list_dense_values: feature_list_dense_types")
                                   .Output("feature_list_dense_lengths: Nfeature_list_dense * int64")
                                   .Attr("feature_list_dense_missing_assumed_empty: list(string) >= 0")
                                   .Attr("context_sparse_keys: list(string) >= 0")
                                   .Attr("context_dense_keys: list(string) >= 0")
                                   .Attr("feature_list_sparse_keys: list(string) >= 0")
                                   .Attr("feature_list_dense_keys: list(string) >= 0")
                                   .Attr("Ncontext_sparse: int >= 0 = 0")
                                   .Attr("Ncontext_dense: int >= 0 = 0")
                                   .Attr("Nfeature_list_sparse: int >= 0 = 0")
                                   .Attr("Nfeature_list_dense: int >= 0 = 0")
                                   .Attr("context_sparse_types: list({float, int64, string}) >= 0 = []")
                                   .Attr("Tcontext_dense: list({float, int64, string}) >= 0 = []")
                                   .Attr("feature_list_dense_types: list({float, int64, string}) >= 0 = []")
                                   .Attr("context_dense_shapes: list(shape) >= 0 = []")
                                   .Attr("feature_list_sparse_types: list({float, int64, string}) >= 0 = []")
                                   .Attr("feature_list_dense_shapes: list(shape) >= 0 = []")
                                   .Shape(ParseSequenceExampleShape)));
  RETURN_IF_ERROR(ops.Register(Op("ParseSequenceExampleV2")
                                   .Input("serialized: string")
                                   .Input("debug_name: string")
                                   .Input("context_sparse_keys: string")
                                   .Input("context_dense_keys: string")
                                   .Input("context_ragged_keys: string")
                                   .Input("feature_list_sparse_keys: string")
                                   .Input("feature_list_dense_keys: string")
                                   .Input("feature_list_ragged_keys: string")
                                   .Input("feature_list_dense_missing_assumed_empty: bool")
                                   .Input("context_dense_defaults: Tcontext_dense")
                                   .Output("context_sparse_indices: Ncontext_sparse * int64")
                                   .Output("context_sparse_values: context_sparse_types")
                                   .Output("context_sparse_shapes: Ncontext_sparse * int64")
                                   .Output("context_dense_values: Tcontext_dense")
                                   .Output("context_ragged_values: context_ragged_value_types")
                                   .Output("context_ragged_row_splits: context_ragged_split_types")
                                   .Output("feature_list_sparse_indices: Nfeature_list_sparse * int64")
                                   .Output("feature_list_sparse_values: feature_list_sparse_types")
                                   .Output("feature_list_sparse_shapes: Nfeature_list_sparse * int64")
                                   .Output("feature_list_dense_values: feature_list_dense_types")
                                   .Output("feature_list_dense_lengths: Nfeature_list_dense * int64")
                                   .Output("feature_list_ragged_values: feature_list_ragged_value_types")
                                   .Output("feature_list_ragged_outer_splits: feature_list_ragged_split_types")
                                   .Output("feature_list_ragged_inner_splits: feature_list_ragged_split_types")
                                   .Attr("Ncontext_sparse: int >= 0 = 0")
                                   .Attr("Tcontext_dense: list({float, int64, string}) >= 0 = []")
                                   .Attr("context_sparse_types: list({float, int64, string}) >= 0 = []")
                                   .Attr("context_ragged_value_types: list({float, int64, string}) >= 0 = []")
                                   .Attr("context_ragged_split_types: list({int32, int64}) >= 0 = []")
                                   .Attr("context_dense_shapes: list(shape) >= 0 = []")
                                   .Attr("Nfeature_list_sparse: int >= 0 = 0")
                                   .Attr("Nfeature_list_dense: int >= 0 = 0")
                                   .Attr("feature_list_dense_types: list({float, int64, string}) >= 0 = []")
                                   .Attr("feature_list_sparse_types: list({float, int64, string}) >= 0 = []")
                                   .Attr("feature_list_ragged_value_types: list({float, int64, string}) >= 0 = []")
                                   .Attr("feature_list_ragged_split_types: list({int32, int64}) >= 0 = []")
                                   .Attr("feature_list_dense_shapes: list(shape) >= 0 = []")
                                   .Shape(ParseSequenceExampleV2Shape)));
  return ops.Register(Op("ParseSingleSequenceExample")
                          .Input("serialized: string")
                          .Input("feature_list_dense_missing_assumed_empty: string")
                          .Input("context_sparse_keys: Ncontext_sparse * string")
                          .Input("context_dense_keys: Ncontext_dense * string")
                          .Input("feature_list_sparse_keys: Nfeature_list_sparse * string")
                          .Input("feature_list_dense_keys: Nfeature_list_dense * string")
                          .Input("context_dense_defaults: Tcontext_dense")
                          .Input("debug_name: string")
                          .Output("context_sparse_indices: Ncontext_sparse * int64")
                          .Output("context_sparse_values: context_sparse_types")
                          .Output("context_sparse_shapes: Ncontext_sparse * int64")
                          .Output("context_dense_values: Tcontext_dense")
                          .Output("feature_list_sparse_indices: Nfeature_list_sparse * int64")
                          .Output("feature_list_sparse_values: feature_list_sparse_types")
                          .Output("feature_list_sparse_shapes: Nfeature_list_sparse * int64")
                          .Output("feature_list_dense_values: feature_list_dense_types")
                          .Attr("Ncontext_sparse: int >= 0 = 0")
                          .Attr("Ncontext_dense: int >= 0 = 0")
                          .Attr("Nfeature_list_sparse: int >= 0 = 0")
                          .Attr("Nfeature_list_dense: int >= 0 = 0")
                          .Attr("context_sparse_types: list({float, int64, string}) >= 0 = []")
                          .Attr("Tcontext_dense: list({float, int64, string}) >= 0 = []")
                          .Attr("feature_list_dense_types: list({float, int64, string}) >= 0 = []")
                          .Attr("context_dense_shapes: list(shape) >= 0 = []")
                          .Attr("feature_list_sparse_types: list({float, int64, string}) >= 0 = []")
                          .Attr("feature_list_dense_shapes: list(shape) >= 0 = []")
                          .Shape(ParseSingleSequenceExampleShape));
}

}  // namespace weir
