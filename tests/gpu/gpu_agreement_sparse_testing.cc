// Ops whose output sizes depend on values, and ops on a few of many rows.
#include "tests/gpu/gpu_agreement_testing.h"

namespace weir {

void GpuAgreementTest::AddSparse(DataType type) {
  const TensorShape data({5, 3});
  for (const char* op : {"SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"}) {
    const std::string name = op;
    Add(name, {Of(type, data), AsTensor<int32_t>({4, 0, 0, 2, 1}), AsTensor<int32_t>({0, 0, 2, 2, 2})});
    Add(name, {Of(type, data), Tensor(DT_INT32, TensorShape({0})), Tensor(DT_INT32, TensorShape({0}))});
    Add(name + "WithNumSegments",
        {Of(type, data), AsTensor<int64_t>({3, 1}), AsTensor<int32_t>({1, 1}), AsScalar<int32_t>(4)});
    const Tensor indices = AsTensor<int32_t>({6, 0, 0, 2, 6}), ids = AsTensor<int32_t>({0, 0, 2, 2, 4});
    Add(name + "Grad", {Of(type, data), indices, ids, AsScalar<int32_t>(8)});
    Add(name + "Grad", {Of(type, data), indices, ids, AsScalar<int32_t>(0)});
    Add(name + "GradV2", {Of(type, data), indices, ids, AsScalar<int32_t>(8)});
  }
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      const Tensor indices = AsTensor<int64_t>({0, 1, 2, 0, 2, 1, 0, 1}, {4, 2});
      Add("SparseTensorDenseMatMul",
          {indices, Of(type, TensorShape({4})), AsTensor<int64_t>({3, 3}),
           Of(type, b ? TensorShape({4, 3}) : TensorShape({3, 4}))},
          Attr("adjoint_a", a, Attr("adjoint_b", b)));
    }
  }
  // Enough columns for a library, which wants rows to ascend.
  const Tensor scattered = AsTensor<int64_t>({4, 1, 0, 2, 4, 1, 2, 0, 0, 0}, {5, 2});
  for (const bool b : {false, true}) {
    Add("SparseTensorDenseMatMul",
        {scattered, Of(type, TensorShape({5})), AsTensor<int64_t>({5, 3}),
         Of(type, b ? TensorShape({40, 3}) : TensorShape({3, 40}))},
        Attr("adjoint_b", b));
    Add("SparseTensorDenseMatMul",
        {scattered, Of(type, TensorShape({5})), AsTensor<int64_t>({6, 3}),
         Of(type, b ? TensorShape({40, 6}) : TensorShape({6, 40}))},
        Attr("adjoint_a", true, Attr("adjoint_b", b)));
  }
  Add("SparseTensorDenseMatMul", {Tensor(DT_INT64, TensorShape({0, 2})), Of(type, TensorShape({0})),
                                  AsTensor<int64_t>({2, 3}), Of(type, TensorShape({3, 4}))});
  Add("CheckNumerics", {Of(type, data)}, Attr("message", std::string("bad")));
  Add("CheckNumericsV2", {Of(type, TensorShape({3, 5000}))}, Attr("message", std::string("bad")));
  Add("CheckNumerics", {Of(type, TensorShape({0}))}, Attr("message", std::string("bad")));
}

void GpuAgreementTest::AddCounts() {
  for (const DataType type : {DT_FLOAT, DT_DOUBLE, DT_INT32, DT_INT64}) {
    Add("Bincount", {AsTensor<int32_t>({1, 5, 1, 9, 0}), AsScalar<int32_t>(6), Of(type, TensorShape({5}))});
    Add("Bincount", {AsTensor<int32_t>({1, 5, 1}), AsScalar<int32_t>(4), Tensor(type, TensorShape({0}))});
    const Tensor rows = AsTensor<int64_t>({1, 1, 0, 2, 7, 2}, {2, 3}), bins = AsScalar<int64_t>(4);
    Add("DenseBincount", {rows, bins, Of(type, TensorShape({2, 3}))});
    Add("DenseBincount", {rows, bins, Tensor(type, TensorShape({0}))}, Attr("binary_output", true));
    Add("DenseBincount", {Tensor(DT_INT32, TensorShape({0})), AsScalar<int32_t>(3), Tensor(type, TensorShape({0}))});
  }
  const auto attrs = Attr("num_partitions", int64_t{3});
  for (const DataType type : {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT64, DT_BOOL, DT_INT8, DT_UINT8, DT_INT16,
                              DT_UINT16, DT_UINT32, DT_UINT64, DT_COMPLEX64, DT_COMPLEX128}) {
    Add("DynamicPartition", {Of(type, TensorShape({2, 2, 3})), AsTensor<int32_t>({0, 2, 0, 2}, {2, 2})}, attrs);
    Add("DynamicPartition", {Of(type, TensorShape({0, 3})), Tensor(DT_INT32, TensorShape({0}))}, attrs);
    Add("DynamicPartition", {Of(type, TensorShape()), AsScalar<int32_t>(1)}, attrs);
  }
  Add("Where", {Of(DT_BOOL, TensorShape({3, 7, 500}))});
  Add("Where", {Of(DT_BOOL, TensorShape({3, 0}))});
  Add("Where", {Tensor(DT_BOOL, TensorShape({2, 0, 2}))});
  Add("Where", {AsTensor<bool>({false, false})});
  Add("Where", {AsTensor<float>({0, NAN, -0.0f, 2})});
  Add("Where", {AsTensor<half>({half(0.f), half(1.f)})});
  for (const DataType type : {DT_DOUBLE, DT_BFLOAT16, DT_INT32, DT_INT64}) Add("Where", {Of(type, TensorShape({40}))});
}

}  // namespace weir
