#include "client/embedding/partitioned_variable.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "client/ops.h"

namespace weir {
namespace {

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

std::vector<int64_t> Along(const TensorShape& shape, int axis, int64_t parts) {
  std::vector<int64_t> result(shape.dims(), 1);
  if (axis >= 0 && axis < shape.dims()) {
    result[axis] = std::max<int64_t>(1, std::min(parts, shape.dim_size(axis)));
  }
  return result;
}

int64_t BytesOf(const TensorShape& shape, DataType dtype) {
  return shape.num_elements() * static_cast<int64_t>(DataTypeSize(dtype));
}

// "10 4 0,5:0,4": the full shape, and start and length along each axis.
std::string SliceSpec(const TensorShape& shape, int axis, int64_t start, int64_t length) {
  std::string spec;
  std::vector<std::string> extents;
  for (int d = 0; d < shape.dims(); ++d) {
    absl::StrAppend(&spec, shape.dim_size(d), " ");
    extents.push_back(d == axis ? absl::StrCat(start, ",", length) : absl::StrCat("0,", shape.dim_size(d)));
  }
  return absl::StrCat(spec, absl::StrJoin(extents, ":"));
}

// The divided axis; an error if the partitioner's result does not fit the shape.
absl::StatusOr<int> DividedAxis(const TensorShape& shape, const std::vector<int64_t>& partitions) {
  if (shape.dims() == 0 || static_cast<int>(partitions.size()) != shape.dims()) {
    return errors::InvalidArgument("A partitioner gave ", partitions.size(), " numbers for shape ", shape.ToString());
  }
  int axis = 0, divided = 0;
  for (int d = 0; d < shape.dims(); ++d) {
    if (partitions[d] < 1 || (partitions[d] > 1 && partitions[d] > shape.dim_size(d))) {
      return errors::InvalidArgument("Axis ", d, " of shape ", shape.ToString(), " cannot go into ", partitions[d],
                                     " parts");
    }
    if (partitions[d] == 1) continue;
    axis = d;
    ++divided;
  }
  if (divided > 1) return errors::InvalidArgument("A variable can be divided along one axis only");
  return axis;
}

}  // namespace

namespace partitioners {

Partitioner FixedSize(int64_t parts, int axis) {
  return [=](const TensorShape& shape, DataType) { return Along(shape, axis, parts); };
}

Partitioner MinMax(int64_t max_parts, int axis, int64_t min_slice_bytes) {
  return [=](const TensorShape& shape, DataType dtype) {
    return Along(shape, axis,
                 std::min(max_parts, CeilDiv(BytesOf(shape, dtype), std::max<int64_t>(1, min_slice_bytes))));
  };
}

Partitioner AxisSize(int64_t max_part_bytes, int axis, int64_t max_parts) {
  return [=](const TensorShape& shape, DataType dtype) {
    const int64_t length = axis >= 0 && axis < shape.dims() ? std::max<int64_t>(1, shape.dim_size(axis)) : 1;
    const int64_t row = std::max<int64_t>(1, BytesOf(shape, dtype) / length);
    const int64_t parts = CeilDiv(length, std::max<int64_t>(1, max_part_bytes / row));
    return Along(shape, axis, max_parts > 0 ? std::min(parts, max_parts) : parts);
  };
}

}  // namespace partitioners

std::string ByteBalancedDevices::Next(int64_t bytes) {
  if (bytes_.empty()) return absl::StrCat("/job:", job_);
  const auto least = std::min_element(bytes_.begin(), bytes_.end());
  *least += bytes;
  return absl::StrCat("/job:", job_, "/task:", least - bytes_.begin());
}

PartitionedVariable PartitionedVariable::Make(const Scope& scope, const TensorShape& shape, DataType dtype,
                                              const Initializer& initializer, const Partitioner& partitioner,
                                              const std::function<std::string(int64_t bytes)>& device_for,
                                              VariableOptions options) {
  PartitionedVariable variable;
  variable.shape_ = shape;
  const Scope inner = scope.SubScope(scope.op_name().empty() ? "variable" : scope.op_name());
  const std::vector<int64_t> partitions = partitioner(shape, dtype);
  const absl::StatusOr<int> axis = DividedAxis(shape, partitions);
  if (!axis.ok()) {
    scope.UpdateStatus(axis.status());
    return variable;
  }
  variable.axis_ = *axis;
  const int64_t parts = partitions[*axis], length = shape.dim_size(*axis);
  int64_t start = 0;
  for (int64_t i = 0; i < parts; ++i) {
    const int64_t part_length = length / parts + (i < length % parts ? 1 : 0);
    TensorShape part_shape = shape;
    scope.UpdateStatus(part_shape.SetDim(*axis, part_length));
    options.save_name = inner.name();
    options.save_slice = SliceSpec(shape, *axis, start, part_length);
    const Scope on_device = device_for ? inner.WithDevice(device_for(BytesOf(part_shape, dtype))) : inner;
    variable.parts_.push_back(
        ResourceVariable::Make(on_device.WithName(absl::StrCat("part_", i)), part_shape, dtype, initializer, options));
    variable.starts_.push_back(start);
    start += part_length;
  }
  variable.starts_.push_back(start);
  return variable;
}

Output PartitionedVariable::value(const Scope& scope) const {
  if (parts_.size() == 1) return parts_[0].value();
  InputList values;
  for (const ResourceVariable& part : parts_) values.emplace_back(part.value());
  return ops::ConcatV2(scope, values, Tensor::Scalar<int32_t>(axis_));
}

Output PartitionedVariable::Lookup(const Scope& scope, const Output& ids) const {
  const Scope inner = scope.SubScope("lookup");
  if (parts_.size() > 1 && axis_ != 0) {
    scope.UpdateStatus(errors::InvalidArgument("Rows are looked up in variables that are divided along axis 0"));
    return Output();
  }
  const auto gather = [&](size_t part, const Output& rows) {
    const Scope beside = inner.WithDevice("").ColocateWith(parts_[part].handle().op());
    return ops::ResourceGather(beside, parts_[part].handle(), rows, parts_[part].dtype());
  };
  const Output wide = ops::Cast(inner, ids, DT_INT64);
  if (parts_.size() == 1) return gather(0, wide);
  // The part of an id is the number of parts that begin at or before it, minus one.
  const Output flat = ops::Reshape(inner, wide, Tensor::Vector<int32_t>({-1}));
  const Output begins =
      inner.Constant(Tensor::Vector<int64_t>(absl::MakeConstSpan(starts_).subspan(1, parts_.size() - 1)));
  const Output part_of = ops::Reshape(inner,
                                      ops::UpperBound(inner, ops::ExpandDims(inner, begins, Tensor::Scalar<int32_t>(0)),
                                                      ops::ExpandDims(inner, flat, Tensor::Scalar<int32_t>(0))),
                                      Tensor::Vector<int32_t>({-1}));
  const auto count = static_cast<int64_t>(parts_.size());
  const OutputList of_part = ops::DynamicPartition(inner, flat, part_of, count);
  const OutputList places = ops::DynamicPartition(
      inner, ops::Range(inner, Tensor::Scalar<int32_t>(0), ops::Size(inner, flat), Tensor::Scalar<int32_t>(1)), part_of,
      count);
  InputList rows, indices;
  for (size_t i = 0; scope.ok() && i < parts_.size(); ++i) {
    rows.emplace_back(gather(i, ops::Sub(inner, of_part[i], inner.Constant(Tensor::Scalar<int64_t>(starts_[i])))));
    indices.emplace_back(places[i]);
  }
  const Output together = ops::ParallelDynamicStitch(inner, indices, rows);
  const Output row_shape = inner.Constant(Tensor::Vector<int32_t>([this] {
    std::vector<int32_t> dims;
    for (int d = 1; d < shape_.dims(); ++d) dims.push_back(static_cast<int32_t>(shape_.dim_size(d)));
    return dims;
  }()));
  return ops::Reshape(inner, together,
                      ops::ConcatV2(inner, {ops::Shape(inner, ids), row_shape}, Tensor::Scalar<int32_t>(0)));
}

}  // namespace weir
