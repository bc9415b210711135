// Ops that rearrange, repeat and pad elements.
#include "kernels/array/family.h"
#include "kernels/device/op_shapes.h"

namespace weir {
namespace {

using op_shapes::AddDims;
using op_shapes::ConstantVector;
using op_shapes::Dims;
using op_shapes::kUnknown;
using op_shapes::SetOutput;

// One length per batch entry. The kernel rejects an axis that is out of range.
absl::Status ReverseSequenceShape(InferenceContext& c) {
  const PartialTensorShape& input = c.input(0);
  ASSIGN_OR_RETURN(PartialTensorShape lengths, c.WithRank(c.input(1), 1));
  int64_t batch;
  RETURN_IF_ERROR(c.GetAttr("batch_dim", &batch));
  c.set_output(0, input);
  if (input.unknown_rank() || batch < 0 || batch >= input.dims()) return absl::OkStatus();
  DimVector dims = Dims(input);
  ASSIGN_OR_RETURN(dims[batch], c.MergeDim(dims[batch], c.Dim(lengths, 0)));
  return SetOutput(c, 0, dims);
}

absl::Status TransposeShape(InferenceContext& c) {
  const PartialTensorShape& input = c.input(0);
  const std::optional<std::vector<int64_t>> perm = ConstantVector(c, 1);
  ASSIGN_OR_RETURN(PartialTensorShape perm_shape, c.WithRank(c.input(1), 1));
  const int64_t length = perm ? static_cast<int64_t>(perm->size()) : c.Dim(perm_shape, 0);
  if (!input.unknown_rank() && length != kUnknown && length != input.dims()) {
    return errors::InvalidArgument("Dimension must be ", length, " but is ", input.dims());
  }
  const int64_t rank = input.unknown_rank() ? length : input.dims();
  if (rank < 0 || rank > kMaxRank) return absl::OkStatus();
  if (!perm || input.unknown_rank()) {
    c.set_output(0, rank <= 1 && !input.unknown_rank() ? input : c.UnknownOfRank(static_cast<int>(rank)));
    return absl::OkStatus();
  }
  DimVector dims(rank);
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t from = (*perm)[i];
    if (from < -rank || from >= rank) {
      return errors::InvalidArgument("perm dim ", from, " is out of range of input rank ", rank);
    }
    dims[i] = input.dim_size(static_cast<int>(from < 0 ? from + rank : from));
  }
  return SetOutput(c, 0, dims);
}

absl::Status InvertPermutationShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape x, c.WithRank(c.input(0), 1));
  c.set_output(0, std::move(x));
  return absl::OkStatus();
}

absl::Status TileShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape multiples, c.InputAsShape(1));
  const PartialTensorShape& input = c.input(0);
  if (input.unknown_rank() || multiples.unknown_rank()) {
    if (!input.unknown_rank()) c.set_output(0, c.UnknownOfRank(input.dims()));
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(c.WithRank(input, multiples.dims()).status());
  DimVector dims = Dims(input);
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t times = multiples.dim_size(static_cast<int>(i));
    if (dims[i] == 0 || times == 0) {
      dims[i] = 0;
    } else if (dims[i] == kUnknown || times == kUnknown) {
      dims[i] = kUnknown;
    } else if ((dims[i] = MultiplyWithoutOverflow(dims[i], times)) < 0) {
      return errors::InvalidArgument("Tile multiple ", times, " makes dimension ", i, " too large");
    }
  }
  return SetOutput(c, 0, dims);
}

// paddings is [rank, 2]; `sign` is -1 where the op takes the padding away.
absl::Status PaddedShape(InferenceContext& c, int sign) {
  ASSIGN_OR_RETURN(PartialTensorShape paddings, c.WithRank(c.input(1), 2));
  RETURN_IF_ERROR(c.MergeDim(c.Dim(paddings, 1), 2).status());
  const PartialTensorShape& input = c.input(0);
  const int64_t rank = input.unknown_rank() ? c.Dim(paddings, 0) : input.dims();
  if (rank < 0 || rank > kMaxRank) return absl::OkStatus();
  RETURN_IF_ERROR(c.MergeDim(c.Dim(paddings, 0), rank).status());
  const std::optional<std::vector<int64_t>> values = ConstantVector(c, 1);
  if (!values || input.unknown_rank()) {
    c.set_output(0, c.UnknownOfRank(static_cast<int>(rank)));
    return absl::OkStatus();
  }
  DimVector dims = Dims(input);
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t before = (*values)[2 * i], after = (*values)[2 * i + 1];
    if (before < 0 || after < 0) return errors::InvalidArgument("Paddings must be non-negative: ", before, ", ", after);
    ASSIGN_OR_RETURN(const int64_t padding, AddDims(before, after));
    if (dims[i] != kUnknown && sign < 0 && padding > dims[i]) {
      return errors::InvalidArgument("Paddings take more than dimension ", i, " holds: ", padding, " of ", dims[i]);
    }
    ASSIGN_OR_RETURN(dims[i], sign > 0 ? AddDims(dims[i], padding)
                                       : absl::StatusOr<int64_t>(dims[i] == kUnknown ? kUnknown : dims[i] - padding));
  }
  return SetOutput(c, 0, dims);
}
absl::Status PadShape(InferenceContext& c) { return PaddedShape(c, 1); }
absl::Status MirrorPadGradShape(InferenceContext& c) { return PaddedShape(c, -1); }

}  // namespace

absl::Status RegisterMovingOps(OpRegistry& ops) {
  for (const char* name : {"Transpose", "ConjugateTranspose"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("x: T")
                                     .Input("perm: Tperm")
                                     .Output("y: T")
                                     .Attr("T: type")
                                     .Attr("Tperm: {int32, int64} = DT_INT32")
                                     .Shape(TransposeShape)));
  }
  RETURN_IF_ERROR(ops.Register(Op("InvertPermutation")
                                   .Input("x: T")
                                   .Output("y: T")
                                   .Attr("T: {int32, int64} = DT_INT32")
                                   .Shape(InvertPermutationShape)));
  RETURN_IF_ERROR(ops.Register(
      Op("Reverse")
          .Input("tensor: T")
          .Input("dims: bool")
          .Output("output: T")
          .Attr("T: {uint8, int8, uint16, int16, uint32, int32, uint64, int64, bool, bfloat16, half, float, double, "
                "complex64, complex128, string}")
          .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(
      Op("ReverseV2")
          .Input("tensor: T")
          .Input("axis: Tidx")
          .Output("output: T")
          .Attr("Tidx: {int32, int64} = DT_INT32")
          .Attr("T: {uint8, int8, uint16, int16, int32, uint32, int64, uint64, bool, bfloat16, half, float, double, "
                "complex64, complex128, string}")
          .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("ReverseSequence")
                                   .Input("input: T")
                                   .Input("seq_lengths: Tlen")
                                   .Output("output: T")
                                   .Attr("seq_dim: int")
                                   .Attr("batch_dim: int = 0")
                                   .Attr("T: type")
                                   .Attr("Tlen: {int32, int64} = DT_INT64")
                                   .Shape(ReverseSequenceShape)));
  RETURN_IF_ERROR(ops.Register(Op("Roll")
                                   .Input("input: T")
                                   .Input("shift: Tshift")
                                   .Input("axis: Taxis")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Attr("Tshift: {int32, int64}")
                                   .Attr("Taxis: {int32, int64}")
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("Tile")
                                   .Input("input: T")
                                   .Input("multiples: Tmultiples")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Attr("Tmultiples: {int32, int64} = DT_INT32")
                                   .Shape(TileShape)));
  RETURN_IF_ERROR(ops.Register(Op("Pad")
                                   .Input("input: T")
                                   .Input("paddings: Tpaddings")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Attr("Tpaddings: {int32, int64} = DT_INT32")
                                   .Shape(PadShape)));
  RETURN_IF_ERROR(ops.Register(Op("PadV2")
                                   .Input("input: T")
                                   .Input("paddings: Tpaddings")
                                   .Input("constant_values: T")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Attr("Tpaddings: {int32, int64} = DT_INT32")
                                   .Shape(PadShape)));
  RETURN_IF_ERROR(ops.Register(Op("MirrorPad")
                                   .Input("input: T")
                                   .Input("paddings: Tpaddings")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Attr("Tpaddings: {int32, int64} = DT_INT32")
                                   .Attr("mode: {'REFLECT', 'SYMMETRIC'}")
                                   .Shape(PadShape)));
  RETURN_IF_ERROR(ops.Register(Op("MirrorPadGrad")
                                   .Input("input: T")
                                   .Input("paddings: Tpaddings")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Attr("Tpaddings: {int32, int64} = DT_INT32")
                                   .Attr("mode: {'REFLECT', 'SYMMETRIC'}")
                                   .Shape(MirrorPadGradShape)));
  return absl::OkStatus();
}

}  // namespace weir
