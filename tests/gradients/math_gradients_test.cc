#include "tests/gradients/op_case.h"

namespace weir {
namespace {

std::vector<OpCase> UnaryCases() {
  std::vector<OpCase> cases;
  for (const char* op : {"Neg", "Square", "Exp", "Expm1", "Sin", "Cos", "Sinh", "Cosh", "Tanh", "Sigmoid", "Atan",
                         "Asinh", "Erf", "Erfc", "Abs", "Sign", "Identity", "Snapshot", "DeepCopy"}) {
    cases.push_back(Twice({op, {X({2, 3})}}));
  }
  for (const char* op : {"Log", "Log1p", "Sqrt", "Rsqrt", "Reciprocal", "Inv"}) {
    cases.push_back(Twice({op, {X({2, 3}, 0.4, 3)}}));
  }
  for (const char* op : {"Asin", "Acos", "Atanh", "Erfinv", "Tan"}) cases.push_back(Twice({op, {X({5}, -0.8, 0.8)}}));
  cases.push_back(Twice({"Acosh", {X({4}, 1.3, 3)}}));
  cases.push_back(Twice({"Ndtri", {X({4}, 0.2, 0.8)}}));
  cases.push_back({"Lgamma", {X({4}, 0.5, 4)}});
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
  cases.push_back({"CheckNumerics", {X({3})}, Attrs().Set("message", std::string("bad"))});
  cases.push_back({"EnsureShape", {X({3})}, Attrs().Set("shape", TensorShape({3}))});
  cases.push_back({"PlaceholderWithDefault", {X({3})}, Attrs().Set("shape", TensorShape({3}))});
  return cases;
}

std::vector<OpCase> BinaryCases() {
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

std::vector<OpCase> ReductionCases() {
  std::vector<OpCase> cases;
  for (const char* op : {"Sum", "Mean", "Prod", "Max", "Min", "EuclideanNorm"}) {
    cases.push_back(Twice({op, {X({2, 3, 2}), Ints({1})}}));
    cases.push_back({op, {X({2, 3, 2}), Ints({0, -1})}});
    if (op == absl::string_view("Prod") || op == absl::string_view("Sum") || op == absl::string_view("Mean")) {
      cases.push_back(Complex({op, {X({2, 3}), Ints({1})}}));
    }
    cases.push_back({op, {X({2, 3}), Ints({0})}, Attrs().Set("keep_dims", true)});
    cases.push_back({op, {X({2, 3}), Int(1)}});
    cases.push_back({op, {X({2, 3}), Ints({0, 1})}});
    cases.push_back({op, {X({2, 3}), Ints({})}});
  }
  for (const bool exclusive : {false, true}) {
    for (const bool reverse : {false, true}) {
      const Attrs attrs = Attrs().Set("exclusive", exclusive).Set("reverse", reverse);
      cases.push_back(Twice({"Cumsum", {X({2, 3}), Int(1)}, attrs}));
      cases.push_back(Twice({"Cumprod", {X({3, 2}, 0.4, 1.8), Int(0)}, attrs}));
      cases.push_back(Complex({"Cumprod", {X({3, 2}, 0.4, 1.8), Int(0)}, attrs}));
    }
  }
  for (const char* op : {"SegmentSum", "SegmentMean", "SegmentMin", "SegmentMax", "SegmentProd"}) {
    cases.push_back(Twice({op, {X({4, 2}), Ints({0, 0, 1, 3})}}));
  }
  for (const char* op : {"UnsortedSegmentSum", "UnsortedSegmentMin", "UnsortedSegmentMax", "UnsortedSegmentProd"}) {
    cases.push_back({op, {X({4, 2}), Ints({1, 0, 1, 0}), Int(2)}});
    cases.push_back(
        {op, {X({2, 2, 2}), C(*Tensor::Vector<int32_t>({1, -1, 0, 1}).Reshaped(TensorShape({2, 2}))), Int(2)}});
  }
  for (const char* op : {"SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"}) {
    cases.push_back({op, {X({5, 2}), Ints({4, 1, 1, 0}), Ints({0, 0, 1, 1})}});
    cases.push_back({absl::StrCat(op, "WithNumSegments"), {X({5, 2}), Ints({4, 1, 1}), Ints({0, 0, 2}), Int(4)}});
  }
  return cases;
}

std::vector<OpCase> MatMulCases() {
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
  return cases;
}

}  // namespace

std::vector<OpCase> MathCases() {
  std::vector<OpCase> all;
  for (const auto& family : {UnaryCases(), BinaryCases(), ReductionCases(), MatMulCases()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  return all;
}

TEST(MathGradients, Unary) { CheckCases(UnaryCases()); }
TEST(MathGradients, Binary) { CheckCases(BinaryCases()); }
TEST(MathGradients, Reductions) { CheckCases(ReductionCases()); }
TEST(MathGradients, MatMul) { CheckCases(MatMulCases()); }

}  // namespace weir
