#include "tests/gradients/family_cases.h"

namespace weir {
namespace {

std::vector<OpCase> MovingOrderCases() {
  const int64_t one = 1;
  return {
      Twice({"Transpose", {X({2, 3, 4}), Ints({2, 0, 1})}}),
      Complex({"ConjugateTranspose", {X({2, 3}), Ints({1, 0})}}),
      {"Tile", {X({2, 3}), Ints({2, 3})}},
      {"Reverse", {X({2, 3}), C(AsTensor<bool>({true, false}))}},
      {"ReverseV2", {X({2, 3}), Ints({1})}},
      {"ReverseSequence", {X({2, 4}), C(AsTensor<int64_t>({3, 2}))}, Attrs().Set("seq_dim", one)},
      {"Roll", {X({3, 4}), Ints({1, -2}), Ints({0, 1})}},
  };
}

std::vector<OpCase> MovingPadCases() {
  return {
      Twice({"Pad", {X({2, 2}), IntRows({1, 0, 0, 2}, 2)}}),
      {"PadV2", {X({2, 2}), IntRows({1, 0, 0, 2}, 2), X({})}},
      {"MirrorPad", {X({3, 3}), IntRows({1, 0, 2, 1}, 2)}, Attrs().Set("mode", std::string("REFLECT"))},
      {"MirrorPad", {X({3, 3}), IntRows({1, 0, 2, 1}, 2)}, Attrs().Set("mode", std::string("SYMMETRIC"))},
      {"MirrorPadGrad", {X({4, 6}), IntRows({1, 0, 2, 1}, 2)}, Attrs().Set("mode", std::string("REFLECT"))},
  };
}

std::vector<OpCase> MovingBlockCases() {
  const OpArgument pads = C(AsTensor<int32_t>({1, 0, 0, 1}, TensorShape({2, 2}))), two = Ints({2, 2});
  const Attrs size = Attrs().Set("block_size", int64_t{2});
  return {
      Twice({"SpaceToBatchND", {X({1, 3, 5, 2}), two, pads}}), Twice({"BatchToSpaceND", {X({4, 2, 2, 1}), two, pads}}),
      {"SpaceToBatch", {X({1, 3, 5, 2}), pads}, size},         {"BatchToSpace", {X({4, 2, 2, 1}), pads}, size},
      Twice({"SpaceToDepth", {X({1, 4, 2, 3})}, size}),        {"DepthToSpace", {X({1, 2, 1, 8})}, size},
  };
}

}  // namespace

std::vector<OpCase> MovingGradientCases() { return Joined({MovingOrderCases(), MovingPadCases(), MovingBlockCases()}); }

namespace {

TEST(MovingGradients, Order) { CheckCases(MovingOrderCases()); }
TEST(MovingGradients, Pad) { CheckCases(MovingPadCases()); }
TEST(MovingGradients, Block) { CheckCases(MovingBlockCases()); }

}  // namespace
}  // namespace weir
