// Samplers of candidate classes.
#include "kernels/candidate_sampling/family.h"
#include "kernels/device/op_shapes.h"

namespace weir {
namespace {

absl::Status SamplerShape(InferenceContext& c) {
  int64_t sampled, true_classes;
  RETURN_IF_ERROR(c.GetAttr("num_sampled", &sampled));
  RETURN_IF_ERROR(c.GetAttr("num_true", &true_classes));
  ASSIGN_OR_RETURN(PartialTensorShape classes, c.WithRank(c.input(0), 2));
  c.set_output(0, c.Vector(sampled));
  c.set_output(1, c.Matrix(c.Dim(classes, 0), true_classes));
  c.set_output(2, c.Vector(sampled));
  return absl::OkStatus();
}

absl::Status AccidentalHitsShape(InferenceContext& c) {
  int64_t true_classes;
  RETURN_IF_ERROR(c.GetAttr("num_true", &true_classes));
  ASSIGN_OR_RETURN(PartialTensorShape classes, c.WithRank(c.input(0), 2));
  RETURN_IF_ERROR(c.MergeDim(c.Dim(classes, 1), true_classes).status());
  for (int i = 0; i < 3; ++i) c.set_output(i, c.Vector(op_shapes::kUnknown));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterCandidateSamplerOps(OpRegistry& ops) {
  for (const char* name : {"UniformCandidateSampler", "LogUniformCandidateSampler", "LearnedUnigramCandidateSampler",
                           "ThreadUnsafeUnigramCandidateSampler"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("true_classes: int64")
                                     .Output("sampled_candidates: int64")
                                     .Output("true_expected_count: float")
                                     .Output("sampled_expected_count: float")
                                     .Attr("num_true: int >= 1")
                                     .Attr("num_sampled: int >= 1")
                                     .Attr("unique: bool")
                                     .Attr("range_max: int >= 1")
                                     .Attr("seed: int = 0")
                                     .Attr("seed2: int = 0")
                                     .Stateful()
                                     .Shape(SamplerShape)));
  }
  RETURN_IF_ERROR(ops.Register(Op("FixedUnigramCandidateSampler")
                                   .Input("true_classes: int64")
                                   .Output("sampled_candidates: int64")
                                   .Output("true_expected_count: float")
                                   .Output("sampled_expected_count: float")
                                   .Attr("num_true: int >= 1")
                                   .Attr("num_sampled: int >= 1")
                                   .Attr("unique: bool")
                                   .Attr("range_max: int >= 1")
                                   .Attr("vocab_file: string = ''")
                                   .Attr("distortion: float = 1.0")
                                   .Attr("num_reserved_ids: int = 0")
                                   .Attr("num_shards: int >= 1 = 1")
                                   .Attr("shard: int >= 0 = 0")
                                   .Attr("unigrams: list(float) = []")
                                   .Attr("seed: int = 0")
                                   .Attr("seed2: int = 0")
                                   .Stateful()
                                   .Shape(SamplerShape)));
  RETURN_IF_ERROR(ops.Register(Op("AllCandidateSampler")
                                   .Input("true_classes: int64")
                                   .Output("sampled_candidates: int64")
                                   .Output("true_expected_count: float")
                                   .Output("sampled_expected_count: float")
                                   .Attr("num_true: int >= 1")
                                   .Attr("num_sampled: int >= 1")
                                   .Attr("unique: bool")
                                   .Attr("seed: int = 0")
                                   .Attr("seed2: int = 0")
                                   .Stateful()
                                   .Shape(SamplerShape)));
  RETURN_IF_ERROR(ops.Register(Op("ComputeAccidentalHits")
                                   .Input("true_classes: int64")
                                   .Input("sampled_candidates: int64")
                                   .Output("indices: int32")
                                   .Output("ids: int64")
                                   .Output("weights: float")
                                   .Attr("num_true: int")
                                   .Attr("seed: int = 0")
                                   .Attr("seed2: int = 0")
                                   .Shape(AccidentalHitsShape)));
  return absl::OkStatus();
}

}  // namespace weir
