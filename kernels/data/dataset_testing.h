// A fixture for tests of datasets.
#pragma once

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/op_testing.h"

namespace weir {

// Runs dataset ops and iterates over what they make.
class DatasetPipelineTest : public OpTest {
 protected:
  static Tensor Int(int64_t value) { return Tensor::Scalar<int64_t>(value); }
  static Attrs Types(DataTypeVector types = {DT_INT64}) {
    Attrs attrs;
    attrs.Set("output_shapes", std::vector<PartialTensorShape>(types.size()));
    attrs.Set("output_types", types);
    return attrs;
  }
  Tensor Range(int64_t stop) {
    absl::StatusOr<Tensor> range = RunOp1("RangeDataset", {Int(0), Int(stop), Int(1)}, Types());
    EXPECT_THAT(range.status(), IsOk());
    return *range;
  }
  Tensor Batches(int64_t stop, int64_t size) {
    absl::StatusOr<Tensor> batches = RunOp1("BatchDataset", {Range(stop), Int(size)}, Types());
    EXPECT_THAT(batches.status(), IsOk());
    return *batches;
  }
  Tensor Iterate(const Tensor& dataset, const Attrs& attrs) {
    absl::StatusOr<Tensor> handle = RunOp1("AnonymousIteratorV3", {}, attrs);
    EXPECT_THAT(handle.status(), IsOk());
    EXPECT_THAT(RunOp("MakeIterator", {dataset, *handle}).status(), IsOk());
    return *handle;
  }
  void ExpectElements(const absl::StatusOr<Tensor>& dataset, const std::vector<Tensor>& expected) {
    ASSERT_THAT(dataset.status(), IsOk());
    const Tensor handle = Iterate(*dataset, Types());
    for (const Tensor& value : expected) {
      ASSERT_OK_AND_ASSIGN(const Tensor next, RunOp1("IteratorGetNext", {handle}, Types()));
      ExpectTensorEqual(next, value);
    }
    EXPECT_THAT(RunOp("IteratorGetNext", {handle}, Types()), StatusIs(absl::StatusCode::kOutOfRange));
  }
  // All elements, up to an error.
  absl::StatusOr<std::vector<int64_t>> Elements(const absl::StatusOr<Tensor>& dataset) {
    RETURN_IF_ERROR(dataset.status());
    ASSIGN_OR_RETURN(const Tensor handle, RunOp1("AnonymousIteratorV3", {}, Types()));
    RETURN_IF_ERROR(RunOp("MakeIterator", {*dataset, handle}).status());
    std::vector<int64_t> elements;
    for (;;) {
      const absl::StatusOr<Tensor> next = RunOp1("IteratorGetNext", {handle}, Types());
      if (absl::IsOutOfRange(next.status())) return elements;
      RETURN_IF_ERROR(next.status());
      elements.push_back(next->scalar<int64_t>());
    }
  }
};

}  // namespace weir
