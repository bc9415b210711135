// Formatting, splitting, joining, hashing and n-grams of strings.
#include "graph/shapes/common_shapes.h"
#include "kernels/sparse/sparse_shapes.h"
#include "kernels/strings/family.h"

namespace weir {
namespace {

using op_shapes::kUnknown;
using sparse_shapes::SetSparse;
using sparse_shapes::WithRanks;

absl::Status StringFormatShape(InferenceContext& c) {
  std::string pattern, placeholder;
  RETURN_IF_ERROR(c.GetAttr("template", &pattern));
  RETURN_IF_ERROR(c.GetAttr("placeholder", &placeholder));
  int places = 0;
  for (size_t at = 0; !placeholder.empty() && (at = pattern.find(placeholder, at)) != std::string::npos;
       at += placeholder.size()) {
    ++places;
  }
  if (!placeholder.empty() && places != c.num_inputs()) {
    return errors::InvalidArgument("num placeholders in template and num inputs must match: ", places, " vs. ",
                                   c.num_inputs());
  }
  c.set_output(0, c.Scalar());
  return absl::OkStatus();
}

absl::Status StringSplitShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {1, 0}));
  SetSparse(c, 0, 2);
  return absl::OkStatus();
}

absl::Status SubstrShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialTensorShape pos, c.Merge(c.input(1), c.input(2)));
  ASSIGN_OR_RETURN(PartialTensorShape shape, shapes::Broadcast(c.input(0), pos));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

absl::Status StringNGramsShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {1, 1}));
  c.set_output(0, c.Vector(kUnknown));
  c.set_output(1, c.input(1));
  return absl::OkStatus();
}

absl::Status FingerprintShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {-1, 0}));
  ASSIGN_OR_RETURN(const PartialTensorShape data, c.WithRankAtLeast(c.input(0), 1));
  c.set_output(0, c.Matrix(c.Dim(data, 0), kUnknown));
  return absl::OkStatus();
}

absl::Status UnsortedSegmentJoinShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const int64_t segments, c.InputAsScalar(2));
  const PartialTensorShape &input = c.input(0), &ids = c.input(1);
  if (input.unknown_rank() || ids.unknown_rank()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const PartialTensorShape start, c.Subshape(input, 0, ids.dims()));
  RETURN_IF_ERROR(c.Merge(start, ids).status());
  ASSIGN_OR_RETURN(const PartialTensorShape row, c.Subshape(input, ids.dims()));
  c.set_output(0, c.Concatenate(c.Vector(segments), row));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterStringPartOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("StringFormat")
                                   .Input("inputs: T")
                                   .Output("output: string")
                                   .Attr("T: list(type) >= 0")
                                   .Attr("template: string = '%s'")
                                   .Attr("placeholder: string = '%s'")
                                   .Attr("summarize: int = 3")
                                   .Shape(StringFormatShape)));
  RETURN_IF_ERROR(ops.Register(Op("StringSplit")
                                   .Input("input: string")
                                   .Input("delimiter: string")
                                   .Output("indices: int64")
                                   .Output("values: string")
                                   .Output("shape: int64")
                                   .Attr("skip_empty: bool = true")
                                   .Shape(StringSplitShape)));
  RETURN_IF_ERROR(ops.Register(Op("StringSplitV2")
                                   .Input("input: string")
                                   .Input("sep: string")
                                   .Output("indices: int64")
                                   .Output("values: string")
                                   .Output("shape: int64")
                                   .Attr("maxsplit: int = -1")
                                   .Shape(StringSplitShape)));
  RETURN_IF_ERROR(ops.Register(Op("Substr")
                                   .Input("input: string")
                                   .Input("pos: T")
                                   .Input("len: T")
                                   .Output("output: string")
                                   .Attr("T: {int32, int64}")
                                   .Attr("unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'")
                                   .Shape(SubstrShape)));
  RETURN_IF_ERROR(ops.Register(Op("StringToHashBucket")
                                   .Input("string_tensor: string")
                                   .Output("output: int64")
                                   .Attr("num_buckets: int >= 1")
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("StringToHashBucketFast")
                                   .Input("input: string")
                                   .Output("output: int64")
                                   .Attr("num_buckets: int >= 1")
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("StringToHashBucketStrong")
                                   .Input("input: string")
                                   .Output("output: int64")
                                   .Attr("num_buckets: int >= 1")
                                   .Attr("key: list(int)")
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("Fingerprint")
                                   .Input("data: T")
                                   .Input("method: string")
                                   .Output("fingerprint: uint8")
                                   .Attr("T: type")
                                   .Shape(FingerprintShape)));
  RETURN_IF_ERROR(ops.Register(Op("StringNGrams")
                                   .Input("data: string")
                                   .Input("data_splits: Tsplits")
                                   .Output("ngrams: string")
                                   .Output("ngrams_splits: Tsplits")
                                   .Attr("separator: string")
                                   .Attr("ngram_widths: list(int) >= 0")
                                   .Attr("left_pad: string")
                                   .Attr("right_pad: string")
                                   .Attr("pad_width: int")
                                   .Attr("preserve_short_sequences: bool")
                                   .Attr("Tsplits: {int32, int64} = DT_INT64")
                                   .Shape(StringNGramsShape)));
  RETURN_IF_ERROR(ops.Register(Op("ReduceJoin")
                                   .Input("inputs: string")
                                   .Input("reduction_indices: int32")
                                   .Output("output: string")
                                   .Attr("keep_dims: bool = false")
                                   .Attr("separator: string = ''")
                                   .Shape(shapes::Reduction)));
  RETURN_IF_ERROR(ops.Register(Op("UnsortedSegmentJoin")
                                   .Input("inputs: string")
                                   .Input("segment_ids: Tindices")
                                   .Input("num_segments: Tnumsegments")
                                   .Output("output: string")
                                   .Attr("separator: string = ''")
                                   .Attr("Tindices: {int32, int64}")
                                   .Attr("Tnumsegments: {int32, int64} = DT_INT32")
                                   .Shape(UnsortedSegmentJoinShape)));
  return absl::OkStatus();
}

}  // namespace weir
