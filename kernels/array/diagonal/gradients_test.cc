#include "tests/gradients/family_cases.h"

namespace weir {
namespace {

std::vector<OpCase> DiagonalWholeCases() {
  return {
      Twice({"Diag", {X({3})}}),
      {"DiagPart", {X({3, 3})}},
      Twice({"MatrixDiag", {X({2, 3})}}),
      {"MatrixDiagPart", {X({2, 3, 2})}},
      {"MatrixSetDiag", {X({2, 3, 2}), X({2, 2})}},
      {"MatrixBandPart", {X({2, 3, 3}), C(Tensor::Scalar<int64_t>(1)), C(Tensor::Scalar<int64_t>(0))}},
  };
}

std::vector<OpCase> DiagonalBandCases() {
  const OpArgument none = C(Tensor::Scalar<double>(0)), unknown = Int(-1);
  std::vector<OpCase> cases;
  for (const char* align : {"RIGHT_LEFT", "LEFT_RIGHT"}) {
    const Attrs attrs = Attrs().Set("align", std::string(align));
    cases.push_back(Twice({"MatrixDiagV3", {X({2, 3, 3}), Ints({-1, 1}), unknown, unknown, none}, attrs}));
    cases.push_back(Twice({"MatrixDiagPartV3", {X({2, 3, 4}), Ints({-1, 2}), none}, attrs}));
    cases.push_back({"MatrixSetDiagV3", {X({2, 3, 4}), X({2, 2, 3}), Ints({0, 1})}, attrs});
  }
  cases.push_back({"MatrixDiagV2", {X({3}), Int(1), unknown, unknown, none}});
  cases.push_back({"MatrixDiagPartV2", {X({3, 3}), Int(1), none}});
  cases.push_back({"MatrixSetDiagV2", {X({3, 3}), X({2}), Int(1)}});
  return cases;
}

}  // namespace

std::vector<OpCase> DiagonalGradientCases() { return Joined({DiagonalWholeCases(), DiagonalBandCases()}); }

namespace {

TEST(DiagonalGradients, Whole) { CheckCases(DiagonalWholeCases()); }
TEST(DiagonalGradients, Band) { CheckCases(DiagonalBandCases()); }

}  // namespace
}  // namespace weir
