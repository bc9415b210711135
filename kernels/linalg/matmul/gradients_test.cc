#include "tests/gradients/family_cases.h"

namespace weir {
namespace {

std::vector<OpCase> MatMulProductCases() {
  std::vector<OpCase> cases;
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      const OpArgument left = X(a ? TensorShape({3, 2}) : TensorShape({2, 3})),
                       right = X(b ? TensorShape({4, 3}) : TensorShape({3, 4}));
      const OpCase matmul{"MatMul", {left, right}, Attrs().Set("transpose_a", a).Set("transpose_b", b)};
      cases.push_back(Twice(matmul));
      cases.push_back(Complex(matmul));
      const OpArgument batch_left = X(a ? TensorShape({2, 3, 2}) : TensorShape({2, 2, 3})),
                       batch_right = X(b ? TensorShape({2, 4, 3}) : TensorShape({2, 3, 4}));
      const Attrs adjoint = Attrs().Set("adj_x", a).Set("adj_y", b);
      cases.push_back(Complex({"BatchMatMul", {batch_left, batch_right}, adjoint}));
      cases.push_back(Twice({"BatchMatMulV2", {batch_left, batch_right}, adjoint}));
      cases.push_back({"BatchMatMulV2", {batch_left, right}, adjoint});
    }
  }
  const Attrs type = Attrs().Set("Tout", DT_DOUBLE);
  cases.push_back(Twice({"BatchMatMulV3", {X({2, 1, 2, 3}), X({2, 3, 2})}, type}));
  cases.push_back({"BatchMatMulV3", {X({3, 2}), X({2, 2, 3})}, Attrs(type).Set("adj_x", true).Set("adj_y", true)});
  return cases;
}

std::vector<OpCase> MatMulEinsumCases() {
  const auto equation = [](const char* text) { return Attrs().Set("equation", std::string(text)); };
  return {
      Twice({"Einsum", {List({X({2, 3}), X({3, 4})})}, equation("ab,bc->ac")}),
      {"Einsum", {List({X({2, 3, 2}), X({2, 3})})}, equation("abc,db->ad")},
      {"Einsum", {List({X({2, 3})})}, equation("ab->a")},
      Twice({"Einsum", {List({X({3, 3})})}, equation("ii->i")}),
      {"Einsum", {List({X({3, 3, 2})})}, equation("iij->j")},
      {"Einsum", {List({X({2, 3, 3, 4})})}, equation("biic->cb")},
      {"Einsum", {List({X({3})})}, equation("i->ii")},
      Twice({"Einsum", {List({X({2, 3, 3}), X({3, 2})})}, equation("aii,ib->ab")}),
      {"Einsum", {List({X({2, 3, 4})})}, equation("a...b->b...")},
      {"Einsum", {List({X({2, 3, 4})})}, equation("...b->b")},
      Twice({"Einsum", {List({X({2, 3, 4}), X({4, 2})})}, equation("...ab,bc->...ac")}),
      Twice({"Einsum", {List({X({2, 1, 2, 3}), X({4, 3, 2})})}, equation("...ab,...bc->...ac")}),
      {"Einsum", {List({X({2, 3, 4}), X({2, 1, 4, 3})})}, equation("a...b,a...bc->...cab")},
      {"Einsum", {List({X({3, 1, 3}), X({4, 3})})}, equation("a...a,...a->...a")},
      {"Einsum", {List({X({2, 1, 3}), X({4, 3})})}, equation("b...a,...a->a")},
  };
}

}  // namespace

std::vector<OpCase> MatMulGradientCases() { return Joined({MatMulProductCases(), MatMulEinsumCases()}); }

namespace {

TEST(MatMulGradients, Product) { CheckCases(MatMulProductCases()); }
TEST(MatMulGradients, Einsum) { CheckCases(MatMulEinsumCases()); }

}  // namespace
}  // namespace weir
