// Ops that reduce, move, join or pick elements.
#include <algorithm>
#include <numeric>

#include "graph/spmd/op_rule.h"

namespace weir::spmd {
namespace {

// Negative axes count from the end; nullopt where one does not exist.
std::optional<std::vector<bool>> MarkAxes(const std::vector<int64_t>& axes, int rank) {
  std::vector<bool> marked(rank, false);
  for (int64_t axis : axes) {
    if (axis < -rank || axis >= rank) return std::nullopt;
    marked[axis < 0 ? axis + rank : axis] = true;
  }
  return marked;
}

std::optional<int> OneAxis(const RuleContext& c, int input, int rank) {
  const auto axes = c.Integers(input);
  if (!axes || axes->size() != 1 || (*axes)[0] < -rank || (*axes)[0] >= rank) return std::nullopt;
  return static_cast<int>((*axes)[0] < 0 ? (*axes)[0] + rank : (*axes)[0]);
}

std::optional<OpRule> Reduction(const RuleContext& c, bool sums) {
  const TensorShape& shape = c.inputs[0];
  const auto axes = c.Integers(1);
  if (!axes) return std::nullopt;
  const auto reduced = MarkAxes(*axes, shape.dims());
  if (!reduced) return std::nullopt;
  OpRule rule;
  OpRule::Dims in, out;
  const bool keep = c.outputs[0].dims() == shape.dims();
  for (int d = 0; d < shape.dims(); ++d) {
    const bool is_reduced = (*reduced)[d];
    in.push_back({rule.AddFactor(shape.dim_size(d), is_reduced && sums, is_reduced && !sums)});
    if (!is_reduced) {
      out.push_back(in.back());
    } else if (keep) {
      out.emplace_back();
    }
  }
  if (out.size() != static_cast<size_t>(c.outputs[0].dims())) return std::nullopt;
  rule.inputs = {in, OpRule::Dims(c.inputs[1].dims())};
  rule.outputs = {out};
  if (sums) rule.linear = {0};
  return rule;
}

std::optional<OpRule> Sum(const RuleContext& c) { return Reduction(c, true); }
std::optional<OpRule> OtherReduction(const RuleContext& c) { return Reduction(c, false); }
std::optional<OpRule> Mean(const RuleContext& c) {
  if (IsInteger(c.node.output_type(0))) return std::nullopt;  // rounds
  std::optional<OpRule> rule = Reduction(c, true);
  if (rule) rule->is_mean = true;
  return rule;
}

std::optional<OpRule> L2Loss(const RuleContext& c) {
  OpRule rule;
  OpRule::Dims in;
  for (int64_t size : c.inputs[0].dim_sizes()) in.push_back({rule.AddFactor(size, /*is_reduced=*/true)});
  rule.inputs = {in};
  rule.outputs = {{}};
  return rule;
}

// Two factorisations of the same elements, slowest first: [6, 4] and [2, 3, 4] have the factors 2, 3 and 4.
class Regrouping {
 public:
  Regrouping(const TensorShape& from, const TensorShape& to) : from_(from), to_(to) {
    in_.resize(from.dims());
    out_.resize(to.dims());
  }

  OpRule Run() && {
    if (from_.num_elements() > 0) Walk();
    rule_.inputs = {std::move(in_)};
    rule_.outputs = {std::move(out_)};
    return std::move(rule_);
  }

 private:
  // Splits off the smaller of the remaining sizes of dimensions i and j in each round. If neither divides the other,
  // the dimensions up to the next common boundary stay whole.
  void Walk() {
    int i = 0, j = 0;
    int64_t left_in = 1, left_out = 1;
    while (true) {
      while (left_in == 1 && i < from_.dims()) left_in = from_.dim_size(i++);
      while (left_out == 1 && j < to_.dims()) left_out = to_.dim_size(j++);
      if (left_in == 1 || left_out == 1) return;
      const int64_t size = std::min(left_in, left_out);
      if (std::max(left_in, left_out) % size != 0) {
        if (!SkipToBoundary(&i, &j, &left_in, &left_out)) return;
        continue;
      }
      const int factor = rule_.AddFactor(size);
      in_[i - 1].push_back(factor);
      out_[j - 1].push_back(factor);
      left_in /= size;
      left_out /= size;
    }
  }

  bool SkipToBoundary(int* i, int* j, int64_t* left_in, int64_t* left_out) {
    in_[*i - 1].push_back(rule_.AddFactor(*left_in, false, /*is_whole=*/true));
    out_[*j - 1].push_back(rule_.AddFactor(*left_out, false, /*is_whole=*/true));
    while (*left_in != *left_out) {
      int64_t& less = *left_in < *left_out ? *left_in : *left_out;
      if (&less == left_in) {
        if (*i == from_.dims()) return false;
        less *= from_.dim_size((*i)++);
      } else {
        if (*j == to_.dims()) return false;
        less *= to_.dim_size((*j)++);
      }
    }
    *left_in = *left_out = 1;
    return true;
  }

  const TensorShape &from_, &to_;
  OpRule rule_;
  OpRule::Dims in_, out_;
};

std::optional<OpRule> Regroup(const RuleContext& c) {
  OpRule rule = Regrouping(c.inputs[0], c.outputs[0]).Run();
  for (size_t i = 1; i < c.inputs.size(); ++i) rule.inputs.emplace_back(c.inputs[i].dims());
  rule.linear = {0};
  return rule;
}

std::optional<OpRule> Reshape(const RuleContext& c) {
  std::optional<OpRule> rule = Regroup(c);
  rule->shape_inputs = {{1, 0}};
  return rule;
}

std::optional<OpRule> Transpose(const RuleContext& c) {
  const auto order = c.Integers(1);
  const TensorShape& shape = c.inputs[0];
  if (!order || static_cast<int>(order->size()) != shape.dims()) return std::nullopt;
  OpRule rule;
  OpRule::Dims in, out;
  for (int64_t size : shape.dim_sizes()) in.push_back({rule.AddFactor(size)});
  for (int64_t d : *order) {
    if (d < 0 || d >= shape.dims()) return std::nullopt;
    out.push_back(in[d]);
  }
  rule.inputs = {in, {{}}};
  rule.outputs = {out};
  rule.linear = {0};
  return rule;
}

std::optional<OpRule> BroadcastTo(const RuleContext& c) {
  OpRule rule;
  const TensorShape &from = c.inputs[0], &to = c.outputs[0];
  OpRule::Dims in(from.dims()), out;
  for (int d = 0; d < to.dims(); ++d) {
    out.push_back({rule.AddFactor(to.dim_size(d))});
    const int at = d - (to.dims() - from.dims());
    if (at >= 0 && from.dim_size(at) == to.dim_size(d)) in[at] = out[d];
  }
  rule.inputs = {in, OpRule::Dims(c.inputs[1].dims())};
  rule.outputs = {out};
  rule.linear = {0};
  rule.shape_inputs = {{1, 0}};
  return rule;
}

// Dimensions of equal size in the output and the first input correspond; others are never split.
std::optional<OpRule> SameDimensions(const RuleContext& c) {
  OpRule rule;
  const TensorShape &from = c.inputs[0], &to = c.outputs[0];
  if (from.dims() != to.dims()) return std::nullopt;
  OpRule::Dims in(from.dims()), out(to.dims());
  for (int d = 0; d < to.dims(); ++d) {
    if (from.dim_size(d) == to.dim_size(d)) in[d] = out[d] = {rule.AddFactor(to.dim_size(d))};
  }
  rule.inputs = {in};
  for (size_t i = 1; i < c.inputs.size(); ++i) rule.inputs.emplace_back(c.inputs[i].dims());
  rule.outputs = {out};
  rule.linear = {0};
  return rule;
}

std::optional<OpRule> Slice(const RuleContext& c) {
  std::optional<OpRule> rule = SameDimensions(c);
  if (rule) rule->shape_inputs = {{2, 0}};
  return rule;
}

// Tensors whose shapes differ only in dimension `axis`, which is never split; the last input is the axis.
std::optional<OpRule> Joined(const RuleContext& c, int axis) {
  OpRule rule;
  const TensorShape& y = c.outputs[0];
  OpRule::Dims dims(y.dims());
  for (int d = 0; d < y.dims(); ++d) {
    if (d != axis) dims[d] = {rule.AddFactor(y.dim_size(d))};
  }
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const TensorShape& shape = c.inputs[i];
    if (shape.dims() == y.dims() && i + 1 < c.inputs.size()) {
      rule.inputs.push_back(dims);
      rule.linear.push_back(static_cast<int>(i));
    } else {
      rule.inputs.emplace_back(shape.dims());
    }
  }
  rule.outputs = {dims};
  return rule;
}

std::optional<OpRule> Concat(const RuleContext& c) {
  const auto axis = OneAxis(c, static_cast<int>(c.inputs.size()) - 1, c.outputs[0].dims());
  return axis ? Joined(c, *axis) : std::nullopt;
}

std::optional<OpRule> Pack(const RuleContext& c) {
  const int rank = c.outputs[0].dims();
  int64_t axis = c.Attr<int64_t>("axis");
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return std::nullopt;
  OpRule rule;
  OpRule::Dims in, out(rank);
  for (int d = 0; d < rank; ++d) {
    if (d == axis) continue;
    out[d] = {rule.AddFactor(c.outputs[0].dim_size(d))};
    in.push_back(out[d]);
  }
  rule.inputs.assign(c.inputs.size(), in);
  rule.outputs = {out};
  return rule;
}

std::optional<OpRule> SplitRule(const RuleContext& c, int value, int axis_input) {
  const TensorShape& x = c.inputs[value];
  const auto axis = OneAxis(c, axis_input, x.dims());
  if (!axis) return std::nullopt;
  OpRule rule;
  OpRule::Dims dims(x.dims());
  for (int d = 0; d < x.dims(); ++d) {
    if (d != *axis) dims[d] = {rule.AddFactor(x.dim_size(d))};
  }
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    rule.inputs.push_back(static_cast<int>(i) == value ? dims : OpRule::Dims(c.inputs[i].dims()));
  }
  rule.outputs.assign(c.outputs.size(), dims);
  rule.linear = {value};
  return rule;
}

std::optional<OpRule> Split(const RuleContext& c) { return SplitRule(c, 1, 0); }
std::optional<OpRule> SplitSizes(const RuleContext& c) { return SplitRule(c, 0, 2); }

std::optional<OpRule> Arg(const RuleContext& c) {
  const TensorShape& x = c.inputs[0];
  const auto axis = OneAxis(c, 1, x.dims());
  if (!axis) return std::nullopt;
  OpRule rule;
  OpRule::Dims in, out;
  for (int d = 0; d < x.dims(); ++d) {
    in.push_back({rule.AddFactor(x.dim_size(d), false, d == *axis)});
    if (d != *axis) out.push_back(in.back());
  }
  rule.inputs = {in, OpRule::Dims(c.inputs[1].dims())};
  rule.outputs = {out};
  return rule;
}

std::optional<OpRule> Gather(const RuleContext& c) {
  const TensorShape &table = c.inputs[0], &ids = c.inputs[1];
  if (table.dims() < 1) return std::nullopt;
  if (c.node.op() == "GatherV2") {
    const auto axis = OneAxis(c, 2, table.dims());
    if (!axis || *axis != 0) return std::nullopt;
  }
  if (c.Attr<int64_t>("batch_dims") != 0) return std::nullopt;
  OpRule rule;
  OpRule::Dims rows = {{rule.AddFactor(table.dim_size(0), /*is_reduced=*/true)}}, indices, out;
  for (int64_t size : ids.dim_sizes()) indices.push_back({rule.AddFactor(size)});
  out = indices;
  for (int d = 1; d < table.dims(); ++d) {
    rows.push_back({rule.AddFactor(table.dim_size(d))});
    out.push_back(rows.back());
  }
  rule.inputs = {rows, indices};
  if (c.inputs.size() > 2) rule.inputs.emplace_back(c.inputs[2].dims());
  rule.outputs = {out};
  rule.rows = OpRule::Rows{.indices = 1};
  return rule;
}

std::optional<OpRule> SegmentSum(const RuleContext& c) {
  const TensorShape &data = c.inputs[0], &ids = c.inputs[1];
  if (ids.dims() > data.dims() || c.outputs[0].dims() != data.dims() - ids.dims() + 1) return std::nullopt;
  OpRule rule;
  OpRule::Dims in, indices, out = {{}};
  for (int d = 0; d < data.dims(); ++d) {
    in.push_back({rule.AddFactor(data.dim_size(d), /*is_reduced=*/d < ids.dims())});
    (d < ids.dims() ? indices : out).push_back(in.back());
  }
  rule.inputs = {in, indices, OpRule::Dims(c.inputs[2].dims())};
  rule.outputs = {out};
  return rule;
}

std::optional<OpRule> OneHot(const RuleContext& c) {
  const TensorShape &ids = c.inputs[0], &y = c.outputs[0];
  const int64_t axis = c.Attr<int64_t>("axis", -1);
  if (axis != -1 && axis != ids.dims()) return std::nullopt;
  OpRule rule;
  OpRule::Dims in;
  for (int64_t size : ids.dim_sizes()) in.push_back({rule.AddFactor(size)});
  rule.inputs = {in, {}, {}, {}};
  OpRule::Dims out = in;
  out.emplace_back();
  if (static_cast<int>(out.size()) != y.dims()) return std::nullopt;
  rule.outputs = {out};
  return rule;
}

// Without a list it removes all dimensions of size 1, and a part of a dimension may have size 1 too.
std::optional<OpRule> Squeeze(const RuleContext& c) {
  if (c.Attr<std::vector<int64_t>>("squeeze_dims").empty()) return std::nullopt;
  return Regroup(c);
}

}  // namespace

void AddShapeRules(OpRules& rules) {
  rules.Add({"Sum"}, Sum);
  rules.Add({"Mean"}, Mean);
  rules.Add({"All", "Any", "EuclideanNorm", "Max", "Min", "Prod"}, OtherReduction);
  rules.Add({"L2Loss"}, L2Loss);
  rules.Add({"ExpandDims"}, Regroup);
  rules.Add({"Squeeze"}, Squeeze);
  rules.Add({"Reshape"}, Reshape);
  rules.Add({"Transpose"}, Transpose);
  rules.Add({"BroadcastTo"}, BroadcastTo);
  rules.Add({"Pad", "Tile"}, SameDimensions);
  rules.Add({"Slice"}, Slice);
  rules.Add({"ConcatV2"}, Concat);
  rules.Add({"Pack"}, Pack);
  rules.Add({"Split"}, Split);
  rules.Add({"SplitV"}, SplitSizes);
  rules.Add({"ArgMax", "ArgMin"}, Arg);
  rules.Add({"GatherV2", "ResourceGather"}, Gather);
  rules.Add({"UnsortedSegmentSum"}, SegmentSum);
  rules.Add({"OneHot"}, OneHot);
}

}  // namespace weir::spmd
