// Ops that make, reshape, join, split and rearrange tensors.
#include <algorithm>

#include "kernels/array/family.h"
#include "kernels/array/joining/join_shape.h"
#include "kernels/device/op_shapes.h"

namespace weir {
namespace {

using op_shapes::AddDims;
using op_shapes::ConstantScalar;
using op_shapes::ConstantVector;
using op_shapes::Dims;
using op_shapes::FrontAxis;
using op_shapes::JoinShape;
using op_shapes::kUnknown;
using op_shapes::SetOutput;

absl::Status ShapeShape(InferenceContext& c) {
  c.set_output(0, c.Vector(c.input(0).dims()));
  return absl::OkStatus();
}

absl::Status ShapeNShape(InferenceContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) c.set_output(i, c.Vector(c.input(i).dims()));
  return absl::OkStatus();
}

// There is a length for each part of the batch. An axis out of range is the kernel's to refuse.
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

// One dimension that is -1, or not known, is what the others leave over.
absl::Status ReshapeShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape wanted, c.InputAsShape(1));
  if (wanted.unknown_rank()) return absl::OkStatus();
  DimVector dims = Dims(wanted);
  const PartialTensorShape& input = c.input(0);
  const bool constant = c.input_tensor(1) != nullptr;
  const auto unknown = std::count(dims.begin(), dims.end(), kUnknown);
  if (input.IsFullyDefined() && unknown <= 1) {
    ASSIGN_OR_RETURN(TensorShape known, input.AsTensorShape());
    int64_t product = 1, open = -1;
    bool has_zero = false;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] == kUnknown) {
        open = i;
      } else if (dims[i] == 0) {
        has_zero = true;
      } else {
        product = MultiplyWithoutOverflow(product, dims[i]);
        if (product < 0) return errors::InvalidArgument("Shape ", wanted.ToString(), " has too many elements");
      }
    }
    // Beside a size of zero the open one takes what the input's other dimensions leave over.
    int64_t count = 1;
    for (int64_t size : known.dim_sizes()) count = MultiplyWithoutOverflow(count, size == 0 && has_zero ? 1 : size);
    const bool fits = count >= 0 && (has_zero ? known.num_elements() == 0 : true) &&
                      (open >= 0 ? count % product == 0 : has_zero || count == product);
    if (!fits) {
      return errors::InvalidArgument("Cannot reshape a tensor with ", known.num_elements(), " elements to shape ",
                                     wanted.ToString(), " (", product, " elements)");
    }
    if (open >= 0 && (constant || !has_zero)) dims[open] = count / product;
  }
  return SetOutput(c, 0, dims);
}

absl::Status ExpandDimsShape(InferenceContext& c) {
  const Tensor* axis = c.input_tensor(1);
  const PartialTensorShape& input = c.input(0);
  if (axis != nullptr && axis->NumElements() != 1) {
    return errors::InvalidArgument("'dim' input must be a tensor with a single value");
  }
  if (input.unknown_rank()) return absl::OkStatus();
  if (axis == nullptr) {
    c.set_output(0, c.UnknownOfRank(input.dims() + 1));
    return absl::OkStatus();
  }
  const int64_t value = (*ConstantVector(c, 1))[0];
  if (value < -1 - input.dims() || value > input.dims()) {
    return errors::InvalidArgument("dim ", value, " not in the interval [", -1 - input.dims(), ", ", input.dims(),
                                   "].");
  }
  DimVector dims = Dims(input);
  dims.insert(dims.begin() + (value < 0 ? value + input.dims() + 1 : value), 1);
  return SetOutput(c, 0, dims);
}

absl::Status SqueezeShape(InferenceContext& c) {
  const PartialTensorShape& input = c.input(0);
  if (input.unknown_rank()) return absl::OkStatus();
  std::vector<int64_t> axes;
  RETURN_IF_ERROR(c.GetAttr("squeeze_dims", &axes));
  std::vector<bool> chosen(input.dims());
  for (int64_t axis : axes) {
    if (axis < -input.dims() || axis >= input.dims()) {
      return errors::InvalidArgument("squeeze_dims[", axis, "] not in [", -input.dims(), ",", input.dims(), ").");
    }
    chosen[axis < 0 ? axis + input.dims() : axis] = true;
  }
  DimVector dims;
  for (int i = 0; i < input.dims(); ++i) {
    const int64_t dim = input.dim_size(i);
    if (axes.empty()) {
      if (dim == kUnknown) return absl::OkStatus();
      if (dim != 1) dims.push_back(dim);
    } else if (!chosen[i]) {
      dims.push_back(dim);
    } else if (dim != 1 && dim != kUnknown) {
      return errors::InvalidArgument("Can not squeeze dim[", i, "], expected a dimension of 1, got ", dim);
    }
  }
  return SetOutput(c, 0, dims);
}

absl::Status FillShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(0), 1).status());
  RETURN_IF_ERROR(c.WithRank(c.input(1), 0).status());
  ASSIGN_OR_RETURN(PartialTensorShape output, c.InputAsShape(0));
  c.set_output(0, std::move(output));
  return absl::OkStatus();
}

absl::Status EmptyShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape output, c.InputAsShape(0));
  c.set_output(0, std::move(output));
  return absl::OkStatus();
}

absl::Status EnsureShapeShape(InferenceContext& c) {
  PartialTensorShape expected;
  RETURN_IF_ERROR(c.GetAttr("shape", &expected));
  ASSIGN_OR_RETURN(PartialTensorShape merged, c.input(0).MergeWith(expected));
  c.set_output(0, std::move(merged));
  return absl::OkStatus();
}

absl::Status ConcatShape(InferenceContext& c) { return JoinShape(c, 1, c.num_inputs(), 0); }
absl::Status ConcatV2Shape(InferenceContext& c) { return JoinShape(c, 0, c.num_inputs() - 1, c.num_inputs() - 1); }

absl::Status ConcatOffsetShape(InferenceContext& c) {
  for (int i = 1; i < c.num_inputs(); ++i) c.set_output(i - 1, c.input(i));
  return absl::OkStatus();
}

absl::Status SplitShape(InferenceContext& c) {
  const PartialTensorShape& input = c.input(1);
  ASSIGN_OR_RETURN(const std::optional<int64_t> axis_value, ConstantScalar(c, 0));
  if (input.unknown_rank()) return absl::OkStatus();
  DimVector dims = Dims(input);
  if (axis_value) {
    ASSIGN_OR_RETURN(const int axis, FrontAxis(*axis_value, input.dims()));
    if (dims[axis] != kUnknown) {
      if (dims[axis] % c.num_outputs() != 0) {
        return errors::InvalidArgument("Dimension size, given by dimension ", axis, " of shape ", input.ToString(),
                                       ", must be evenly divisible by ", c.num_outputs());
      }
      dims[axis] /= c.num_outputs();
    }
  } else {
    std::fill(dims.begin(), dims.end(), kUnknown);
  }
  for (int i = 0; i < c.num_outputs(); ++i) RETURN_IF_ERROR(SetOutput(c, i, dims));
  return absl::OkStatus();
}

absl::Status SplitVShape(InferenceContext& c) {
  const PartialTensorShape& input = c.input(0);
  ASSIGN_OR_RETURN(const std::optional<int64_t> axis_value, ConstantScalar(c, 2));
  if (input.unknown_rank()) return absl::OkStatus();
  DimVector dims = Dims(input);
  if (!axis_value) {
    std::fill(dims.begin(), dims.end(), kUnknown);
    for (int i = 0; i < c.num_outputs(); ++i) RETURN_IF_ERROR(SetOutput(c, i, dims));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const int axis, FrontAxis(*axis_value, input.dims()));
  const std::optional<std::vector<int64_t>> sizes = ConstantVector(c, 1);
  const int64_t whole = input.dim_size(axis);
  int64_t given = 0;
  if (sizes) {
    for (int64_t size : *sizes) {
      ASSIGN_OR_RETURN(given, AddDims(given, std::max<int64_t>(size, 0)));
    }
  }
  for (int i = 0; i < c.num_outputs(); ++i) {
    dims[axis] = kUnknown;
    if (sizes && i < static_cast<int>(sizes->size())) {
      dims[axis] = (*sizes)[i] >= 0 ? (*sizes)[i] : whole == kUnknown ? kUnknown : whole - given;
      if (dims[axis] < kUnknown) {
        return errors::InvalidArgument("can't split axis of size ", whole, " into pieces that need ", given);
      }
    }
    RETURN_IF_ERROR(SetOutput(c, i, dims));
  }
  return absl::OkStatus();
}

absl::Status PackShape(InferenceContext& c) {
  PartialTensorShape merged = c.input(0);
  for (int i = 1; i < c.num_inputs(); ++i) {
    absl::StatusOr<PartialTensorShape> next = merged.MergeWith(c.input(i));
    if (!next.ok()) return Annotate(next.status(), "From merging shape of input ");
    merged = *std::move(next);
  }
  if (merged.unknown_rank()) return absl::OkStatus();
  int64_t axis;
  RETURN_IF_ERROR(c.GetAttr("axis", &axis));
  ASSIGN_OR_RETURN(const int at, FrontAxis(axis, merged.dims() + 1));
  DimVector dims = Dims(merged);
  dims.insert(dims.begin() + at, c.num_inputs());
  return SetOutput(c, 0, dims);
}

absl::Status UnpackShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape input, c.WithRankAtLeast(c.input(0), 1));
  if (input.unknown_rank()) return absl::OkStatus();
  int64_t axis;
  RETURN_IF_ERROR(c.GetAttr("axis", &axis));
  ASSIGN_OR_RETURN(const int at, FrontAxis(axis, input.dims()));
  DimVector dims = Dims(input);
  RETURN_IF_ERROR(c.MergeDim(dims[at], c.num_outputs()).status());
  dims.erase(dims.begin() + at);
  for (int i = 0; i < c.num_outputs(); ++i) RETURN_IF_ERROR(SetOutput(c, i, dims));
  return absl::OkStatus();
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

absl::Status op_shapes::JoinShape(InferenceContext& c, int first, int last, int axis_input) {
  ASSIGN_OR_RETURN(const std::optional<int64_t> axis_value, ConstantScalar(c, axis_input));
  int rank = -1;
  for (int i = first; i < last; ++i) {
    if (c.input(i).unknown_rank()) continue;
    if (c.input(i).dims() == 0) {
      return errors::InvalidArgument("Can't concatenate scalars (use tf.stack instead)");
    }
    if (rank >= 0) RETURN_IF_ERROR(c.WithRank(c.input(i), rank).status());
    rank = c.input(i).dims();
  }
  if (rank < 0) return absl::OkStatus();
  if (!axis_value) {
    c.set_output(0, c.UnknownOfRank(rank));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const int axis, FrontAxis(*axis_value, rank));
  DimVector dims(rank, kUnknown);
  dims[axis] = 0;
  for (int i = first; i < last; ++i) {
    for (int d = 0; d < rank; ++d) {
      const int64_t dim = c.input(i).unknown_rank() ? kUnknown : c.input(i).dim_size(d);
      if (d == axis) {
        ASSIGN_OR_RETURN(dims[d], AddDims(dims[d], dim));
      } else {
        ASSIGN_OR_RETURN(dims[d], c.MergeDim(dims[d], dim));
      }
    }
  }
  return SetOutput(c, 0, dims);
}

absl::Status RegisterArrayOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("Shape")
                                   .Input("input: T")
                                   .Output("output: out_type")
                                   .Attr("T: type")
                                   .Attr("out_type: {int32, int64} = DT_INT32")
                                   .Shape(ShapeShape)));
  RETURN_IF_ERROR(ops.Register(Op("ShapeN")
                                   .Input("input: N * T")
                                   .Output("output: N * out_type")
                                   .Attr("N: int >= 1")
                                   .Attr("T: type")
                                   .Attr("out_type: {int32, int64} = DT_INT32")
                                   .Shape(ShapeNShape)));
  RETURN_IF_ERROR(ops.Register(Op("Size")
                                   .Input("input: T")
                                   .Output("output: out_type")
                                   .Attr("T: type")
                                   .Attr("out_type: {int32, int64} = DT_INT32")
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(
      ops.Register(Op("Rank").Input("input: T").Output("output: int32").Attr("T: type").Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("Reshape")
                                   .Input("tensor: T")
                                   .Input("shape: Tshape")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Attr("Tshape: {int32, int64} = DT_INT32")
                                   .Shape(ReshapeShape)));
  RETURN_IF_ERROR(ops.Register(Op("ExpandDims")
                                   .Input("input: T")
                                   .Input("dim: Tdim")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Attr("Tdim: {int32, int64} = DT_INT32")
                                   .Shape(ExpandDimsShape)));
  RETURN_IF_ERROR(ops.Register(Op("Squeeze")
                                   .Input("input: T")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Attr("squeeze_dims: list(int) >= 0 = []")
                                   .Shape(SqueezeShape)));
  RETURN_IF_ERROR(ops.Register(Op("Fill")
                                   .Input("dims: index_type")
                                   .Input("value: T")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Attr("index_type: {int32, int64} = DT_INT32")
                                   .Shape(FillShape)));
  RETURN_IF_ERROR(ops.Register(Op("ZerosLike").Input("x: T").Output("y: T").Attr("T: type").Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(
      Op("OnesLike")
          .Input("x: T")
          .Output("y: T")
          .Attr(
              "T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, uint32, int64, uint64, complex64, "
              "complex128, bool}")
          .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(
      ops.Register(Op("Snapshot").Input("input: T").Output("output: T").Attr("T: type").Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(
      ops.Register(Op("DeepCopy").Input("x: T").Output("y: T").Attr("T: type").Stateful().Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("EnsureShape")
                                   .Input("input: T")
                                   .Output("output: T")
                                   .Attr("shape: shape")
                                   .Attr("T: type")
                                   .Shape(EnsureShapeShape)));
  RETURN_IF_ERROR(ops.Register(Op("Empty")
                                   .Input("shape: int32")
                                   .Output("output: dtype")
                                   .Attr("dtype: type")
                                   .Attr("init: bool = false")
                                   .Stateful()
                                   .Shape(EmptyShape)));
  RETURN_IF_ERROR(ops.Register(Op("Concat")
                                   .Input("concat_dim: int32")
                                   .Input("values: N * T")
                                   .Output("output: T")
                                   .Attr("N: int >= 2")
                                   .Attr("T: type")
                                   .Shape(ConcatShape)));
  RETURN_IF_ERROR(ops.Register(Op("ConcatV2")
                                   .Input("values: N * T")
                                   .Input("axis: Tidx")
                                   .Output("output: T")
                                   .Attr("N: int >= 2")
                                   .Attr("T: type")
                                   .Attr("Tidx: {int32, int64} = DT_INT32")
                                   .Shape(ConcatV2Shape)));
  RETURN_IF_ERROR(ops.Register(Op("ConcatOffset")
                                   .Input("concat_dim: int32")
                                   .Input("shape: N * shape_type")
                                   .Output("offset: N * shape_type")
                                   .Attr("N: int >= 2")
                                   .Attr("shape_type: {int32, int64} = DT_INT32")
                                   .Shape(ConcatOffsetShape)));
  RETURN_IF_ERROR(ops.Register(Op("Split")
                                   .Input("split_dim: int32")
                                   .Input("value: T")
                                   .Output("output: num_split * T")
                                   .Attr("num_split: int >= 1")
                                   .Attr("T: type")
                                   .Shape(SplitShape)));
  RETURN_IF_ERROR(ops.Register(Op("SplitV")
                                   .Input("value: T")
                                   .Input("size_splits: Tlen")
                                   .Input("split_dim: int32")
                                   .Output("output: num_split * T")
                                   .Attr("num_split: int >= 1")
                                   .Attr("T: type")
                                   .Attr("Tlen: {int8, int32, int64} = DT_INT64")
                                   .Shape(SplitVShape)));
  RETURN_IF_ERROR(ops.Register(Op("Pack")
                                   .Input("values: N * T")
                                   .Output("output: T")
                                   .Attr("N: int >= 1")
                                   .Attr("T: type")
                                   .Attr("axis: int = 0")
                                   .Shape(PackShape)));
  RETURN_IF_ERROR(ops.Register(Op("Unpack")
                                   .Input("value: T")
                                   .Output("output: num * T")
                                   .Attr("num: int >= 0")
                                   .Attr("T: type")
                                   .Attr("axis: int = 0")
                                   .Shape(UnpackShape)));
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
  RETURN_IF_ERROR(ops.Register(Op("Assert")
                                   .Input("condition: bool")
                                   .Input("data: T")
                                   .Attr("T: list(type) >= 1")
                                   .Attr("summarize: int = 3")
                                   .Stateful()
                                   .Shape(shapes::NoOutputs)));
  RETURN_IF_ERROR(ops.Register(Op("Print")
                                   .Input("input: T")
                                   .Input("data: U")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Attr("U: list(type) >= 0")
                                   .Attr("message: string = ''")
                                   .Attr("first_n: int = -1")
                                   .Attr("summarize: int = 3")
                                   .Stateful()
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("PrintV2")
                                   .Input("input: string")
                                   .Attr("output_stream: string = 'stderr'")
                                   .Attr("end: string = '\\n'")
                                   .Stateful()
                                   .Shape(shapes::NoOutputs)));
  return absl::OkStatus();
}

}  // namespace weir
