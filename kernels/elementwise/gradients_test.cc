#include "tests/gradients/family_cases.h"

namespace weir {
namespace {

std::vector<OpCase> ElementwiseUnaryCases() {
  std::vector<OpCase> cases;
  for (const char* op : {"Neg", "Square", "Exp", "Expm1", "Sin", "Cos", "Sinh", "Cosh", "Tanh", "Sigmoid", "Atan",
                         "Asinh", "Erf", "Erfc", "Abs", "Sign"}) {
    cases.push_back(Twice({op, {X({2, 3})}}));
  }
  for (const char* op : {"Log", "Log1p", "Sqrt", "Rsqrt", "Reciprocal", "Inv"}) {
    cases.push_back(Twice({op, {X({2, 3}, 0.4, 3)}}));
  }
  for (const char* op : {"Asin", "Acos", "Atanh", "Erfinv", "Tan"}) cases.push_back(Twice({op, {X({5}, -0.8, 0.8)}}));
  cases.push_back(Twice({"Acosh", {X({4}, 1.3, 3)}}));
  cases.push_back(Twice({"Ndtri", {X({4}, 0.2, 0.8)}}));
  cases.push_back({"Lgamma", {X({4}, 0.5, 4)}});
  cases.push_back({"Digamma", {X({5}, 0.3, 3.5)}});
  for (const char* op : {"TanhGrad", "SigmoidGrad", "SqrtGrad", "RsqrtGrad", "ReciprocalGrad", "InvGrad"}) {
    cases.push_back({op, {X({4}, 0.5, 1.5), X({4})}});
    cases.push_back(Complex({op, {X({3}, 0.5, 1.5), X({3})}}));
  }
  for (const char* op : {"Tanh", "Sigmoid", "Sqrt", "Rsqrt", "Reciprocal", "Inv", "Exp", "Log", "Square", "Sin", "Cos",
                         "Sinh", "Cosh", "Asin", "Acos", "Acosh", "Atanh"}) {
    cases.push_back(Complex(Twice({op, {X({3}, 0.2, 0.7)}})));
  }
  for (const char* op : {"Square", "Exp",  "Log",   "Sin",  "Sqrt", "Rsqrt", "Reciprocal", "Cos",   "Tan",  "Conj",
                         "Real",   "Imag", "Angle", "Sinh", "Cosh", "Neg",   "Log1p",      "Expm1", "Atan", "Asinh"}) {
    Attrs attrs;
    if (op == absl::string_view("Real") || op == absl::string_view("Imag") || op == absl::string_view("Angle")) {
      attrs.Set("Tout", DT_DOUBLE);
    }
    cases.push_back(Complex({op, {X({3}, 0.2, 0.9)}, attrs}));
  }
  cases.push_back(Complex({"ComplexAbs", {X({3}, 0.2, 0.9)}, Attrs().Set("Tout", DT_DOUBLE)}));
  cases.push_back({"Complex", {X({3}), X({3})}, Attrs().Set("Tout", DT_COMPLEX128)});
  cases.push_back({"Complex", {X({2, 3}), X({3})}, Attrs().Set("Tout", DT_COMPLEX128)});
  cases.push_back({"Cast", {X({3})}, Attrs().Set("DstT", DT_COMPLEX128)});
  return cases;
}

std::vector<OpCase> ElementwiseBinaryCases() {
  std::vector<OpCase> cases;
  for (const char* op : {"Add", "AddV2", "Sub", "Mul", "SquaredDifference", "Maximum", "Minimum", "MulNoNan"}) {
    cases.push_back(Twice({op, {X({2, 3}), X({2, 3}, -2.25, 2.05)}}));
    cases.push_back(Twice({op, {X({2, 3}), X({3}, -1.5, 1.6)}}));
    cases.push_back({op, {X({2, 1}), X({1, 3}, -1.5, 1.6)}});
    cases.push_back({op, {X({}), X({2, 3}, -2.25, 2.05)}});
  }
  for (const char* op : {"Div", "RealDiv", "DivNoNan"}) {
    cases.push_back(Twice({op, {X({2, 3}), X({3}, 0.5, 2)}}));
    cases.push_back({op, {X({3}), X({2, 3}, -2, -0.5)}});
  }
  cases.push_back(Twice({"Pow", {X({2, 3}, 0.5, 2), X({3})}}));
  cases.push_back({"Pow", {X({2, 1}, 0.5, 2), X({1, 3})}});
  cases.push_back({"Pow", {X({3}, -2, -0.5), C(Tensor::Scalar<double>(2))}});
  cases.push_back(Twice({"Atan2", {X({2, 3}, 0.5, 2), X({3}, 0.5, 2)}}));
  for (const char* op : {"Xlogy", "Xdivy", "Xlog1py"}) cases.push_back(Twice({op, {X({2, 3}), X({3}, 0.5, 2)}}));
  cases.push_back({"NextAfter", {X({2, 3}), X({3}, 5, 6)}});
  cases.push_back({"FloorMod", {X({4}, 5.1, 8.9), X({4}, 2.2, 2.6)}});
  for (const char* op : {"Mul", "Sub", "AddV2", "RealDiv", "Pow"}) {
    cases.push_back(Complex({op, {X({2, 3}, 0.3, 1), X({3}, 0.4, 1.2)}}));
  }
  cases.push_back({"ClipByValue", {X({6}), X({}, -0.9, -0.7), X({}, 0.7, 0.9)}});
  Tensor condition(DT_BOOL, TensorShape({2, 2}));
  for (int i = 0; i < 4; ++i) condition.data<bool>()[i] = i % 3 == 0;
  cases.push_back(Twice({"Select", {C(condition), X({2, 2}), X({2, 2})}}));
  cases.push_back(Twice({"SelectV2", {C(condition), X({2, 2}), X({2})}}));
  cases.push_back({"SelectV2", {C(condition), X({}), X({3, 2, 2})}});
  cases.push_back({"AddN", {List({X({2, 2}), X({2, 2}), X({2, 2})})}});
  cases.push_back({"AccumulateNV2",
                   {List({X({2, 2}), X({2, 2}), X({2, 2})})},
                   Attrs().Set("shape", PartialTensorShape(TensorShape({2, 2})))});
  cases.push_back(Twice({"BroadcastTo", {X({2, 1}), Ints({3, 2, 4})}}));
  return cases;
}

}  // namespace

std::vector<OpCase> ElementwiseGradientCases() { return Joined({ElementwiseUnaryCases(), ElementwiseBinaryCases()}); }

namespace {

TEST(ElementwiseGradients, Unary) { CheckCases(ElementwiseUnaryCases()); }
TEST(ElementwiseGradients, Binary) { CheckCases(ElementwiseBinaryCases()); }

}  // namespace
}  // namespace weir
