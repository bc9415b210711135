// Kernels of int32, which a GPU device keeps in host memory.
#include "tests/gpu/gpu_agreement_testing.h"

namespace weir {

void GpuAgreementTest::AddInt32() {
  const auto of = [this](const TensorShape& shape) { return Of(DT_INT32, shape); };
  const TensorShape row({4});
  for (const char* op : {"Add", "AddV2", "Sub", "Mul", "Maximum", "Minimum", "Less", "LessEqual", "Greater",
                         "GreaterEqual", "Equal", "NotEqual"}) {
    Add(op, {of(row), of(row)});
  }
  for (const char* op : {"FloorDiv", "FloorMod", "Mod", "Div", "TruncateDiv", "TruncateMod"}) {
    Add(op, {of(row), AsTensor<int32_t>({2, 3, -2, 5})});
  }
  for (const char* op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor", "LeftShift", "RightShift"}) {
    Add(op, {of(row), of(row)});
  }
  for (const char* op : {"Neg", "Abs", "Sign", "Square", "ZerosLike", "OnesLike", "Snapshot", "Invert"}) {
    Add(op, {of(row)});
  }
  Add("ClipByValue", {of(row), AsScalar<int32_t>(-2), AsScalar<int32_t>(3)});
  Add("Roll", {of(row), AsScalar<int32_t>(1), AsScalar<int32_t>(0)});
  Add("ReverseV2", {of(row), AsTensor<int32_t>({0})});
  Add("Cumsum", {of(row), AsScalar<int32_t>(0)});
  Add("SelectV2", {AsTensor<bool>({true, false, false, true}), of(row), of(row)});
  Add("Select", {AsTensor<bool>({true, false, false, true}), of(row), of(row)});
  Add("BroadcastTo", {of(row), AsTensor<int32_t>({2, 4})});
  Add("Gather", {of(row), AsTensor<int32_t>({3, 0})});
  Add("GatherNd", {of(row), AsTensor<int32_t>({3, 0}, {2, 1})});
  Add("Pad", {of(row), AsTensor<int32_t>({1, 2}, {1, 2})});
  AddCasts(DT_INT32);
  Add("LinSpace", {AsScalar<float>(1), AsScalar<float>(2), AsScalar<int32_t>(5)});
  Add("LinSpace", {AsScalar<double>(1), AsScalar<double>(2), AsScalar<int32_t>(5)});
  Add("InvertPermutation", {AsTensor<int64_t>({1, 2, 0})});
  for (const char* op : {"Unique", "UniqueWithCounts"}) {
    Add(op, {AsTensor<int32_t>({4, 1, 4, 7, 1})});
    Add(op, {AsTensor<int64_t>({4, 1, 4, 7, 1})}, Attr("out_idx", DT_INT64));
    Add(absl::StrCat(op, "V2"), {AsTensor<int32_t>({4, 1, 4}), AsTensor<int64_t>({0})});
    Add(absl::StrCat(op, "V2"), {AsTensor<int64_t>({4, 1, 4, 7, 1, 1}, {3, 2}), AsTensor<int64_t>({0})});
  }
  Add("DataFormatDimMap", {AsTensor<int32_t>({0, 1, -1})});
  Add("DataFormatDimMap", {AsTensor<int64_t>({3, -2})});
  Add("DataFormatVecPermute", {AsTensor<int64_t>({1, 2, 3, 4})});
  Add("DataFormatVecPermute", {AsTensor<int32_t>({1, 2, 3, 4})});
  for (const char* op : {"DynamicStitch", "ParallelDynamicStitch"}) {
    AddLists(op, {{AsTensor<int32_t>({1, 0}), AsScalar<int32_t>(2)}, {of(TensorShape({2})), of(TensorShape())}});
  }
  for (const char* op : {"Sum", "Prod", "Max", "Min"}) Add(op, {of(TensorShape({2, 3})), AsTensor<int32_t>({1})});
  AddLists("Pack", {{of(row), of(row)}});
  Add("Unpack", {of(TensorShape({2, 3}))}, Attr("num", int64_t{2}));
  AddLists("ConcatV2", {{of(row), of(row)}, {AsScalar<int32_t>(0)}});
  AddLists("Concat", {{AsScalar<int32_t>(0)}, {of(row), of(row)}});
  AddLists("ConcatOffset", {{AsScalar<int32_t>(0)}, {AsTensor<int32_t>({2, 3}), AsTensor<int32_t>({4, 3})}});
  Add("Split", {AsScalar<int32_t>(0), of(row)}, Attr("num_split", int64_t{2}));
  Add("SplitV", {of(row), AsTensor<int32_t>({1, 3}), AsScalar<int32_t>(0)}, Attr("num_split", int64_t{2}));
  Add("Slice", {of(row), AsTensor<int32_t>({1}), AsTensor<int32_t>({2})});
  Add("StridedSlice", {of(row), AsTensor<int32_t>({0}), AsTensor<int32_t>({4}), AsTensor<int32_t>({2})});
  Add("Fill", {AsTensor<int32_t>({2}), AsScalar<int32_t>(7)});
  Add("Tile", {of(row), AsTensor<int32_t>({2})});
  Add("Transpose", {of(TensorShape({2, 3})), AsTensor<int32_t>({1, 0})});
  Add("GatherV2", {of(row), AsTensor<int32_t>({3, 0}), AsScalar<int32_t>(0)});
  Add("InvertPermutation", {AsTensor<int32_t>({1, 2, 0})});
  Add("Range", {AsScalar<int32_t>(1), AsScalar<int32_t>(9), AsScalar<int32_t>(3)});
  Add("Range", {AsScalar<int64_t>(9), AsScalar<int64_t>(1), AsScalar<int64_t>(-3)});
  Add("Range", {AsScalar<float>(0.5f), AsScalar<float>(3), AsScalar<float>(0.75f)});
  Add("Range", {AsScalar<double>(0.5), AsScalar<double>(3), AsScalar<double>(0.75)});
  Add("Range", {AsScalar<half>(half(0.5f)), AsScalar<half>(half(3.f)), AsScalar<half>(half(0.75f))});
  Add("Range",
      {AsScalar<bfloat16>(bfloat16(0.5f)), AsScalar<bfloat16>(bfloat16(3.f)), AsScalar<bfloat16>(bfloat16(0.75f))});
  for (const char* op : {"BroadcastArgs", "BroadcastGradientArgs"}) {
    Add(op, {AsTensor<int32_t>({2, 1, 3}), AsTensor<int32_t>({4, 1})});
  }
}

}  // namespace weir
