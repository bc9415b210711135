// Shape functions of ops that rearrange arrays.
#include <algorithm>

#include "graph/shapes/common_shapes.h"

namespace weir::shapes {
namespace {

using Ctx = InferenceContext;

DimVector DimsOf(const PartialTensorShape& shape) {
  return DimVector(shape.dim_sizes().begin(), shape.dim_sizes().end());
}

absl::Status SetOutput(InferenceContext& c, int i, absl::Span<const int64_t> dims) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, PartialTensorShape::Build(dims));
  c.set_output(i, shape);
  return absl::OkStatus();
}

// Checked addition; -1 is unknown.
absl::StatusOr<int64_t> AddDims(int64_t a, int64_t b) {
  if (a < 0 || b < 0) return -1;
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) return errors::InvalidArgument("Dimensions ", a, " + ", b, " overflow");
  return sum;
}

absl::StatusOr<int64_t> MultiplyDims(int64_t a, int64_t b) {
  if (a < 0 || b < 0) return -1;
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product)) return errors::InvalidArgument("Dimensions ", a, " * ", b, " overflow");
  return product;
}

absl::Status ConcatInputs(InferenceContext& c, int axis_input, int first, int last) {
  int rank = -1;
  for (int i = first; i < last && rank < 0; ++i) rank = c.input(i).dims();
  if (rank == 0)
    return errors::InvalidArgument(
        "Shape must be at least rank 1 but is rank 0: scalars cannot be "
        "concatenated (use Pack)");
  for (int i = first; i < last && rank >= 0; ++i) RETURN_IF_ERROR(c.WithRank(c.input(i), rank).status());
  RETURN_IF_ERROR(c.WithRank(c.input(axis_input), 0).status());
  ASSIGN_OR_RETURN(std::optional<int> axis, AxisInput(c, axis_input, rank));
  if (!axis.has_value()) {
    c.set_output(0, Ctx::UnknownOfRank(rank));
    return absl::OkStatus();
  }
  int64_t length = 0;
  DimVector common(rank, -1);
  for (int i = first; i < last; ++i) {
    const bool known = !c.input(i).unknown_rank();
    ASSIGN_OR_RETURN(length, AddDims(length, known ? c.input(i).dim_size(*axis) : -1));
    for (int d = 0; d < rank && known; ++d) {
      if (d == *axis) continue;
      auto merged = c.MergeDim(common[d], c.input(i).dim_size(d));
      if (!merged.ok()) {
        return errors::InvalidArgument("Dimension ", d, " in both shapes must be equal, but are ", common[d], " and ",
                                       c.input(i).dim_size(d), ". Concatenating along axis ", *axis, ", input ",
                                       i - first, " has shape ", c.input(i).ToString(), ".");
      }
      common[d] = *merged;
    }
  }
  common[*axis] = length;
  return SetOutput(c, 0, common);
}

}  // namespace

absl::Status ShapeOf(InferenceContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, Ctx::Vector(c.input(i).dims()));
  return absl::OkStatus();
}

absl::Status Reshape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape out, c.InputAsShape(1));
  c.set_output(0, out);
  const int64_t elements = NumElements(c.input(0));
  if (elements < 0 || out.unknown_rank()) return absl::OkStatus();
  DimVector dims = DimsOf(out);
  int unknown = -1, num_unknown = 0;
  int64_t known = 1;
  for (int i = 0; i < out.dims(); ++i) {
    if (dims[i] < 0) {
      unknown = i;
      ++num_unknown;
    } else {
      ASSIGN_OR_RETURN(known, MultiplyDims(known, dims[i]));
    }
  }
  if (num_unknown == 0 && known != elements) {
    return errors::InvalidArgument("Cannot reshape a tensor with ", elements, " elements to shape ", out.ToString(),
                                   " (", known, " elements)");
  }
  if (num_unknown != 1 || known == 0) return absl::OkStatus();
  if (elements % known != 0) {
    return errors::InvalidArgument("Dimension size must be evenly divisible by ", known, " but is ", elements,
                                   ": cannot reshape ", c.input(0).ToString(), " to ", out.ToString());
  }
  dims[unknown] = elements / known;
  return SetOutput(c, 0, dims);
}

absl::Status ExpandDims(InferenceContext& c) {
  const PartialTensorShape& in = c.input(0);
  ASSIGN_OR_RETURN(std::optional<int> axis, AxisInput(c, 1, in.unknown_rank() ? -1 : in.dims() + 1));
  if (!axis.has_value()) {
    c.set_output(0, in.unknown_rank() ? PartialTensorShape() : Ctx::UnknownOfRank(in.dims() + 1));
    return absl::OkStatus();
  }
  DimVector dims = DimsOf(in);
  dims.insert(dims.begin() + *axis, 1);
  return SetOutput(c, 0, dims);
}

absl::Status Squeeze(InferenceContext& c) {
  const PartialTensorShape& in = c.input(0);
  std::vector<int64_t> axes;
  RETURN_IF_ERROR(c.GetAttr("squeeze_dims", &axes));
  if (in.unknown_rank()) return absl::OkStatus();
  std::vector<bool> squeezed(in.dims(), false);
  for (int64_t axis : axes) {
    ASSIGN_OR_RETURN(int at, CheckAxis(axis, in.dims()));
    squeezed[at] = true;
  }
  DimVector dims;
  for (int i = 0; i < in.dims(); ++i) {
    const int64_t size = in.dim_size(i);
    if (axes.empty() && size < 0) return absl::OkStatus();  // it may be 1
    if (squeezed[i] && size > 1) {
      return errors::InvalidArgument("Can not squeeze dim[", i, "], expected a dimension of 1, got ", size);
    }
    if (axes.empty() ? size != 1 : !squeezed[i]) dims.push_back(size);
  }
  return SetOutput(c, 0, dims);
}

absl::Status Transpose(InferenceContext& c) {
  const PartialTensorShape& in = c.input(0);
  ASSIGN_OR_RETURN(PartialTensorShape perm_shape, c.WithRank(c.input(1), 1));
  const auto perm = c.InputAsIntegers(1);
  const int64_t rank = perm.has_value()    ? static_cast<int64_t>(perm->size())
                       : in.unknown_rank() ? perm_shape.dim_size(0)
                                           : in.dims();
  if (perm_shape.dim_size(0) >= 0) RETURN_IF_ERROR(c.MergeDim(in.dims(), perm_shape.dim_size(0)).status());
  if (!perm.has_value() || rank > kMaxRank) {
    c.set_output(0, Ctx::UnknownOfRank(rank));
    return absl::OkStatus();
  }
  DimVector dims(rank, -1);
  std::vector<bool> seen(rank, false);
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t from = (*perm)[i] < 0 ? (*perm)[i] + rank : (*perm)[i];
    if (from < 0 || from >= rank) {
      return errors::InvalidArgument("perm dim ", (*perm)[i], " is out of range of input rank ", rank);
    }
    if (seen[from]) return errors::InvalidArgument("perm has dimension ", from, " twice");
    seen[from] = true;
    dims[i] = Ctx::Dim(in, static_cast<int>(from));
  }
  return SetOutput(c, 0, dims);
}

absl::Status Concat(InferenceContext& c) { return ConcatInputs(c, 0, 1, c.num_inputs()); }
absl::Status ConcatV2(InferenceContext& c) { return ConcatInputs(c, c.num_inputs() - 1, 0, c.num_inputs() - 1); }

absl::Status ConcatOffset(InferenceContext& c) {
  for (int i = 1; i < c.num_inputs(); ++i) {
    ASSIGN_OR_RETURN(PartialTensorShape shape, c.WithRank(c.input(i), 1));
    c.set_output(i - 1, shape);
  }
  return absl::OkStatus();
}

absl::Status Split(InferenceContext& c) {
  const PartialTensorShape& in = c.input(1);
  ASSIGN_OR_RETURN(std::optional<int> axis, AxisInput(c, 0, in.dims()));
  PartialTensorShape part = Ctx::UnknownOfRank(in.dims());
  if (axis.has_value()) {
    DimVector dims = DimsOf(in);
    int64_t& length = dims[*axis];
    if (length >= 0 && length % c.num_outputs() != 0) {
      return errors::InvalidArgument("Dimension size must be evenly divisible by ", c.num_outputs(), " but is ", length,
                                     ": split along axis ", *axis);
    }
    if (length >= 0) length /= c.num_outputs();
    part = Ctx::Of(dims);
  }
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, part);
  return absl::OkStatus();
}

absl::Status SplitV(InferenceContext& c) {
  const PartialTensorShape& in = c.input(0);
  ASSIGN_OR_RETURN(PartialTensorShape sizes_shape, c.WithRank(c.input(1), 1));
  RETURN_IF_ERROR(c.MergeDim(sizes_shape.dim_size(0), c.num_outputs()).status());
  ASSIGN_OR_RETURN(std::optional<int> axis, AxisInput(c, 2, in.dims()));
  if (!axis.has_value()) {
    for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, Ctx::UnknownOfRank(in.dims()));
    return absl::OkStatus();
  }
  std::vector<int64_t> sizes(c.num_outputs(), -1);
  if (auto known = c.InputAsIntegers(1); known.has_value()) sizes = *known;
  if (static_cast<int>(sizes.size()) != c.num_outputs()) {
    return errors::InvalidArgument("Length of size_splits should be equal to num_outputs");
  }
  int64_t total = 0;
  int open = -1;
  for (int i = 0; i < c.num_outputs(); ++i) {
    if (sizes[i] < -1) return errors::InvalidArgument("size_splits[", i, "] is ", sizes[i]);
    if (sizes[i] < 0) open = open < 0 ? i : c.num_outputs();
    if (sizes[i] > 0) {
      ASSIGN_OR_RETURN(total, AddDims(total, sizes[i]));
    }
  }
  const int64_t length = in.dim_size(*axis);
  if (length >= 0 && (open < 0 ? total != length : total > length)) {
    return errors::InvalidArgument("size_splits sum to ", total, " but the dimension to split has ", length);
  }
  if (open >= 0 && open < c.num_outputs() && length >= 0) sizes[open] = length - total;
  for (int i = 0; i < c.num_outputs(); ++i) {
    DimVector dims = DimsOf(in);
    dims[*axis] = sizes[i];
    RETURN_IF_ERROR(SetOutput(c, i, dims));
  }
  return absl::OkStatus();
}

absl::Status Pack(InferenceContext& c) {
  RETURN_IF_ERROR(MergeAll(c));
  const PartialTensorShape element = c.output(0);
  int64_t axis = 0;
  RETURN_IF_ERROR(c.GetAttr("axis", &axis));
  if (element.unknown_rank()) return absl::OkStatus();
  ASSIGN_OR_RETURN(int at, CheckAxis(axis, element.dims() + 1));
  DimVector dims = DimsOf(element);
  dims.insert(dims.begin() + at, c.num_inputs());
  return SetOutput(c, 0, dims);
}

absl::Status Unpack(InferenceContext& c) {
  const PartialTensorShape& in = c.input(0);
  int64_t axis = 0;
  RETURN_IF_ERROR(c.GetAttr("axis", &axis));
  if (in.unknown_rank()) return absl::OkStatus();
  ASSIGN_OR_RETURN(int at, CheckAxis(axis, in.dims()));
  RETURN_IF_ERROR(c.MergeDim(in.dim_size(at), c.num_outputs()).status());
  DimVector dims = DimsOf(in);
  dims.erase(dims.begin() + at);
  for (int i = 0; i < c.num_outputs(); ++i) RETURN_IF_ERROR(SetOutput(c, i, dims));
  return absl::OkStatus();
}

absl::Status Slice(InferenceContext& c) {
  const PartialTensorShape& in = c.input(0);
  ASSIGN_OR_RETURN(PartialTensorShape begin_shape, c.WithRank(c.input(1), 1));
  ASSIGN_OR_RETURN(PartialTensorShape size_shape, c.WithRank(c.input(2), 1));
  ASSIGN_OR_RETURN(int64_t rank, c.MergeDim(begin_shape.dim_size(0), size_shape.dim_size(0)));
  ASSIGN_OR_RETURN(rank, c.MergeDim(rank, in.dims()));
  const auto begin = c.InputAsIntegers(1), size = c.InputAsIntegers(2);
  if (rank < 0 || rank > kMaxRank || !size.has_value()) {
    // A size computed from shapes may be partly known.
    auto as_shape = c.InputAsShape(2);
    c.set_output(0, rank >= 0 && !size.has_value() && as_shape.ok() && as_shape->dims() == rank
                        ? *as_shape
                        : Ctx::UnknownOfRank(rank));
    return absl::OkStatus();
  }
  DimVector dims(rank, -1);
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t whole = Ctx::Dim(in, static_cast<int>(i)), wanted = (*size)[i];
    const int64_t start = begin.has_value() ? (*begin)[i] : -1;
    if (wanted < -1) return errors::InvalidArgument("Expected size[", i, "] >= -1, but got ", wanted);
    if (begin.has_value() && (start < 0 || (whole >= 0 && start > whole))) {
      return errors::InvalidArgument("Expected begin[", i, "] in [0, ", whole, "], but got ", start);
    }
    if (whole >= 0 && wanted >= 0 && wanted > whole - std::max<int64_t>(start, 0)) {
      return errors::InvalidArgument("Expected size[", i, "] in [0, ", whole - std::max<int64_t>(start, 0),
                                     "], but got ", wanted);
    }
    dims[i] = wanted >= 0 ? wanted : whole >= 0 && start >= 0 ? whole - start : -1;
  }
  return SetOutput(c, 0, dims);
}

absl::Status Tile(InferenceContext& c) {
  const PartialTensorShape& in = c.input(0);
  ASSIGN_OR_RETURN(PartialTensorShape shape, c.WithRank(c.input(1), 1));
  ASSIGN_OR_RETURN(int64_t rank, c.MergeDim(in.dims(), shape.dim_size(0)));
  const auto multiples = c.InputAsIntegers(1);
  if (in.unknown_rank() || !multiples.has_value()) {
    c.set_output(0, Ctx::UnknownOfRank(rank));
    return absl::OkStatus();
  }
  DimVector dims = DimsOf(in);
  for (int64_t i = 0; i < rank; ++i) {
    if ((*multiples)[i] < 0) return errors::InvalidArgument("Expected multiples[", i, "] >= 0, got ", (*multiples)[i]);
    ASSIGN_OR_RETURN(dims[i], MultiplyDims(dims[i], (*multiples)[i]));
  }
  return SetOutput(c, 0, dims);
}

absl::Status Pad(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape paddings_shape, c.WithRank(c.input(1), 2));
  RETURN_IF_ERROR(c.MergeDim(paddings_shape.dim_size(1), 2).status());
  const PartialTensorShape& in = c.input(0);
  ASSIGN_OR_RETURN(int64_t rank, c.MergeDim(in.dims(), paddings_shape.dim_size(0)));
  const auto paddings = c.InputAsIntegers(1);
  if (in.unknown_rank() || !paddings.has_value()) {
    c.set_output(0, Ctx::UnknownOfRank(rank));
    return absl::OkStatus();
  }
  DimVector dims = DimsOf(in);
  for (int64_t i = 0; i < rank; ++i) {
    for (int side : {0, 1}) {
      const int64_t pad = (*paddings)[2 * i + side];
      if (pad < 0) return errors::InvalidArgument("Paddings must be non-negative: ", pad, " in dimension ", i);
      ASSIGN_OR_RETURN(dims[i], AddDims(dims[i], pad));
    }
  }
  return SetOutput(c, 0, dims);
}

absl::Status BroadcastTo(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape out, c.InputAsShape(1));
  c.set_output(0, out);
  const PartialTensorShape& in = c.input(0);
  if (in.unknown_rank() || out.unknown_rank()) return absl::OkStatus();
  RETURN_IF_ERROR(c.WithRankAtMost(in, out.dims()).status());
  for (int i = 1; i <= in.dims(); ++i) {
    const int64_t from = in.dim_size(in.dims() - i), to = out.dim_size(out.dims() - i);
    if (from > 1 && to >= 0 && from != to) {
      return errors::InvalidArgument("Incompatible shapes: ", in.ToString(), " cannot be broadcast to ",
                                     out.ToString());
    }
  }
  return absl::OkStatus();
}

absl::Status Gather(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape params, c.WithRankAtLeast(c.input(0), 1));
  ASSIGN_OR_RETURN(PartialTensorShape rest, Ctx::Subshape(params, 1));
  c.set_output(0, Ctx::Concatenate(c.input(1), rest));
  return absl::OkStatus();
}

absl::Status GatherV2(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape params, c.WithRankAtLeast(c.input(0), 1));
  const PartialTensorShape& indices = c.input(1);
  int64_t batch_dims = 0;
  if (FindAttr(c.node(), "batch_dims") != nullptr) RETURN_IF_ERROR(c.GetAttr("batch_dims", &batch_dims));
  ASSIGN_OR_RETURN(std::optional<int> axis, AxisInput(c, 2, params.dims()));
  if (indices.unknown_rank() || params.unknown_rank()) return absl::OkStatus();
  if (batch_dims < -indices.dims() || batch_dims > indices.dims()) {
    return errors::InvalidArgument("Expected batch_dims in the range [", -indices.dims(), ", ", indices.dims(),
                                   "], but got ", batch_dims);
  }
  const int batch = static_cast<int>(batch_dims < 0 ? batch_dims + indices.dims() : batch_dims);
  const int rank = params.dims() - 1 + indices.dims() - batch;
  if (!axis.has_value() || rank < 0) {
    c.set_output(0, Ctx::UnknownOfRank(rank));
    return absl::OkStatus();
  }
  if (batch > *axis) {
    return errors::InvalidArgument("batch_dims (", batch, ") must be less than or equal to axis (", *axis, ").");
  }
  ASSIGN_OR_RETURN(PartialTensorShape before, Ctx::Subshape(params, 0, *axis));
  ASSIGN_OR_RETURN(PartialTensorShape picked, Ctx::Subshape(indices, batch));
  ASSIGN_OR_RETURN(PartialTensorShape after, Ctx::Subshape(params, *axis + 1));
  c.set_output(0, Ctx::Concatenate(Ctx::Concatenate(before, picked), after));
  return absl::OkStatus();
}

absl::Status GatherNd(InferenceContext& c) {
  const PartialTensorShape& params = c.input(0);
  ASSIGN_OR_RETURN(PartialTensorShape indices, c.WithRankAtLeast(c.input(1), 1));
  const int64_t depth = Ctx::Dim(indices, -1);
  if (indices.unknown_rank() || params.unknown_rank() || depth < 0) return absl::OkStatus();
  if (depth > params.dims()) {
    return errors::InvalidArgument("indices.shape[-1] must be <= params.rank, but saw indices shape: ",
                                   indices.ToString(), " and params shape: ", params.ToString());
  }
  ASSIGN_OR_RETURN(PartialTensorShape outer, Ctx::Subshape(indices, 0, indices.dims() - 1));
  ASSIGN_OR_RETURN(PartialTensorShape slice, Ctx::Subshape(params, static_cast<int>(depth)));
  c.set_output(0, Ctx::Concatenate(outer, slice));
  return absl::OkStatus();
}

absl::Status ScatterNd(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRankAtLeast(c.input(0), 1).status());
  ASSIGN_OR_RETURN(PartialTensorShape out, c.InputAsShape(2));
  c.set_output(0, out);
  return absl::OkStatus();
}

absl::Status Where(InferenceContext& c) {
  c.set_output(0, Ctx::Matrix(-1, c.input(0).dims()));
  return absl::OkStatus();
}

absl::Status Unique(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape in, c.WithRank(c.input(0), 1));
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, Ctx::Vector(-1));
  c.set_output(1, in);
  return absl::OkStatus();
}

absl::Status InvertPermutation(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape in, c.WithRank(c.input(0), 1));
  c.set_output(0, in);
  return absl::OkStatus();
}

absl::Status DynamicPartition(InferenceContext& c) {
  const PartialTensorShape &data = c.input(0), &partitions = c.input(1);
  if (data.unknown_rank() || partitions.unknown_rank()) return absl::OkStatus();
  RETURN_IF_ERROR(c.WithRankAtLeast(data, partitions.dims()).status());
  ASSIGN_OR_RETURN(PartialTensorShape head, Ctx::Subshape(data, 0, partitions.dims()));
  RETURN_IF_ERROR(c.Merge(head, partitions).status());
  ASSIGN_OR_RETURN(PartialTensorShape rest, Ctx::Subshape(data, partitions.dims()));
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, Ctx::Concatenate(Ctx::Vector(-1), rest));
  return absl::OkStatus();
}

absl::Status DynamicStitch(InferenceContext& c) {
  const int n = c.num_inputs() / 2;
  PartialTensorShape rest;
  int64_t rows = 0;
  for (int i = 0; i < n; ++i) {
    const PartialTensorShape &indices = c.input(i), &data = c.input(n + i);
    const auto values = c.InputAsIntegers(i);
    if (!values.has_value()) rows = -1;
    for (size_t k = 0; values.has_value() && rows >= 0 && k < values->size(); ++k) {
      rows = std::max(rows, (*values)[k] == INT64_MAX ? (*values)[k] : (*values)[k] + 1);
    }
    if (indices.unknown_rank() || data.unknown_rank()) continue;
    RETURN_IF_ERROR(c.WithRankAtLeast(data, indices.dims()).status());
    ASSIGN_OR_RETURN(PartialTensorShape head, Ctx::Subshape(data, 0, indices.dims()));
    RETURN_IF_ERROR(c.Merge(head, indices).status());
    ASSIGN_OR_RETURN(PartialTensorShape tail, Ctx::Subshape(data, indices.dims()));
    ASSIGN_OR_RETURN(rest, c.Merge(rest, tail));
  }
  c.set_output(0, Ctx::Concatenate(Ctx::Vector(rows), rest));
  return absl::OkStatus();
}

}  // namespace weir::shapes
