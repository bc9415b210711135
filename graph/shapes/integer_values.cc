#include "graph/shapes/integer_values.h"

#include <algorithm>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "core/op/attr_value.h"
#include "graph/graph.h"

namespace weir {
namespace {

using Element = std::optional<int64_t>;
using Result = std::optional<IntegerValue>;

struct Call {
  const Node& node;
  const std::vector<const IntegerValue*>& inputs;
  const std::vector<PartialTensorShape>& shapes;

  // The input's value; nullptr if nothing is known.
  const IntegerValue* input(int i) const { return inputs[i]; }
  // A scalar, or a vector of one element.
  Element Single(int i) const {
    const IntegerValue* value = inputs[i];
    return value != nullptr && value->elements.size() == 1 ? value->elements[0] : std::nullopt;
  }
  int64_t Attr(absl::string_view name, int64_t otherwise = 0) const {
    int64_t value = otherwise;
    return FindAttr(node.def(), name) != nullptr && GetNodeAttr(node.def(), name, &value).ok() ? value : otherwise;
  }
};

Element Fit(const Element& value, DataType dtype) {
  const bool fits = value.has_value() && (dtype == DT_INT64 || (*value >= std::numeric_limits<int32_t>::min() &&
                                                                *value <= std::numeric_limits<int32_t>::max()));
  return fits ? value : std::nullopt;
}

IntegerValue Make(const Call& call, bool is_scalar, std::vector<Element> elements, int output = 0) {
  IntegerValue value{RemoveRef(call.node.output_type(output)), is_scalar, std::move(elements)};
  for (Element& element : value.elements) element = Fit(element, value.dtype);
  return value;
}

Result Copy(const Call& call) {
  const IntegerValue* in = call.input(0);
  if (in == nullptr) return std::nullopt;
  return Make(call, in->is_scalar, in->elements);
}

std::vector<Element> DimsOf(const PartialTensorShape& shape) {
  std::vector<Element> dims;
  for (int64_t dim : shape.dim_sizes()) dims.push_back(dim < 0 ? Element() : Element(dim));
  return dims;
}

IntegerValues ShapesOf(const Call& call) {
  IntegerValues values(call.node.num_outputs());
  for (int i = 0; i < call.node.num_outputs(); ++i) {
    if (!call.shapes[i].unknown_rank()) values[i] = Make(call, false, DimsOf(call.shapes[i]), i);
  }
  return values;
}

Result Size(const Call& call) {
  const PartialTensorShape& shape = call.shapes[0];
  if (!shape.IsFullyDefined()) return std::nullopt;
  int64_t size = 1;
  for (int64_t dim : shape.dim_sizes()) size *= dim;
  return Make(call, true, {size});
}

Result Rank(const Call& call) {
  if (call.shapes[0].unknown_rank()) return std::nullopt;
  return Make(call, true, {call.shapes[0].dims()});
}

Result Pack(const Call& call) {
  std::vector<Element> elements;
  for (int i = 0; i < call.node.num_inputs(); ++i) {
    if (call.shapes[i].dims() != 0) return std::nullopt;
    elements.push_back(call.Single(i));
  }
  return Make(call, false, std::move(elements));
}

Result Concat(const Call& call, int first, int last) {
  std::vector<Element> elements;
  for (int i = first; i < last; ++i) {
    const PartialTensorShape& shape = call.shapes[i];
    if (shape.dims() != 1 || shape.dim_size(0) < 0) return std::nullopt;
    if (elements.size() + shape.dim_size(0) > IntegerValue::kMaxElements) return std::nullopt;
    if (call.input(i) != nullptr) {
      elements.insert(elements.end(), call.input(i)->elements.begin(), call.input(i)->elements.end());
    } else {
      elements.resize(elements.size() + shape.dim_size(0));
    }
  }
  return Make(call, false, std::move(elements));
}

// Over a vector, with one entry in the specification and no ellipsis or new axis, as when indexing a shape.
Result StridedSlice(const Call& call) {
  const IntegerValue* in = call.input(0);
  if (in == nullptr || in->is_scalar) return std::nullopt;
  if (call.Attr("ellipsis_mask") != 0 || call.Attr("new_axis_mask") != 0) return std::nullopt;
  const Element begin = call.Single(1), end = call.Single(2), stride = call.Single(3);
  const bool from_start = (call.Attr("begin_mask") & 1) != 0, to_end = (call.Attr("end_mask") & 1) != 0;
  const bool shrink = (call.Attr("shrink_axis_mask") & 1) != 0;
  if (!stride || *stride == 0 || (!begin && !from_start)) return std::nullopt;
  const int64_t size = static_cast<int64_t>(in->elements.size());
  if (shrink) {
    if (!begin || *begin < -size || *begin >= size) return std::nullopt;
    return Make(call, true, {in->elements[*begin < 0 ? *begin + size : *begin]});
  }
  if (!end && !to_end) return std::nullopt;
  const bool forward = *stride > 0;
  auto clamp = [&](int64_t i) {
    return std::clamp<int64_t>(i < 0 ? i + size : i, forward ? 0 : -1, forward ? size : size - 1);
  };
  const int64_t first = from_start ? (forward ? 0 : size - 1) : clamp(*begin);
  const int64_t last = to_end ? (forward ? size : -1) : clamp(*end);
  // A stride beyond the vector's length has the effect of its length.
  const int64_t step = std::clamp<int64_t>(*stride, -size - 1, size + 1);
  std::vector<Element> elements;
  for (int64_t i = first; forward ? i < last : i > last; i += step) elements.push_back(in->elements[i]);
  return Make(call, false, std::move(elements));
}

Result Slice(const Call& call) {
  const IntegerValue* in = call.input(0);
  const Element begin = call.Single(1), size = call.Single(2);
  if (in == nullptr || in->is_scalar || !begin || !size) return std::nullopt;
  const int64_t length = static_cast<int64_t>(in->elements.size());
  if (*begin < 0 || *begin > length || *size < -1 || *size > length - *begin) return std::nullopt;
  const auto first = in->elements.begin() + *begin;
  return Make(call, false, {first, *size < 0 ? in->elements.end() : first + *size});
}

Result Gather(const Call& call) {
  const IntegerValue *in = call.input(0), *indices = call.input(1);
  if (in == nullptr || in->is_scalar || indices == nullptr || call.Attr("batch_dims") != 0) return std::nullopt;
  std::vector<Element> elements;
  for (const Element& index : indices->elements) {
    const bool good = index && *index >= 0 && *index < static_cast<int64_t>(in->elements.size());
    elements.push_back(good ? in->elements[*index] : std::nullopt);
  }
  return Make(call, indices->is_scalar, std::move(elements));
}

// Reshape, Squeeze, ExpandDims if the result still has rank 0 or 1: its elements are the same.
Result Reranked(const Call& call, int rank) {
  const IntegerValue* in = call.input(0);
  if (in == nullptr || rank > 1 || (rank == 0 && in->elements.size() != 1)) return std::nullopt;
  return Make(call, rank == 0, in->elements);
}

Result Reshape(const Call& call) {
  const PartialTensorShape& shape = call.shapes[1];
  if (shape.dims() != 1 || shape.dim_size(0) < 0) return std::nullopt;
  return Reranked(call, static_cast<int>(std::min<int64_t>(shape.dim_size(0), 2)));
}

Result ExpandDims(const Call& call) { return call.shapes[0].dims() == 0 ? Reranked(call, 1) : std::nullopt; }

Result Squeeze(const Call& call) {
  return call.shapes[0].dims() == 1 && call.shapes[0].dim_size(0) == 1 ? Reranked(call, 0) : std::nullopt;
}

int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

Element Combine(absl::string_view op, int64_t a, int64_t b) {
  int64_t out = 0;
  const bool minus_one = b == -1 && a == std::numeric_limits<int64_t>::min();
  if (op == "Add" || op == "AddV2") return __builtin_add_overflow(a, b, &out) ? Element() : out;
  if (op == "Sub") return __builtin_sub_overflow(a, b, &out) ? Element() : out;
  if (op == "Mul") return __builtin_mul_overflow(a, b, &out) ? Element() : out;
  if (op == "Maximum") return std::max(a, b);
  if (op == "Minimum") return std::min(a, b);
  if (b == 0 || minus_one) return std::nullopt;
  if (op == "FloorDiv") return FloorDivide(a, b);
  if (op == "FloorMod") return a - FloorDivide(a, b) * b;
  return a / b;  // Div, TruncateDiv
}

Result Binary(const Call& call) {
  const IntegerValue *a = call.input(0), *b = call.input(1);
  if (a == nullptr || b == nullptr) return std::nullopt;
  const size_t n = std::max(a->elements.size(), b->elements.size());
  if ((a->elements.size() != n && a->elements.size() != 1) || (b->elements.size() != n && b->elements.size() != 1)) {
    return std::nullopt;
  }
  std::vector<Element> elements(n);
  for (size_t i = 0; i < n; ++i) {
    const Element x = a->elements[a->elements.size() == 1 ? 0 : i], y = b->elements[b->elements.size() == 1 ? 0 : i];
    if (x && y) elements[i] = Combine(call.node.op(), *x, *y);
  }
  return Make(call, a->is_scalar && b->is_scalar, std::move(elements));
}

// Reduces a whole vector, along axis 0 or -1, to one number.
Result Reduce(const Call& call) {
  const IntegerValue *in = call.input(0), *axes = call.input(1);
  if (in == nullptr || in->is_scalar || axes == nullptr || axes->elements.size() != 1 || !axes->IsKnown()) {
    return std::nullopt;
  }
  const bool product = call.node.op() == "Prod";
  Element total = product ? 1 : 0;
  for (const Element& element : in->elements) {
    total = total && element ? Combine(product ? "Mul" : "Add", *total, *element) : std::nullopt;
  }
  bool keep_dims = false;
  if (!GetNodeAttr(call.node.def(), "keep_dims", &keep_dims).ok()) return std::nullopt;
  return Make(call, !keep_dims, {total});
}

Result Range(const Call& call) {
  const Element start = call.Single(0), limit = call.Single(1), delta = call.Single(2);
  int64_t distance = 0;
  if (!start || !limit || !delta || *delta == 0 || __builtin_sub_overflow(*limit, *start, &distance)) {
    return std::nullopt;
  }
  const bool minus_one = *delta == -1 && distance == std::numeric_limits<int64_t>::min();
  if (minus_one || (distance != 0 && (distance < 0) != (*delta < 0))) return std::nullopt;
  const int64_t n = distance / *delta + (distance % *delta != 0 ? 1 : 0);
  if (n > IntegerValue::kMaxElements) return std::nullopt;
  std::vector<Element> elements(n);
  for (int64_t i = 0; i < n; ++i) elements[i] = *start + i * *delta;
  return Make(call, false, std::move(elements));
}

Result Fill(const Call& call) {
  const IntegerValue* dims = call.input(0);
  if (dims == nullptr || dims->is_scalar || dims->elements.size() > 1) return std::nullopt;
  if (dims->elements.empty()) return Make(call, true, {call.Single(1)});
  const Element n = dims->elements[0];
  if (!n || *n < 0 || *n > IntegerValue::kMaxElements) return std::nullopt;
  return Make(call, false, std::vector<Element>(*n, call.Single(1)));
}

IntegerValues Unpack(const Call& call) {
  IntegerValues values(call.node.num_outputs());
  const IntegerValue* in = call.input(0);
  if (in == nullptr || in->is_scalar || static_cast<int>(in->elements.size()) != call.node.num_outputs()) return values;
  for (int i = 0; i < call.node.num_outputs(); ++i) values[i] = Make(call, true, {in->elements[i]}, i);
  return values;
}

using Rule = IntegerValues (*)(const Call&);

template <Result (*evaluate)(const Call&)>
IntegerValues One(const Call& call) {
  return {evaluate(call)};
}

const absl::flat_hash_map<absl::string_view, Rule>& Rules() {
  static const auto* rules = new absl::flat_hash_map<absl::string_view, Rule>{
      {"Identity", One<Copy>},
      {"StopGradient", One<Copy>},
      {"PreventGradient", One<Copy>},
      {"Cast", One<Copy>},
      {"Shape", ShapesOf},
      {"ShapeN", ShapesOf},
      {"Size", One<Size>},
      {"Rank", One<Rank>},
      {"Pack", One<Pack>},
      {"Unpack", Unpack},
      {"ConcatV2", [](const Call& c) { return IntegerValues{Concat(c, 0, c.node.num_inputs() - 1)}; }},
      {"Concat", [](const Call& c) { return IntegerValues{Concat(c, 1, c.node.num_inputs())}; }},
      {"StridedSlice", One<StridedSlice>},
      {"Slice", One<Slice>},
      {"Gather", One<Gather>},
      {"GatherV2", One<Gather>},
      {"Reshape", One<Reshape>},
      {"ExpandDims", One<ExpandDims>},
      {"Squeeze", One<Squeeze>},
      {"Add", One<Binary>},
      {"AddV2", One<Binary>},
      {"Sub", One<Binary>},
      {"Mul", One<Binary>},
      {"Div", One<Binary>},
      {"TruncateDiv", One<Binary>},
      {"FloorDiv", One<Binary>},
      {"FloorMod", One<Binary>},
      {"Maximum", One<Binary>},
      {"Minimum", One<Binary>},
      {"Prod", One<Reduce>},
      {"Sum", One<Reduce>},
      {"Range", One<Range>},
      {"Fill", One<Fill>},
  };
  return *rules;
}

}  // namespace

bool IntegerValue::IsKnown() const {
  return std::all_of(elements.begin(), elements.end(), [](const Element& e) { return e.has_value(); });
}

std::optional<Tensor> IntegerValue::ToTensor() const {
  if (!IsKnown() || (dtype != DT_INT32 && dtype != DT_INT64)) return std::nullopt;
  const int64_t n = static_cast<int64_t>(elements.size());
  Tensor tensor(dtype, is_scalar ? TensorShape() : TensorShape({n}));
  for (int64_t i = 0; i < n; ++i) {
    if (dtype == DT_INT32) tensor.data<int32_t>()[i] = static_cast<int32_t>(*elements[i]);
    if (dtype == DT_INT64) tensor.data<int64_t>()[i] = *elements[i];
  }
  return tensor;
}

PartialTensorShape IntegerValue::ToShape() const {
  DimVector dims;
  for (const Element& element : elements) dims.push_back(element.has_value() && *element >= 0 ? *element : -1);
  if (is_scalar) return PartialTensorShape();
  auto shape = PartialTensorShape::Build(dims);
  return shape.ok() ? *shape : PartialTensorShape();
}

std::optional<IntegerValue> IntegerValue::FromTensor(const Tensor& tensor) {
  const bool wide = tensor.dtype() == DT_INT64;
  if ((!wide && tensor.dtype() != DT_INT32) || tensor.dims() > 1 || tensor.NumElements() > kMaxElements) {
    return std::nullopt;
  }
  IntegerValue value{tensor.dtype(), tensor.dims() == 0, {}};
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    value.elements.emplace_back(wide ? tensor.data<int64_t>()[i] : tensor.data<int32_t>()[i]);
  }
  return value;
}

IntegerValues EvaluateIntegers(const Node& node, const std::vector<const IntegerValue*>& inputs,
                               const std::vector<PartialTensorShape>& input_shapes) {
  auto rule = Rules().find(node.op());
  if (rule == Rules().end()) return {};
  for (DataType type : node.output_types()) {
    if (RemoveRef(type) != DT_INT32 && RemoveRef(type) != DT_INT64) return {};
  }
  return rule->second({node, inputs, input_shapes});
}

}  // namespace weir
