#include "graph/spmd/choose_sharding.h"

#include <algorithm>
#include <numeric>

namespace weir::spmd {
namespace {

class Chooser {
 public:
  Chooser(const Mesh& mesh, const OpRule& rule, const RuleContext& context, const std::vector<Operand>& operands)
      : mesh_(mesh), rule_(rule), context_(context), operands_(operands), axis_of_(rule.factors.size(), kWhole) {
    can_split_.resize(rule.factors.size());
    for (size_t f = 0; f < rule.factors.size(); ++f) can_split_[f] = !rule.factors[f].is_whole;
    for (const auto* side : {&rule.inputs, &rule.outputs}) {
      for (const OpRule::Dims& dims : *side) MarkFasterFactors(dims);
    }
  }

  absl::StatusOr<Choice> Run(const std::vector<std::optional<Sharding>>& wanted) {
    partial_ = CommonPartial();
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (!operands_[i].is_fixed) continue;
      Take(rule_.inputs[i], operands_[i].sharding);
      RETURN_IF_ERROR(CheckFixed(static_cast<int>(i)));
      KeepWhole(rule_.inputs[i]);
    }
    for (int i : BySize()) Take(rule_.inputs[i], operands_[i].sharding);
    for (size_t i = 0; i < wanted.size() && i < rule_.outputs.size(); ++i) {
      if (wanted[i]) Take(rule_.outputs[i], *wanted[i]);
    }
    return Result();
  }

 private:
  // A dimension is split along its slowest factor only.
  void MarkFasterFactors(const OpRule::Dims& dims) {
    for (const OpRule::Dim& dim : dims) {
      for (size_t i = 1; i < dim.size(); ++i) can_split_[dim[i]] = false;
    }
  }

  uint32_t CommonPartial() const {
    if (rule_.linear.empty()) return 0;
    const uint32_t first = operands_[rule_.linear[0]].sharding.partial;
    const bool all_same = std::all_of(rule_.linear.begin(), rule_.linear.end(),
                                      [&](int i) { return operands_[i].sharding.partial == first; });
    return all_same ? first : 0;
  }

  bool IsFree(int axis) const {
    return (partial_ >> axis & 1) == 0 && std::find(axis_of_.begin(), axis_of_.end(), axis) == axis_of_.end();
  }

  void Take(const OpRule::Dims& dims, const Sharding& sharding) {
    for (size_t d = 0; d < dims.size(); ++d) {
      const int axis = sharding.dims[d];
      if (axis == kWhole || dims[d].empty()) continue;
      const int factor = dims[d][0];
      const bool divides = rule_.factors[factor].size % mesh_.axes()[axis].size == 0;
      if (can_split_[factor] && divides && axis_of_[factor] == kWhole && IsFree(axis)) axis_of_[factor] = axis;
    }
  }

  // A dimension that is not split in a fixed input stays whole.
  void KeepWhole(const OpRule::Dims& dims) {
    for (const OpRule::Dim& dim : dims) {
      if (!dim.empty() && axis_of_[dim[0]] == kWhole) can_split_[dim[0]] = false;
    }
  }

  absl::Status CheckFixed(int input) const {
    const Sharding needed = ShardingFor(rule_.inputs[input]);
    if (needed == operands_[input].sharding) return absl::OkStatus();
    for (const Operand& other : operands_) {
      if (!other.is_fixed || other.sharding == operands_[input].sharding) continue;
      if (other.sharding.dims.size() != needed.dims.size()) continue;
      return errors::InvalidArgument("Its variables have conflicting layouts, ", other.sharding.ToString(mesh_),
                                     " and ", operands_[input].sharding.ToString(mesh_), ": give them the same");
    }
    return errors::Unimplemented("It cannot work on a variable with the layout ",
                                 operands_[input].sharding.ToString(mesh_), ", only on ", needed.ToString(mesh_));
  }

  std::vector<int> BySize() const {
    std::vector<int> order;
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (!operands_[i].is_fixed) order.push_back(static_cast<int>(i));
    }
    std::stable_sort(order.begin(), order.end(), [this](int a, int b) {
      return context_.inputs[a].num_elements() > context_.inputs[b].num_elements();
    });
    return order;
  }

  Sharding ShardingFor(const OpRule::Dims& dims) const {
    Sharding sharding = Sharding::Replicated(static_cast<int>(dims.size()));
    for (size_t d = 0; d < dims.size(); ++d) {
      if (!dims[d].empty()) sharding.dims[d] = axis_of_[dims[d][0]];
    }
    return sharding;
  }

  Choice Result() const {
    Choice choice;
    for (const OpRule::Dims& dims : rule_.inputs) choice.inputs.push_back(ShardingFor(dims));
    for (int i : rule_.linear) choice.inputs[i].partial = partial_;
    uint32_t partial = partial_;
    for (size_t f = 0; f < axis_of_.size(); ++f) {
      if (!rule_.factors[f].is_reduced || axis_of_[f] == kWhole) continue;
      partial |= 1u << axis_of_[f];
      if (rule_.is_mean) choice.scale /= mesh_.axes()[axis_of_[f]].size;
    }
    for (const OpRule::Dims& dims : rule_.outputs) {
      choice.outputs.push_back(ShardingFor(dims));
      choice.outputs.back().partial = partial;
    }
    choice.axis_of = axis_of_;
    return choice;
  }

  const Mesh& mesh_;
  const OpRule& rule_;
  const RuleContext& context_;
  const std::vector<Operand>& operands_;
  std::vector<int> axis_of_;
  std::vector<bool> can_split_;
  uint32_t partial_ = 0;
};

}  // namespace

absl::StatusOr<Choice> ChooseSharding(const Mesh& mesh, const OpRule& rule, const RuleContext& context,
                                      const std::vector<Operand>& operands,
                                      const std::vector<std::optional<Sharding>>& wanted) {
  return Chooser(mesh, rule, context, operands).Run(wanted);
}

}  // namespace weir::spmd
