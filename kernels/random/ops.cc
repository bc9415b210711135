// Random numbers: stateful ops draw from a generator of their own, stateless ones from the seed that they are given.
#include "kernels/device/op_shapes.h"
#include "kernels/random/family.h"

namespace weir {
namespace {

using op_shapes::ConstantScalar;
using op_shapes::kUnknown;

absl::Status RandomShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape output, c.InputAsShape(0));
  c.set_output(0, std::move(output));
  return absl::OkStatus();
}

absl::Status StatelessShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape seed, c.WithRank(c.input(1), 1));
  RETURN_IF_ERROR(c.MergeDim(c.Dim(seed, 0), 2).status());
  return RandomShape(c);
}

absl::Status StatelessV2Shape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(1), 1).status());
  RETURN_IF_ERROR(c.WithRank(c.input(2), 1).status());
  RETURN_IF_ERROR(c.WithRank(c.input(3), 0).status());
  return RandomShape(c);
}

absl::Status KeyCounterShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape seed, c.WithRank(c.input(0), 1));
  RETURN_IF_ERROR(c.MergeDim(c.Dim(seed, 0), 2).status());
  c.set_output(0, c.Vector(1));
  c.set_output(1, c.Vector(2));
  if (c.num_outputs() > 2) c.set_output(2, c.Scalar());
  return absl::OkStatus();
}

absl::Status MultinomialShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape logits, c.WithRank(c.input(0), 2));
  ASSIGN_OR_RETURN(const std::optional<int64_t> samples, ConstantScalar(c, 1));
  if (samples && *samples < 0) return errors::InvalidArgument("num_samples should be non-negative, got ", *samples);
  c.set_output(0, c.Matrix(c.Dim(logits, 0), samples.value_or(kUnknown)));
  return absl::OkStatus();
}

absl::Status StatelessMultinomialShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape seed, c.WithRank(c.input(2), 1));
  RETURN_IF_ERROR(c.MergeDim(c.Dim(seed, 0), 2).status());
  return MultinomialShape(c);
}

}  // namespace

absl::Status RegisterRandomOps(OpRegistry& ops) {
  for (const char* name : {"RandomUniform", "RandomStandardNormal", "TruncatedNormal"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("shape: T")
                                     .Output("output: dtype")
                                     .Attr("seed: int = 0")
                                     .Attr("seed2: int = 0")
                                     .Attr("dtype: {half, bfloat16, float, double}")
                                     .Attr("T: {int32, int64}")
                                     .Stateful()
                                     .Shape(RandomShape)));
  }
  RETURN_IF_ERROR(ops.Register(Op("RandomUniformInt")
                                   .Input("shape: T")
                                   .Input("minval: Tout")
                                   .Input("maxval: Tout")
                                   .Output("output: Tout")
                                   .Attr("seed: int = 0")
                                   .Attr("seed2: int = 0")
                                   .Attr("Tout: {int32, int64}")
                                   .Attr("T: {int32, int64}")
                                   .Stateful()
                                   .Shape(RandomShape)));
  RETURN_IF_ERROR(ops.Register(Op("RandomShuffle")
                                   .Input("value: T")
                                   .Output("output: T")
                                   .Attr("seed: int = 0")
                                   .Attr("seed2: int = 0")
                                   .Attr("T: type")
                                   .Stateful()
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("Multinomial")
                                   .Input("logits: T")
                                   .Input("num_samples: int32")
                                   .Output("output: output_dtype")
                                   .Attr("seed: int = 0")
                                   .Attr("seed2: int = 0")
                                   .Attr("T: realnumbertype")
                                   .Attr("output_dtype: {int32, int64} = DT_INT64")
                                   .Stateful()
                                   .Shape(MultinomialShape)));
  RETURN_IF_ERROR(ops.Register(Op("StatelessMultinomial")
                                   .Input("logits: T")
                                   .Input("num_samples: int32")
                                   .Input("seed: Tseed")
                                   .Output("output: output_dtype")
                                   .Attr("T: realnumbertype")
                                   .Attr("Tseed: {int32, int64} = DT_INT64")
                                   .Attr("output_dtype: {int32, int64} = DT_INT64")
                                   .Shape(StatelessMultinomialShape)));
  for (const char* name : {"StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("shape: T")
                                     .Input("seed: Tseed")
                                     .Output("output: dtype")
                                     .Attr("dtype: {half, bfloat16, float, double} = DT_FLOAT")
                                     .Attr("T: {int32, int64} = DT_INT32")
                                     .Attr("Tseed: {int32, int64} = DT_INT64")
                                     .Shape(StatelessShape)));
  }
  RETURN_IF_ERROR(ops.Register(Op("StatelessRandomUniformInt")
                                   .Input("shape: T")
                                   .Input("seed: Tseed")
                                   .Input("minval: dtype")
                                   .Input("maxval: dtype")
                                   .Output("output: dtype")
                                   .Attr("dtype: {int32, int64}")
                                   .Attr("T: {int32, int64}")
                                   .Attr("Tseed: {int32, int64} = DT_INT64")
                                   .Shape(StatelessShape)));
  RETURN_IF_ERROR(ops.Register(Op("StatelessRandomUniformFullInt")
                                   .Input("shape: T")
                                   .Input("seed: Tseed")
                                   .Output("output: dtype")
                                   .Attr("dtype: {int32, int64, uint32, uint64} = DT_UINT64")
                                   .Attr("T: {int32, int64} = DT_INT32")
                                   .Attr("Tseed: {int32, int64, uint32, uint64} = DT_INT64")
                                   .Shape(StatelessShape)));
  for (const char* name : {"StatelessRandomUniformV2", "StatelessRandomNormalV2", "StatelessTruncatedNormalV2"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("shape: Tshape")
                                     .Input("key: uint64")
                                     .Input("counter: uint64")
                                     .Input("alg: int32")
                                     .Output("output: dtype")
                                     .Attr("dtype: {half, bfloat16, float, double} = DT_FLOAT")
                                     .Attr("Tshape: {int32, int64} = DT_INT32")
                                     .Shape(StatelessV2Shape)));
  }
  RETURN_IF_ERROR(ops.Register(Op("StatelessRandomUniformIntV2")
                                   .Input("shape: Tshape")
                                   .Input("key: uint64")
                                   .Input("counter: uint64")
                                   .Input("alg: int32")
                                   .Input("minval: dtype")
                                   .Input("maxval: dtype")
                                   .Output("output: dtype")
                                   .Attr("dtype: {int32, int64, uint32, uint64}")
                                   .Attr("Tshape: {int32, int64} = DT_INT32")
                                   .Shape(StatelessV2Shape)));
  RETURN_IF_ERROR(ops.Register(Op("StatelessRandomUniformFullIntV2")
                                   .Input("shape: Tshape")
                                   .Input("key: uint64")
                                   .Input("counter: uint64")
                                   .Input("alg: int32")
                                   .Output("output: dtype")
                                   .Attr("dtype: {int32, int64, uint32, uint64} = DT_UINT64")
                                   .Attr("Tshape: {int32, int64} = DT_INT32")
                                   .Shape(StatelessV2Shape)));
  RETURN_IF_ERROR(ops.Register(Op("StatelessRandomGetKeyCounter")
                                   .Input("seed: Tseed")
                                   .Output("key: uint64")
                                   .Output("counter: uint64")
                                   .Attr("Tseed: {int32, int64} = DT_INT64")
                                   .Shape(KeyCounterShape)));
  RETURN_IF_ERROR(ops.Register(Op("StatelessRandomGetKeyCounterAlg")
                                   .Input("seed: Tseed")
                                   .Output("key: uint64")
                                   .Output("counter: uint64")
                                   .Output("alg: int32")
                                   .Attr("Tseed: {int32, int64} = DT_INT64")
                                   .Shape(KeyCounterShape)));
  RETURN_IF_ERROR(ops.Register(Op("StatelessRandomGetAlg").Output("alg: int32").Stateful().Shape(shapes::Scalar)));
  return absl::OkStatus();
}

}  // namespace weir
