#include "kernels/linalg/matmul/einsum_plan.h"

#include <algorithm>

#include "absl/strings/str_split.h"
#include "kernels/device/dense_steps.h"

namespace weir {
namespace {

using Labels = std::vector<int>;
using Sizes = std::map<int, int64_t>;
constexpr int kEllipsis = 1 << 20;  // stands for all of its dimensions in an equation

bool Has(const Labels& labels, int label) { return std::find(labels.begin(), labels.end(), label) != labels.end(); }

int64_t Count(const Labels& labels, Sizes& sizes) {
  int64_t count = 1;
  for (const int label : labels) count = MultiplyWithoutOverflow(count, sizes[label]);
  return count;
}

}  // namespace

// The step along each label of an input; a repeated label steps along a diagonal.
struct EinsumEquation::View {
  Sizes steps, sizes;

  static absl::StatusOr<View> Of(const Labels& labels, const TensorShape& shape) {
    View view;
    const DimVector steps = DenseSteps(shape.dim_sizes());
    for (size_t d = 0; d < labels.size(); ++d) {
      const int64_t size = shape.dim_size(static_cast<int>(d));
      const auto [at, fresh] = view.sizes.emplace(labels[d], size);
      if (!fresh && at->second != size) {
        return errors::InvalidArgument("Expected dimension ", at->second, " at axis ", d, " of the input shaped ",
                                       shape.ToString(), " but got dimension ", size);
      }
      view.steps[labels[d]] += steps[d];
    }
    return view;
  }

  EinsumPlan::Operand Arranged(std::initializer_list<Labels> groups, const Labels& summed, Sizes& all) {
    EinsumPlan::Operand operand;
    const auto append = [&](const Labels& group) {
      for (const int label : group) {
        operand.sizes.push_back(all[label]);
        operand.steps.push_back(sizes[label] == 1 ? 0 : steps[label]);
      }
    };
    for (const Labels& group : groups) append(group);
    append(summed);
    operand.num_summed = static_cast<int>(summed.size());
    return operand;
  }
};

// What the labels are to the product.
struct EinsumEquation::Roles {
  Labels batch, contracted, free[2], summed[2];

  Roles(const std::vector<Labels>& inputs, const Labels& output, const Sizes& sizes) {
    for (const auto& [label, size] : sizes) {
      const bool in[2] = {Has(inputs[0], label), inputs.size() == 2 && Has(inputs[1], label)};
      const bool is_kept = Has(output, label);
      if (in[0] && in[1]) {
        (is_kept ? batch : contracted).push_back(label);
      } else {
        (is_kept ? free : summed)[in[0] ? 0 : 1].push_back(label);
      }
    }
  }
};

absl::StatusOr<EinsumEquation> EinsumEquation::Parse(const std::string& equation, int num_inputs) {
  const std::vector<std::string> sides = absl::StrSplit(equation, "->");
  if (sides.size() != 2) return errors::InvalidArgument("Expecting exactly one '->' in einsum equation: ", equation);
  EinsumEquation parsed;
  for (absl::string_view term : absl::StrSplit(sides[0], ',')) {
    ASSIGN_OR_RETURN(Labels labels, ParseTerm(term));
    parsed.inputs_.push_back(std::move(labels));
  }
  ASSIGN_OR_RETURN(parsed.output_, ParseTerm(sides[1]));
  if (static_cast<int>(parsed.inputs_.size()) != num_inputs) {
    return errors::InvalidArgument("Expected ", parsed.inputs_.size(), " inputs in equation ", equation,
                                   " but got: ", num_inputs);
  }
  if (num_inputs > 2) {
    return errors::InvalidArgument("Expecting 1 or 2 input subscripts in equation '", equation,
                                   "' but got: ", num_inputs);
  }
  return parsed;
}

absl::StatusOr<EinsumEquation::Labels> EinsumEquation::ParseTerm(absl::string_view term) {
  Labels labels;
  bool has_ellipsis = false;
  for (size_t i = 0; i < term.size(); ++i) {
    if (term[i] != '.') {
      labels.push_back(static_cast<unsigned char>(term[i]));
      continue;
    }
    if (term.substr(i, 3) != "..." || has_ellipsis) {
      return errors::InvalidArgument("Period character found outside of ellipsis, or twice, in: ", term);
    }
    has_ellipsis = true;
    labels.push_back(kEllipsis);
    i += 2;
  }
  return labels;
}

// `labels` with the ellipsis written out as `width` dimensions.
EinsumEquation::Labels EinsumEquation::Expand(const Labels& labels, int width) {
  Labels expanded;
  for (const int label : labels) {
    if (label != kEllipsis) {
      expanded.push_back(label);
      continue;
    }
    for (int i = width; i > 0; --i) expanded.push_back(-i);
  }
  return expanded;
}

// The labels of all dimensions of input `i`.
absl::StatusOr<EinsumEquation::Labels> EinsumEquation::ExpandInput(const Labels& labels, int i, int rank) {
  const int named = static_cast<int>(labels.size());
  if (!Has(labels, kEllipsis)) {
    if (named == rank) return labels;
    return errors::InvalidArgument("Expected input ", i, " to have rank ", named, " but got: ", rank);
  }
  if (rank >= named - 1) return Expand(labels, rank - named + 1);
  return errors::InvalidArgument("Expected input ", i, " to have rank at least ", named - 1, " but got: ", rank);
}

// Adds what input `i` says of the sizes of labels; `width` is that of the widest ellipsis.
absl::Status EinsumEquation::Merge(absl::Span<const TensorShape> inputs, size_t i, const Labels& labels,
                                   const View& view, Sizes* sizes, int* width) {
  for (const auto& [label, size] : view.sizes) {
    if (label < 0) *width = std::max(*width, -label);
    const auto [at, fresh] = sizes->emplace(label, size);
    if (fresh || at->second == size) continue;
    if (label < 0 && (at->second == 1 || size == 1)) {
      at->second = std::max(at->second == 1 ? size : at->second, int64_t{0});
      continue;
    }
    if (label < 0) {
      return errors::InvalidArgument("In[0] and In[1] must have compatible batch dimensions: ", inputs[0].ToString(),
                                     " vs. ", inputs[i].ToString());
    }
    const auto axis = std::find(labels.begin(), labels.end(), label) - labels.begin();
    return errors::InvalidArgument("Expected dimension ", at->second, " at axis ", axis, " of the input shaped ",
                                   inputs[i].ToString(), " but got dimension ", size);
  }
  return absl::OkStatus();
}

// [batch, free of a, free of b] in the order of the output; a repeated label fills a diagonal.
void EinsumEquation::PlaceProduct(const Labels& order, const Labels& output, Sizes& sizes, EinsumPlan* plan) {
  const DimVector dense = DenseSteps(plan->output.dim_sizes());
  for (const int label : order) {
    plan->sizes.push_back(sizes[label]);
    plan->steps.push_back(0);
    for (size_t d = 0; d < output.size(); ++d) plan->steps.back() += output[d] == label ? dense[d] : 0;
  }
  plan->has_diagonal = order.size() < output.size();
}

absl::StatusOr<EinsumPlan> EinsumEquation::PlanFor(absl::Span<const TensorShape> inputs) const {
  std::vector<Labels> labels(inputs.size());
  std::vector<View> views(inputs.size());
  Sizes sizes;
  int width = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    ASSIGN_OR_RETURN(labels[i], ExpandInput(inputs_[i], static_cast<int>(i), inputs[i].dims()));
    ASSIGN_OR_RETURN(views[i], View::Of(labels[i], inputs[i]));
    RETURN_IF_ERROR(Merge(inputs, i, labels[i], views[i], &sizes, &width));
  }
  const Labels output = Expand(output_, width);
  DimVector dims;
  for (const int label : output) {
    if (!sizes.contains(label)) {
      return errors::InvalidArgument("Output subscripts must appear in one of the input subscripts");
    }
    dims.push_back(sizes[label]);
  }
  EinsumPlan plan;
  ASSIGN_OR_RETURN(plan.output, TensorShape::Build(dims));
  const Roles roles(labels, output, sizes);
  plan.operands.push_back(views[0].Arranged({roles.batch, roles.free[0], roles.contracted}, roles.summed[0], sizes));
  plan.batches = Count(roles.batch, sizes);
  plan.rows = Count(roles.free[0], sizes);
  plan.k = Count(roles.contracted, sizes);
  if (inputs.size() == 2) {
    plan.operands.push_back(views[1].Arranged({roles.batch, roles.contracted, roles.free[1]}, roles.summed[1], sizes));
    plan.columns = Count(roles.free[1], sizes);
  }
  Labels order = roles.batch;
  for (const Labels& part : roles.free) order.insert(order.end(), part.begin(), part.end());
  PlaceProduct(order, output, sizes, &plan);
  return plan;
}

}  // namespace weir
