// Random numbers of given distributions, and random orders.
#include "kernels/device/op_shapes.h"
#include "kernels/random/family.h"

namespace weir {
namespace {

absl::Status ShapeInput(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape output, c.InputAsShape(0));
  c.set_output(0, std::move(output));
  return absl::OkStatus();
}

// The shape input, then that of the parameter.
absl::Status SamplesShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape samples, c.InputAsShape(0));
  if (samples.unknown_rank() || c.input(1).unknown_rank()) return absl::OkStatus();
  c.set_output(0, c.Concatenate(samples, c.input(1)));
  return absl::OkStatus();
}

// num_results points of dim numbers.
absl::Status SobolShape(InferenceContext& c) {
  for (int i = 0; i < 3; ++i) RETURN_IF_ERROR(c.WithRank(c.input(i), 0).status());
  int64_t sizes[2] = {op_shapes::kUnknown, op_shapes::kUnknown};
  for (int i = 0; i < 2; ++i) {
    const std::optional<std::vector<int64_t>> value = c.InputAsIntegers(i);
    if (!value.has_value() || value->size() != 1) continue;
    sizes[i] = (*value)[0];
    if (sizes[i] < 0) return errors::InvalidArgument("Dimension ", sizes[i], " must be >= 0");
  }
  c.set_output(0, c.Matrix(sizes[1], sizes[0]));
  return absl::OkStatus();
}

absl::Status StatelessShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape seed, c.WithRank(c.input(1), 1));
  RETURN_IF_ERROR(c.MergeDim(c.Dim(seed, 0), 2).status());
  return ShapeInput(c);
}

absl::Status KeyedShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(1), 1).status());
  RETURN_IF_ERROR(c.WithRank(c.input(2), 1).status());
  RETURN_IF_ERROR(c.WithRank(c.input(3), 0).status());
  return ShapeInput(c);
}

absl::Status StatelessShuffleShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(1), 1).status());
  RETURN_IF_ERROR(c.WithRank(c.input(2), 1).status());
  RETURN_IF_ERROR(c.WithRank(c.input(3), 0).status());
  return shapes::Unchanged(c);
}

// A scalar where everything is, else a vector as long as whatever is one.
absl::Status IndexShuffleShape(InferenceContext& c) {
  const PartialTensorShape& index = c.input(0);
  const PartialTensorShape& seed = c.input(1);
  const PartialTensorShape& greatest = c.input(2);
  if (index.unknown_rank() || seed.unknown_rank() || greatest.unknown_rank()) return absl::OkStatus();
  RETURN_IF_ERROR(c.WithRankAtMost(index, 1).status());
  RETURN_IF_ERROR(c.WithRankAtMost(greatest, 1).status());
  if (seed.dims() != 1 && seed.dims() != 2) return errors::InvalidArgument("seed must have rank 1 or 2");
  RETURN_IF_ERROR(c.MergeDim(c.Dim(seed, -1), 3).status());
  if (index.dims() == 0 && greatest.dims() == 0 && seed.dims() == 1) {
    c.set_output(0, c.Scalar());
    return absl::OkStatus();
  }
  int64_t size = op_shapes::kUnknown;
  for (const auto& [shape, rank] : {std::pair{&index, 1}, std::pair{&greatest, 1}, std::pair{&seed, 2}}) {
    if (shape->dims() == rank) {
      ASSIGN_OR_RETURN(size, c.MergeDim(size, shape->dim_size(0)));
    }
  }
  c.set_output(0, c.Vector(size));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterRandomDistributionOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("RandomGamma")
                                   .Input("shape: S")
                                   .Input("alpha: T")
                                   .Output("output: T")
                                   .Attr("seed: int = 0")
                                   .Attr("seed2: int = 0")
                                   .Attr("S: {int32, int64}")
                                   .Attr("T: {half, float, double}")
                                   .Stateful()
                                   .Shape(SamplesShape)));
  RETURN_IF_ERROR(ops.Register(Op("RandomPoisson")
                                   .Input("shape: S")
                                   .Input("rate: dtype")
                                   .Output("output: dtype")
                                   .Attr("seed: int = 0")
                                   .Attr("seed2: int = 0")
                                   .Attr("S: {int32, int64}")
                                   .Attr("dtype: {half, float, double}")
                                   .Stateful()
                                   .Deprecated(25, "Replaced by RandomPoissonV2")
                                   .Shape(SamplesShape)));
  RETURN_IF_ERROR(ops.Register(Op("RandomPoissonV2")
                                   .Input("shape: S")
                                   .Input("rate: R")
                                   .Output("output: dtype")
                                   .Attr("seed: int = 0")
                                   .Attr("seed2: int = 0")
                                   .Attr("S: {int32, int64}")
                                   .Attr("R: {half, float, double, int32, int64} = DT_DOUBLE")
                                   .Attr("dtype: {half, float, double, int32, int64} = DT_INT64")
                                   .Stateful()
                                   .Shape(SamplesShape)));
  RETURN_IF_ERROR(ops.Register(Op("SobolSample")
                                   .Input("dim: int32")
                                   .Input("num_results: int32")
                                   .Input("skip: int32")
                                   .Output("samples: dtype")
                                   .Attr("dtype: {float, double} = DT_FLOAT")
                                   .Shape(SobolShape)));
  RETURN_IF_ERROR(ops.Register(Op("RandomGammaGrad")
                                   .Input("alpha: T")
                                   .Input("sample: T")
                                   .Output("output: T")
                                   .Attr("T: {float, double}")
                                   .Shape(shapes::BroadcastBinary)));
  RETURN_IF_ERROR(ops.Register(Op("StatelessRandomGammaV2")
                                   .Input("shape: T")
                                   .Input("seed: Tseed")
                                   .Input("alpha: dtype")
                                   .Output("output: dtype")
                                   .Attr("dtype: {half, float, double}")
                                   .Attr("T: {int32, int64}")
                                   .Attr("Tseed: {int32, int64} = DT_INT64")
                                   .Shape(StatelessShape)));
  RETURN_IF_ERROR(ops.Register(Op("StatelessRandomPoisson")
                                   .Input("shape: T")
                                   .Input("seed: Tseed")
                                   .Input("lam: Rtype")
                                   .Output("output: dtype")
                                   .Attr("Rtype: {half, float, double, int32, int64}")
                                   .Attr("dtype: {half, float, double, int32, int64}")
                                   .Attr("T: {int32, int64}")
                                   .Attr("Tseed: {int32, int64} = DT_INT64")
                                   .Shape(StatelessShape)));
  RETURN_IF_ERROR(ops.Register(Op("StatelessRandomBinomial")
                                   .Input("shape: S")
                                   .Input("seed: Tseed")
                                   .Input("counts: T")
                                   .Input("probs: T")
                                   .Output("output: dtype")
                                   .Attr("S: {int32, int64}")
                                   .Attr("Tseed: {int32, int64} = DT_INT64")
                                   .Attr("T: {half, float, double, int32, int64} = DT_DOUBLE")
                                   .Attr("dtype: {half, float, double, int32, int64} = DT_INT64")
                                   .Shape(StatelessShape)));
  RETURN_IF_ERROR(ops.Register(Op("StatelessParameterizedTruncatedNormal")
                                   .Input("shape: S")
                                   .Input("seed: Tseed")
                                   .Input("means: dtype")
                                   .Input("stddevs: dtype")
                                   .Input("minvals: dtype")
                                   .Input("maxvals: dtype")
                                   .Output("output: dtype")
                                   .Attr("S: {int32, int64}")
                                   .Attr("Tseed: {int32, int64} = DT_INT64")
                                   .Attr("dtype: {half, float, double}")
                                   .Shape(StatelessShape)));
  RETURN_IF_ERROR(ops.Register(Op("StatelessRandomGammaV3")
                                   .Input("shape: shape_dtype")
                                   .Input("key: uint64")
                                   .Input("counter: uint64")
                                   .Input("alg: int32")
                                   .Input("alpha: dtype")
                                   .Output("output: dtype")
                                   .Attr("dtype: {half, float, double}")
                                   .Attr("shape_dtype: {int32, int64} = DT_INT32")
                                   .Shape(KeyedShape)));
  RETURN_IF_ERROR(ops.Register(Op("ParameterizedTruncatedNormal")
                                   .Input("shape: T")
                                   .Input("means: dtype")
                                   .Input("stdevs: dtype")
                                   .Input("minvals: dtype")
                                   .Input("maxvals: dtype")
                                   .Output("output: dtype")
                                   .Attr("seed: int = 0")
                                   .Attr("seed2: int = 0")
                                   .Attr("dtype: {half, bfloat16, float, double}")
                                   .Attr("T: {int32, int64}")
                                   .Stateful()
                                   .Shape(ShapeInput)));
  RETURN_IF_ERROR(ops.Register(Op("NonDeterministicInts")
                                   .Input("shape: shape_dtype")
                                   .Output("output: dtype")
                                   .Attr("dtype: type = DT_INT64")
                                   .Attr("shape_dtype: type = DT_INT64")
                                   .Stateful()
                                   .Shape(ShapeInput)));
  RETURN_IF_ERROR(ops.Register(Op("StatelessShuffle")
                                   .Input("value: T")
                                   .Input("key: uint64")
                                   .Input("counter: uint64")
                                   .Input("alg: int32")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Shape(StatelessShuffleShape)));
  RETURN_IF_ERROR(ops.Register(Op("RandomIndexShuffle")
                                   .Input("index: dtype")
                                   .Input("seed: Tseed")
                                   .Input("max_index: dtype")
                                   .Output("output: dtype")
                                   .Attr("rounds: int = 4")
                                   .Attr("dtype: {int32, uint32, int64, uint64}")
                                   .Attr("Tseed: {int32, uint32, int64, uint64}")
                                   .Shape(IndexShuffleShape)));
  return absl::OkStatus();
}

}  // namespace weir
