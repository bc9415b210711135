// Convolutions and pooling: batch and channels can be split, spatial dimensions cannot.
#include "graph/spmd/op_rule.h"

namespace weir::spmd {
namespace {

bool IsPlain(const RuleContext& c) {
  const std::string format = c.Attr<std::string>("data_format");
  return format.empty() || format == "NHWC";
}

// In a grouped convolution the filter has only some of the input's channels.
bool HasAllChannels(const TensorShape& images, const TensorShape& filter) {
  return images.dims() == 4 && filter.dims() == 4 && images.dim_size(3) == filter.dim_size(2);
}

std::optional<OpRule> Convolution(const RuleContext& c) {
  if (!IsPlain(c) || !HasAllChannels(c.inputs[0], c.inputs[1])) return std::nullopt;
  return RuleFromLabels(c, "b..i,..io->b..o");
}

std::optional<OpRule> ConvolutionInputGrad(const RuleContext& c) {
  if (!IsPlain(c) || !HasAllChannels(c.outputs[0], c.inputs[1])) return std::nullopt;
  std::optional<OpRule> rule = RuleFromLabels(c, ".,..io,b..o->b..i");
  if (rule) rule->shape_inputs = {{0, 0}};
  return rule;
}

std::optional<OpRule> ConvolutionFilterGrad(const RuleContext& c) {
  if (!IsPlain(c) || !HasAllChannels(c.inputs[0], c.outputs[0])) return std::nullopt;
  std::optional<OpRule> rule = RuleFromLabels(c, "b..i,.,b..o->..io");
  if (rule) rule->shape_inputs = {{1, 0}};
  return rule;
}

std::optional<OpRule> Pool(const RuleContext& c) { return IsPlain(c) ? RuleFromLabels(c, "b..c->b..c") : std::nullopt; }

std::optional<OpRule> MaxPoolGrad(const RuleContext& c) {
  return IsPlain(c) ? RuleFromLabels(c, "b..c,b..c,b..c->b..c") : std::nullopt;
}

std::optional<OpRule> AveragePoolGrad(const RuleContext& c) {
  if (!IsPlain(c)) return std::nullopt;
  std::optional<OpRule> rule = RuleFromLabels(c, ".,b..c->b..c");
  if (rule) rule->shape_inputs = {{0, 0}};
  return rule;
}

}  // namespace

void AddImageRules(OpRules& rules) {
  rules.Add({"Conv2D"}, Convolution);
  rules.Add({"Conv2DBackpropInput"}, ConvolutionInputGrad);
  rules.Add({"Conv2DBackpropFilter"}, ConvolutionFilterGrad);
  rules.Add({"AvgPool", "MaxPool"}, Pool);
  rules.Add({"MaxPoolGrad"}, MaxPoolGrad);
  rules.Add({"AvgPoolGrad"}, AveragePoolGrad);
}

}  // namespace weir::spmd
