// Products of matrices.
#include "tests/gpu/gpu_agreement_testing.h"

namespace weir {

void GpuAgreementTest::AddProducts(DataType type) {
  const TensorShape matrix({4, 6});
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      Add("MatMul",
          {Of(type, a ? TensorShape({6, 4}) : matrix), Of(type, b ? TensorShape({5, 6}) : TensorShape({6, 5}))},
          Attr("transpose_a", a, Attr("transpose_b", b)));
    }
  }
  Add("MatMul", {Of(type, TensorShape({2, 0})), Of(type, TensorShape({0, 3}))});
  for (const bool x : {false, true}) {
    const TensorShape left = x ? TensorShape({2, 3, 6, 4}) : TensorShape({2, 3, 4, 6});
    const auto attrs = Attr("adj_x", x, Attr("adj_y", !x));
    const TensorShape right = x ? TensorShape({2, 3, 6, 5}) : TensorShape({2, 3, 5, 6});
    Add("BatchMatMul", {Of(type, left), Of(type, right)}, attrs);
    Add("BatchMatMulV2", {Of(type, left), Of(type, right)}, attrs);
    Add("BatchMatMulV3", {Of(type, left), Of(type, right)}, Attr("Tout", type, attrs));
    Add("BatchMatMulV2", {Of(type, left), Of(type, x ? TensorShape({1, 6, 5}) : TensorShape({1, 5, 6}))}, attrs);
    Add("BatchMatMulV2", {Of(type, left), Of(type, x ? TensorShape({2, 1, 6, 5}) : TensorShape({2, 1, 5, 6}))}, attrs);
  }
  AddEinsums(type);
}

// Products, sums, diagonals, ellipses that broadcast, and what is only handed on.
void GpuAgreementTest::AddEinsums(DataType type) {
  const TensorShape a({2, 3, 4}), b({2, 4, 5}), square({3, 3});
  const std::pair<const char*, std::vector<TensorShape>> equations[] = {
      {"bik,bkj->bij", {a, b}},
      {"bik,bkj->jbi", {a, b}},
      {"bik,bkj->", {a, b}},
      {"bik,bkj->ij", {a, b}},
      {"abc->cab", {a}},
      {"abc->b", {a}},
      {"abc->abc", {a}},
      {"ii->i", {square}},
      {"ii->", {square}},
      {"i->ii", {TensorShape({3})}},
      {"i,j->ij", {TensorShape({3}), TensorShape({4})}},
      {"...ik,kj->...ij", {a, TensorShape({4, 5})}},
      {"i...,j...->ij...", {TensorShape({2, 1, 3}), TensorShape({4, 5, 1})}},
      {"abc,abc->abc", {a, a}},
      {"ik,kj->ij", {TensorShape({2, 0}), TensorShape({0, 3})}},
      {"ik,kj->ij", {TensorShape({0, 2}), TensorShape({2, 3})}},
      {"ai->i", {TensorShape({0, 2})}}};
  for (const auto& [equation, shapes] : equations) {
    std::vector<Tensor> inputs;
    for (const TensorShape& shape : shapes) inputs.push_back(Of(type, shape));
    AddLists("Einsum", {std::move(inputs)}, Attr("equation", std::string(equation)));
  }
}

}  // namespace weir
