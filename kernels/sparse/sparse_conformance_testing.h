// Conformance suite of products with sparse matrices for each kind of device and library. A device's test includes
// this header and instantiates GpuKernels.
#pragma once

#include <limits>
#include <vector>

#include "kernels/device/gpu/kernel_conformance_testing.h"
#include "kernels/sparse/gpu/sparse_library.h"

namespace weir {

// Entries in no order, a place named twice, and entries that are out of range, which meet a row of NaN nowhere.
TEST_P(GpuKernels, SparseProducts) {
  const Op op = Of("SparseTensorDenseMatMul")
                    .Input("a_indices: int64")
                    .Input("a_values: T")
                    .Input("a_shape: int64")
                    .Input("b: T")
                    .Output("product: T")
                    .Attr("adjoint_a: bool = false")
                    .Attr("adjoint_b: bool = false");
  const Tensor shape = AsTensor<int64_t>({3, 2}), values = AsTensor<float>({1, 2, 3, 4, 5, 6});
  const Tensor indices = AsTensor<int64_t>({2, 1, 0, 1, 3, 0, 2, 1, 0, 2, -1, 0}, {6, 2});
  for (const int64_t columns : {3, 40}) {  // few, and enough for a library
    Tensor b(DT_FLOAT, TensorShape({2, columns})), turned(DT_FLOAT, TensorShape({columns, 2}));
    Tensor product(DT_FLOAT, TensorShape({3, columns}));
    for (int64_t j = 0; j < columns; ++j) {
      const auto x = static_cast<float>(j + 1);
      b.data<float>()[j] = turned.data<float>()[2 * j] = NAN;
      b.data<float>()[columns + j] = turned.data<float>()[2 * j + 1] = x;
      product.data<float>()[j] = 2 * x;
      product.data<float>()[columns + j] = 0;
      product.data<float>()[2 * columns + j] = 5 * x;
    }
    for (const DataType type : {DT_FLOAT, DT_HALF, DT_BFLOAT16}) {
      const tensorflow::NodeDef attrs = Attr("T", type);
      const Tensor of = CastForTest(values, type), expected = CastForTest(product, type);
      Expect(op, {indices, of, shape, CastForTest(b, type)}, attrs, {expected});
      Expect(op, {indices, of, shape, CastForTest(turned, type)}, Attr("adjoint_b", true, attrs), {expected});
    }
    const Tensor swapped = AsTensor<int64_t>({1, 2, 1, 0, 0, 3, 1, 2, 2, 0, 0, -1}, {6, 2});
    Expect(op, {swapped, values, AsTensor<int64_t>({2, 3}), b}, Attr("adjoint_a", true, Float()), {product});
  }
}

// As a library sees it: rows ascend, and those without entries are zero whatever was there.
TEST_P(GpuKernels, SparseLibraries) {
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<SparseLibrary> library, SparseLibraryOf(*device_));
  if (library == nullptr) GTEST_SKIP() << "there is no library for sparse products";
  ASSERT_OK_AND_ASSIGN(const Tensor rows, device_->ToDevice(AsTensor<int32_t>({0, 2, 2})));
  ASSERT_OK_AND_ASSIGN(const Tensor columns, device_->ToDevice(AsTensor<int32_t>({1, 0, 1})));
  ASSERT_OK_AND_ASSIGN(const Tensor values, device_->ToDevice(AsTensor<double>({2, 3, 4})));
  ASSERT_OK_AND_ASSIGN(const Tensor b, device_->ToDevice(AsTensor<double>({1, 10, 100, 1000}, {2, 2})));
  ASSERT_OK_AND_ASSIGN(const Tensor c, device_->ToDevice(AsTensor<double>({7, 7, 7, 7, 7, 7}, {3, 2})));
  const SparseProduct product{.dtype = DT_DOUBLE,
                              .rows = 3,
                              .inner = 2,
                              .columns = 2,
                              .entries = 3,
                              .entry_rows = rows.data<int32_t>(),
                              .entry_columns = columns.data<int32_t>(),
                              .values = values.raw_data(),
                              .b = b.raw_data(),
                              .c = c.raw_data()};
  ASSERT_OK_AND_ASSIGN(const size_t bytes, library->WorkspaceBytes(product));
  ASSERT_OK_AND_ASSIGN(const Tensor workspace,
                       device_->ToDevice(Tensor(DT_UINT8, TensorShape({static_cast<int64_t>(bytes) + 1}))));
  ASSERT_THAT(library->Enqueue(device_->compute(), product, workspace.raw_data()), IsOk());
  ExpectTensorEqual(*Fetch(c), AsTensor<double>({200, 2000, 0, 0, 403, 4030}, {3, 2}));
  GetParam().check(device_->runtime());
}

}  // namespace weir
