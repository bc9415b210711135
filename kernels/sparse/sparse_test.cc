// Sparse kernels: results, and errors on hostile inputs. differential.py
// compares every type with TensorFlow.
#include <cmath>

#include "kernels/op_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using Code = absl::StatusCode;

Tensor Longs(std::vector<int64_t> values) { return AsTensor<int64_t>(std::move(values)); }
Tensor Rows(std::vector<int64_t> values, int64_t rank) {
  const TensorShape shape({static_cast<int64_t>(values.size()) / rank, rank});
  return AsTensor<int64_t>(std::move(values), shape);
}
Tensor Floats(std::vector<float> values) { return AsTensor<float>(std::move(values)); }

class SparseTest : public OpTest {
 protected:
  void ExpectError(absl::string_view op, std::vector<TestInput> inputs, absl::string_view message,
                   const Attrs& attrs = Attrs()) {
    EXPECT_THAT(RunOp(op, std::move(inputs), attrs), StatusIs(Code::kInvalidArgument, HasSubstr(std::string(message))))
        << op;
  }

  const Tensor indices_ = Rows({0, 1, 1, 0, 1, 3}, 2), values_ = Floats({1, 2, 3}), shape_ = Longs({3, 4});
};

TEST_F(SparseTest, DenseHasTheDefaultElsewhere) {
  ASSERT_OK_AND_ASSIGN(const Tensor dense,
                       RunOp1("SparseToDense", {Rows({0, 1, 1, 0}, 2), Longs({2, 2}), Floats({1, 2}), AsScalar(9.f)}));
  ExpectTensorEqual(dense, AsTensor<float>({9, 1, 2, 9}, {2, 2}));
}

TEST_F(SparseTest, IndicesAreCheckedWhereTheyAddressMemory) {
  const auto to_dense = [this](std::vector<int64_t> rows, absl::string_view message) {
    const int64_t n = rows.size() / 2;
    ExpectError("SparseToDense",
                {Rows(std::move(rows), 2), Longs({2, 3}), Tensor(DT_FLOAT, TensorShape({n})), AsScalar(0.f)}, message);
  };
  to_dense({0, 1, 0, 3}, "indices[1] = [0,3] is out of bounds: need 0 <= index < [2,3]");
  to_dense({0, 1, -1, 0}, "is out of bounds");
  to_dense({1, 1, 0, 1}, "indices[1] = [0,1] is out of order");
  to_dense({0, 1, 0, 1}, "indices[1] = [0,1] is repeated");
  const Tensor far = Rows({0, 1, 7, 0, 1, 3}, 2), axis = Longs({1}), axes = AsTensor<int32_t>({1});
  ExpectError("SparseSplit", {AsScalar<int64_t>(0), far, values_, shape_}, "out of bounds",
              Attrs().Set("num_split", int64_t{3}));
  ExpectError("SparseReduceSum", {far, values_, shape_, axes}, "out of bounds");
  ExpectError("SparseTensorDenseAdd", {far, values_, shape_, Tensor(DT_FLOAT, TensorShape({3, 4}))}, "invalid index");
  ExpectError("SparseTensorDenseMatMul", {far, values_, shape_, Tensor(DT_FLOAT, TensorShape({4, 2}))},
              "out of bounds");
  ExpectError("SparseDenseCwiseMul", {far, values_, shape_, AsScalar(1.f)}, "out-of-bounds");
  ExpectError("SparseFillEmptyRows", {far, values_, shape_, AsScalar(1.f)}, "indices(1, 0) is invalid: 7 >= 3");
  ExpectError("SparseFillEmptyRowsGrad", {Longs({0, 9}), values_}, "must be in [0, 3)");
  ExpectError("SetSize", {far, AsTensor<int32_t>({1, 2, 3}), shape_}, "out of bounds");
}

TEST_F(SparseTest, PartsMustAgree) {
  for (const char* op : {"SerializeSparse", "AddSparseToTensorsMap", "SparseSoftmax"}) {
    ExpectError(op, {Longs({0, 1}), values_, shape_}, "should be a matrix");
    ExpectError(op, {indices_, AsScalar(1.f), shape_}, "should be a vector");
    ExpectError(op, {indices_, values_, Rows({3, 4}, 2)}, "should be a vector");
    ExpectError(op, {indices_, Floats({1, 2}), shape_}, "must match first dimension of indices");
    ExpectError(op, {indices_, values_, Longs({3})}, "must match second dimension of indices");
  }
  ExpectError("SparseReorder", {Longs({0, 1}), values_, shape_}, "Sparse indices must be rank 2 but is rank 1");
  ExpectError("SparseReorder", {indices_, values_, Longs({3})}, "Index rank (2) and shape rank (1) do not match");
  ExpectError("SparseReorder", {indices_, AsScalar(1.f), shape_}, "Sparse values must be rank 1 but is rank 0");
  ExpectError("SparseReorder", {indices_, Floats({1, 2}), shape_},
              "Number of elements in indices (3) and values (2) do not match");
  const Tensor axes = AsTensor<int32_t>({1});
  ExpectError("SparseReduceSum", {indices_, AsScalar(1.f), shape_, axes}, "vals must be a vec, but got: []");
  ExpectError("SparseReduceSum", {indices_, Floats({1, 2}), shape_, axes},
              "indices and values rows (indexing dimension) must match. (indices = 3, values = 2)");
  ExpectError("SparseReduceSum", {indices_, values_, Longs({3}), axes}, "Order length must be SparseTensor rank.");
  const Tensor zero = AsScalar(0.f);
  ExpectError("SparseAdd", {indices_, Floats({1, 2}), shape_, indices_, values_, shape_, zero},
              "Expected 3 and 3 non-empty input values, got 2 and 3");
  ExpectError("SparseAdd", {indices_, values_, Longs({3}), indices_, values_, shape_, zero},
              "Second dimension of a_indices and length of a_shape must match, got 2 and 1");
  ExpectError("SparseAdd", {indices_, values_, shape_, indices_, values_, Longs({3, 4, 5}), zero},
              "Operands do not have the same ranks; got shapes: 3 4 and 3 4 5");
  ExpectError("SparseAdd", {Rows({0, 1, 2}, 1), values_, Longs({3}), indices_, values_, shape_, zero},
              "Input indices must have the same dimension, got 1 and 2");
  ExpectError("SetSize", {indices_, AsTensor<int32_t>({1, 2, 3}), Longs({3})}, "Invalid rank 1.");
  const Tensor deep = Tensor(DT_FLOAT, TensorShape({1, 1, 1, 1, 1, 1}));
  ExpectError("SparseTensorDenseAdd", {Rows({0, 0, 0, 0, 0, 0}, 6), Floats({1}), Longs({1, 1, 1, 1, 1, 1}), deep},
              "Only tensors with ranks between 1 and 5 are currently supported.  Tensor rank: 6");
  ExpectError("SparseSplit", {AsScalar<int64_t>(0), Rows({0, 1, 7, 0, 1, 3}, 2), values_, shape_},
              "Sparse index tuple indices[1, :] = [7, 0] is out of bounds", Attrs().Set("num_split", int64_t{3}));
  ExpectError("SparseSoftmax", {indices_, values_, Longs({3, -4})}, "-4");
  ExpectError("SparseSoftmax", {indices_, values_, Longs({int64_t{1} << 40, int64_t{1} << 40})}, "2**63");
}

TEST_F(SparseTest, SlicesMayBeginBeyondTheTensor) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> out,
                       RunOp("SparseSlice", {indices_, values_, shape_, Longs({0, 6}), Longs({1, 1})}));
  ExpectTensorEqual(out[0], Rows({}, 2));
  ExpectTensorEqual(out[2], Longs({1, 0}));
}

TEST_F(SparseTest, ReshapeFindsTheMissingSize) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> out, RunOp("SparseReshape", {indices_, shape_, Longs({2, -1})}));
  ExpectTensorEqual(out[0], Rows({0, 1, 0, 4, 1, 1}, 2));
  ExpectTensorEqual(out[1], Longs({2, 6}));
  ExpectError("SparseReshape", {indices_, shape_, Longs({-1, -1})}, "only one output dimension may be -1");
  ExpectError("SparseReshape", {indices_, shape_, Longs({5})}, "the requested shape has 5");
  ExpectError("SparseReshape", {indices_, Longs({0, 4}), Longs({4, 0})}, "is empty");
}

TEST_F(SparseTest, PartsAreJoinedInOrder) {
  ASSERT_OK_AND_ASSIGN(
      const std::vector<Tensor> out,
      RunOp("SparseConcat", {Rows({1, 0}, 2), Rows({0, 1}, 2), Floats({1}), Floats({2}), Longs({2, 2}), Longs({2, 3})},
            Attrs().Set("concat_dim", int64_t{-1})));
  ExpectTensorEqual(out[0], Rows({0, 3, 1, 0}, 2));
  ExpectTensorEqual(out[1], Floats({2, 1}));
  ExpectTensorEqual(out[2], Longs({2, 5}));
}

TEST_F(SparseTest, SumsDropWhatIsBelowTheThreshold) {
  ASSERT_OK_AND_ASSIGN(
      const std::vector<Tensor> out,
      RunOp("SparseAdd", {indices_, values_, shape_, Rows({0, 1, 2, 2}, 2), Floats({-1, 5}), shape_, AsScalar(0.5f)}));
  ExpectTensorEqual(out[0], Rows({1, 0, 1, 3, 2, 2}, 2));
  ExpectTensorEqual(out[1], Floats({2, 3, 5}));
}

TEST_F(SparseTest, SerialisedTensorsComeBack) {
  for (DataType type : {DT_STRING, DT_VARIANT}) {
    ASSERT_OK_AND_ASSIGN(const Tensor packed,
                         RunOp1("SerializeManySparse", {indices_, values_, shape_}, Attrs().Set("out_type", type)));
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> out,
                         RunOp("DeserializeSparse", {packed}, Attrs().Set("dtype", DT_FLOAT)));
    ExpectTensorEqual(out[0], indices_);
    ExpectTensorEqual(out[1], values_);
    ExpectTensorEqual(out[2], shape_);
    ExpectError("DeserializeSparse", {packed}, "Requested SparseTensor of type int32", Attrs().Set("dtype", DT_INT32));
  }
  ExpectError("DeserializeSparse", {AsTensor<tstring>({"a", "b", "c"})}, "Could not parse",
              Attrs().Set("dtype", DT_FLOAT));
  ExpectError("DeserializeSparse", {Tensor(DT_VARIANT, TensorShape({3}))}, "Could not get a tensor",
              Attrs().Set("dtype", DT_FLOAT));
  ExpectError("DeserializeSparse", {Tensor(DT_STRING, TensorShape({0, 3}))}, "has a zero dimension",
              Attrs().Set("dtype", DT_FLOAT));
}

TEST_F(SparseTest, ParkedTensorsAreTakenOnce) {
  const Attrs map = Attrs().Set("shared_name", "map").Set("dtype", DT_FLOAT);
  ASSERT_OK_AND_ASSIGN(const Tensor handle,
                       RunOp1("AddSparseToTensorsMap", {indices_, values_, shape_}, Attrs().Set("shared_name", "map")));
  const Tensor handles = Longs({handle.scalar<int64_t>()});
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> out, RunOp("TakeManySparseFromTensorsMap", {handles}, map));
  ExpectTensorEqual(out[2], Longs({1, 3, 4}));
  EXPECT_THAT(RunOp("TakeManySparseFromTensorsMap", {handles}, map),
              StatusIs(Code::kInvalidArgument, HasSubstr("Unable to find SparseTensor: 0 in map: map")));
}

TEST_F(SparseTest, CountsAreByRow) {
  ASSERT_OK_AND_ASSIGN(
      const std::vector<Tensor> out,
      RunOp("DenseCountSparseOutput", {AsTensor<int32_t>({3, 1, 3, 2}, {2, 2}), Tensor(DT_INT64, TensorShape({0}))},
            Attrs().Set("binary_output", false)));
  ExpectTensorEqual(out[0], Rows({0, 1, 0, 3, 1, 2, 1, 3}, 2));
  ExpectTensorEqual(out[2], Longs({2, 4}));
  for (const std::vector<int64_t>& splits : {std::vector<int64_t>{}, {0}, {1, 3}, {0, 2}, {0, 5, 3}}) {
    ExpectError("RaggedCountSparseOutput",
                {Longs(splits), AsTensor<int32_t>({1, 2, 3}), Tensor(DT_FLOAT, TensorShape({0}))}, "plit",
                Attrs().Set("binary_output", false));
  }
}

TEST_F(SparseTest, NegativeValuesAreCountedInNoMatrixAndRefusedElsewhere) {
  const Tensor values = AsTensor<int32_t>({1, -2, 2}), size = AsScalar<int32_t>(3), none = Floats({});
  ASSERT_OK_AND_ASSIGN(const Tensor counts, RunOp1("SparseBincount", {indices_, values, shape_, size, none}));
  ExpectTensorEqual(counts, AsTensor<float>({0, 1, 0, 0, 0, 1, 0, 0, 0}, {3, 3}));
  ExpectError("SparseBincount", {Rows({0, 1, 2}, 1), values, Longs({3}), size, none}, "Input arr must be non-negative");
  ExpectError("RaggedBincount", {Longs({0, 1, 3}), values, size, none}, "Input must be non-negative");
}

TEST_F(SparseTest, SoftmaxIsInTheOrderOfTheIndices) {
  const float e = std::exp(1.f);
  ASSERT_OK_AND_ASSIGN(const Tensor out,
                       RunOp1("SparseSoftmax", {Rows({7, 1, 0, 2, 0, 0}, 2), Floats({3, 2, 1}), shape_}));
  ExpectTensorNear(out, Floats({1 / (1 + e), e / (1 + e), 1}), 1e-6);
}

TEST_F(SparseTest, SetsAreSorted) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> out,
                       RunOp("DenseToDenseSetOperation",
                             {AsTensor<tstring>({"b", "a", "c"}, {1, 3}), AsTensor<tstring>({"c", "d"}, {1, 2})},
                             Attrs().Set("set_operation", "union")));
  ExpectTensorEqual(out[1], AsTensor<tstring>({"a", "b", "c", "d"}));
  ExpectTensorEqual(out[2], Longs({1, 4}));
  // Nothing is done for each of 2^40 empty sets.
  const Tensor wide(DT_INT32, TensorShape({int64_t{1} << 40, 0}));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> none,
                       RunOp("DenseToDenseSetOperation", {wide, wide}, Attrs().Set("set_operation", "a-b")));
  EXPECT_EQ(none[1].NumElements(), 0);
}

}  // namespace
}  // namespace weir
