// Ops that report, change or check a shape, and those that make tensors of one value.
#include <algorithm>

#include "kernels/array/family.h"
#include "kernels/device/op_shapes.h"

namespace weir {
namespace {

using op_shapes::ConstantVector;
using op_shapes::Dims;
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

// One dimension may be -1 or unknown: it is inferred from the number of elements.
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
    // If another size is zero, the open one is computed from the input's dimensions that are not zero.
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

}  // namespace

absl::Status RegisterShapeOps(OpRegistry& ops) {
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
  RETURN_IF_ERROR(ops.Register(
      Op("ZerosLike").Input("x: T").Output("y: T").Attr("T: type").Elementwise().Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(
      Op("OnesLike")
          .Input("x: T")
          .Output("y: T")
          .Attr(
              "T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, uint32, int64, uint64, complex64, "
              "complex128, bool}")
          .Elementwise()
          .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(
      Op("Snapshot").Input("input: T").Output("output: T").Attr("T: type").Elementwise().Shape(shapes::Unchanged)));
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
  return absl::OkStatus();
}

}  // namespace weir
