#include "tests/gradients/family_cases.h"

namespace weir {

std::vector<OpCase> SegmentGradientCases() {
  std::vector<OpCase> cases;
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
  const Attrs sparse = Attrs().Set("sparse_gradient", true);
  cases.push_back({"SparseSegmentSum", {X({4, 2}), Ints({0, 2, 0}), Ints({0, 0, 1})}, sparse});
  cases.push_back({"SparseSegmentSqrtNWithNumSegments", {X({4, 2}), Ints({0, 2, 0}), Ints({0, 0, 1}), Int(3)}, sparse});
  return cases;
}

namespace {

TEST(SegmentGradients, AgreeWithNumericOnes) { CheckCases(SegmentGradientCases()); }

}  // namespace
}  // namespace weir
