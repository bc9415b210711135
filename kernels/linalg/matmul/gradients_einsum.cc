// The gradient of Einsum, by Einsum.
#include "absl/strings/str_replace.h"
#include "graph/gradients/gradient_context.h"
#include "kernels/linalg/family.h"

namespace weir {
namespace {

using G = GradientContext;

// In labels an ellipsis is one '.'.
constexpr char kEllipsis = '.';
bool Has(const std::string& labels, char label) { return labels.find(label) != std::string::npos; }
std::string Written(const std::string& labels) { return absl::StrReplaceAll(labels, {{".", "..."}}); }

Output CallEinsum(G& g, const std::vector<std::pair<std::string, Output>>& operands, const std::string& out) {
  InputList inputs;
  std::string left;
  for (const auto& [labels, value] : operands) {
    absl::StrAppend(&left, inputs.empty() ? "" : ",", Written(labels));
    inputs.push_back(value);
  }
  return g.CallWithLists("Einsum", {inputs}, {G::Set("equation", absl::StrCat(left, "->", Written(out)))});
}

// One operand of the op, and its labels.
struct Operand {
  std::string labels;
  Output value;
};

// d(loss)/d(operand), spread as its labels were: what arrives contracted with the other operand. Labels that the
// operand alone has were summed away: ones of its shape bring them back.
Output Spread(G& g, const Operand& own, const std::string& out, const Operand* other) {
  std::vector<std::pair<std::string, Output>> arriving = {{out, g.dy()}};
  if (other != nullptr) {
    arriving.emplace_back(other->labels,
                          IsComplex(other->value.type()) ? g.Call("Conj", {other->value}) : other->value);
  }
  std::string present;
  bool complete = true;
  for (const char label : own.labels) {
    const bool arrives = Has(out, label) || (other != nullptr && Has(other->labels, label));
    // The other operand's ellipsis may be narrower.
    complete = complete && arrives && (label != kEllipsis || Has(out, label));
    if (arrives && !Has(present, label)) present += label;
  }
  if (complete) return CallEinsum(g, arriving, own.labels);
  const Output gradient = CallEinsum(g, arriving, present);
  return CallEinsum(g, {{present, gradient}, {own.labels, g.Call("OnesLike", {own.value})}}, own.labels);
}

// Likewise where dimensions of the ellipsis may have been broadcast, and have to be summed. They are brought to the
// front for that.
Output SpreadAndSum(G& g, const Operand& own, const std::string& out, const Operand& other) {
  Operand front = {absl::StrCat(".", absl::StrReplaceAll(own.labels, {{".", ""}})), own.value};
  if (front.labels != own.labels) front.value = CallEinsum(g, {{own.labels, own.value}}, front.labels);
  const Output spread = Spread(g, front, out, &other);
  const Output shape = g.Call("Shape", {front.value});
  const Output axes = g.Call("BroadcastGradientArgs", {shape, g.Call("Shape", {spread})});
  const Output sum = g.Call("Reshape", {g.Call("Sum", {spread, axes}), shape});
  return front.labels == own.labels ? sum : CallEinsum(g, {{front.labels, sum}}, own.labels);
}

absl::Status Einsum(G& g) {
  const std::string equation = absl::StrReplaceAll(g.Attr<std::string>("equation"), {{" ", ""}, {"...", "."}});
  const size_t arrow = equation.find("->"), comma = equation.find(',');
  if (arrow == std::string::npos || g.num_inputs() > 2 || (comma == std::string::npos) != (g.num_inputs() == 1)) {
    return errors::InvalidArgument("Expecting 1 or 2 input subscripts in equation '", equation, "'");
  }
  const std::string out = equation.substr(arrow + 2);
  if (g.num_inputs() == 1) {
    g.set_grad(0, Spread(g, {equation.substr(0, arrow), g.input(0)}, out, nullptr));
    return absl::OkStatus();
  }
  const Operand operands[] = {{equation.substr(0, comma), g.input(0)},
                              {equation.substr(comma + 1, arrow - comma - 1), g.input(1)}};
  for (const int i : {0, 1}) {
    const Operand &own = operands[i], &other = operands[1 - i];
    g.set_grad(i, Has(own.labels, kEllipsis) ? SpreadAndSum(g, own, out, other) : Spread(g, own, out, &other));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterEinsumGradients(OpRegistry& ops) { return ops.RegisterGradient("Einsum", Einsum); }

}  // namespace weir
