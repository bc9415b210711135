// The gradient of RGBToHSV.

#include "graph/gradients/terms.h"
#include "kernels/image/family.h"

namespace weir {
namespace {

using G = GradientContext;
using gradients::Mul;
using gradients::Sub;

Output And(G& g, const Output& a, const Output& b) { return g.Call("LogicalAnd", {a, b}); }
Output Divide(G& g, const Output& a, const Output& b) { return g.Call("DivNoNan", {a, b}); }

Output Channel(G& g, const Output& x, int32_t i) {
  return g.Call(
      "StridedSlice",
      {x, Tensor::Vector<int32_t>({0, i}), Tensor::Vector<int32_t>({0, i + 1}), Tensor::Vector<int32_t>({1, 1})},
      {G::Set("ellipsis_mask", int64_t{1}), G::Set("shrink_axis_mask", int64_t{2})});
}

// The largest and the smallest channel of each pixel, as 0 or 1; of equal ones the first is the largest, the last the
// smallest.
struct Order {
  Order(G& g, const Output (&rgb)[3]) {
    const auto compare = [&](const char* how, int i, int j) { return g.Call(how, {rgb[i], rgb[j]}); };
    const auto number = [&](const Output& a, const Output& b) {
      return g.Call("Cast", {And(g, a, b)}, {G::Set("DstT", rgb[0].type())});
    };
    largest[0] = number(compare("GreaterEqual", 0, 1), compare("GreaterEqual", 0, 2));
    largest[1] = number(compare("Greater", 1, 0), compare("GreaterEqual", 1, 2));
    largest[2] = number(compare("Greater", 2, 0), compare("Greater", 2, 1));
    smallest[0] = number(compare("Less", 0, 1), compare("Less", 0, 2));
    smallest[1] = number(compare("LessEqual", 1, 0), compare("Less", 1, 2));
    smallest[2] = number(compare("LessEqual", 2, 0), compare("LessEqual", 2, 1));
  }
  Output largest[3], smallest[3];
};

// value = max; saturation = range / max; hue = (difference of the other two / range + a constant) / 6, with range = max
// - min. What is divided by zero counts as zero, and so does the saturation's slope by a channel that is not positive.
absl::Status RgbToHsv(G& g) {
  const Output x = g.input(0), dy = g.dy(), value = Channel(g, g.output(0), 2);
  const Output rgb[3] = {Channel(g, x, 0), Channel(g, x, 1), Channel(g, x, 2)};
  const Order order(g, rgb);
  const Output zero = g.Call("ZerosLike", {value}), one = g.Call("OnesLike", {value});
  const Output range = Mul(g, Channel(g, g.output(0), 1), value), minimum = Sub(g, value, range);
  const Output reciprocal = Divide(g, one, value);
  const Output by_largest = Mul(g, minimum, g.Call("Square", {reciprocal}));
  // The difference that the hue measures, and its slopes by the channels.
  Output difference = zero, slopes[3] = {zero, zero, zero};
  for (int i = 0; i < 3; ++i) {
    const int next = (i + 1) % 3, last = (i + 2) % 3;
    difference = g.Call("AddV2", {difference, Mul(g, order.largest[i], Sub(g, rgb[next], rgb[last]))});
    slopes[next] = g.Call("AddV2", {slopes[next], order.largest[i]});
    slopes[last] = Sub(g, slopes[last], order.largest[i]);
  }
  const Output sixth = Divide(g, Divide(g, Channel(g, dy, 0), range), g.Call("Mul", {one, 6}));
  InputList channels;
  for (int i = 0; i < 3; ++i) {
    const Output range_slope = Sub(g, order.largest[i], order.smallest[i]);
    const Output hue = Mul(g, sixth, Sub(g, slopes[i], Mul(g, range_slope, Divide(g, difference, range))));
    const Output slope = Sub(g, Mul(g, order.largest[i], by_largest), Mul(g, order.smallest[i], reciprocal));
    const Output positive = g.Call("Greater", {rgb[i], zero});
    const Output saturation = Mul(g, Channel(g, dy, 1), g.Call("SelectV2", {positive, slope, zero}));
    const Output brightness = Mul(g, Channel(g, dy, 2), order.largest[i]);
    channels.push_back(g.CallWithLists("AddN", {{hue, saturation, brightness}}));
  }
  g.set_grad(0, g.CallWithLists("Pack", {channels}, {G::Set("axis", int64_t{-1})}));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterColorGradients(OpRegistry& ops) { return ops.RegisterGradient("RGBToHSV", RgbToHsv); }

}  // namespace weir
