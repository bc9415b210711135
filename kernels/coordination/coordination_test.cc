// Accumulators, barriers, staging areas and mutexes: what waits, and what ends the waiting.
#include <atomic>

#include "core/kernel/op_kernel_testing.h"
#include "core/tensor/variant.h"
#include "kernels/coordination/family.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using Code = absl::StatusCode;

class CoordinationTest : public KernelTest {
 protected:
  void SetUp() override {
    Register(RegisterAccumulatorOps, RegisterAccumulatorKernels);
    Register(RegisterBarrierOps, RegisterBarrierKernels);
    Register(RegisterStagingOps, [](KernelRegistry& kernels) {
      RETURN_IF_ERROR(RegisterStagingKernels(kernels));
      return RegisterMutexKernels(kernels);
    });
  }

  // An op that may have to wait.
  struct Pending {
    std::unique_ptr<OpKernel> kernel;
    std::atomic<bool> done{false};
    absl::StatusOr<std::vector<Tensor>> outputs;
  };
  std::unique_ptr<Pending> Start(const std::string& op, std::vector<TestInput> inputs, const Attrs& attrs = {}) {
    auto pending = std::make_unique<Pending>();
    absl::StatusOr<std::unique_ptr<OpKernel>> kernel = MakeOp(op, inputs, attrs);
    EXPECT_THAT(kernel, IsOk());
    pending->kernel = *std::move(kernel);
    RunKernelAsync(static_cast<AsyncOpKernel&>(*pending->kernel), std::move(inputs),
                   [p = pending.get()](absl::StatusOr<std::vector<Tensor>> outputs) {
                     p->outputs = std::move(outputs);
                     p->done = true;
                   });
    return pending;
  }

  TestInput Reference(Tensor handle) {
    handle_ = std::move(handle);
    return TestInput::Ref(&handle_, &mutex_);
  }

  Tensor handle_;
  std::mutex mutex_;
};

Tensor Step(int64_t step) { return AsScalar<int64_t>(step); }
Tensor N(int32_t n) { return AsScalar<int32_t>(n); }

TEST_F(CoordinationTest, AnAccumulatorGivesTheMeanOfFreshGradients) {
  const Attrs attrs = Attrs().Set("dtype", DT_FLOAT).Set("shape", TensorShape({2})).Set("shared_name", "a");
  ASSERT_OK_AND_ASSIGN(Tensor handle, RunOp1("ResourceConditionalAccumulator", {}, attrs));
  const auto apply = [&](int64_t step, const Tensor& gradient) {
    return RunOp("ResourceAccumulatorApplyGradient", {handle, Step(step), gradient}).status();
  };
  auto taker = Start("ResourceAccumulatorTakeGradient", {handle, N(2)}, Attrs().Set("dtype", DT_FLOAT));
  ASSERT_THAT(apply(0, AsTensor<float>({1, 2})), IsOk());
  EXPECT_FALSE(taker->done);
  ASSERT_THAT(apply(0, AsTensor<float>({3, 6})), IsOk());
  ASSERT_TRUE(taker->done);
  ExpectTensorEqual((*taker->outputs)[0], AsTensor<float>({2, 4}));
  ASSERT_THAT(apply(0, AsTensor<float>({3, 6})), IsOk());  // of the step before
  ASSERT_OK_AND_ASSIGN(Tensor count, RunOp1("ResourceAccumulatorNumAccumulated", {handle}));
  ExpectTensorEqual(count, N(0));
  EXPECT_THAT(apply(1, AsTensor<float>({1})), StatusIs(Code::kInvalidArgument, HasSubstr("Shape mismatch")));
  EXPECT_THAT(apply(1, AsTensor<double>({1, 2})), StatusIs(Code::kInvalidArgument));
}

TEST_F(CoordinationTest, ACancelledTakerLeavesTheGradients) {
  const Attrs attrs = Attrs().Set("dtype", DT_FLOAT).Set("shape", TensorShape({})).Set("shared_name", "a");
  ASSERT_OK_AND_ASSIGN(Tensor handle, RunOp1("ResourceConditionalAccumulator", {}, attrs));
  auto taker = Start("ResourceAccumulatorTakeGradient", {handle, N(2)}, Attrs().Set("dtype", DT_FLOAT));
  ASSERT_THAT(RunOp("ResourceAccumulatorApplyGradient", {handle, Step(0), AsScalar<float>(1)}), IsOk());
  cancellation().StartCancel();
  ASSERT_TRUE(taker->done);
  EXPECT_THAT(taker->outputs, StatusIs(Code::kCancelled, HasSubstr("TakeGrad operation was cancelled")));
  ASSERT_OK_AND_ASSIGN(Tensor count, RunOp1("ResourceAccumulatorNumAccumulated", {handle}));
  ExpectTensorEqual(count, N(1));
}

TEST_F(CoordinationTest, ASparseAccumulatorCountsEachRow) {
  ASSERT_OK_AND_ASSIGN(
      Tensor handle, RunOp1("SparseConditionalAccumulator", {},
                            Attrs().Set("dtype", DT_FLOAT).Set("shape", TensorShape({4, 2})).Set("shared_name", "s")));
  const auto apply = [&](const Tensor& rows, const Tensor& values) {
    return RunOp("SparseAccumulatorApplyGradient",
                 {Reference(handle), Step(0), rows, values, AsTensor<int64_t>({4, 2})},
                 Attrs().Set("has_known_shape", true))
        .status();
  };
  ASSERT_THAT(apply(AsTensor<int64_t>({0, 2}), AsTensor<float>({1, 1, 2, 2}, {2, 2})), IsOk());
  ASSERT_THAT(apply(AsTensor<int64_t>({2, 3}), AsTensor<float>({4, 6, 5, 5}, {2, 2})), IsOk());
  EXPECT_THAT(apply(AsTensor<int64_t>({9}), AsTensor<float>({4, 6}, {1, 2})), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(apply(AsTensor<int64_t>({1, 2}), AsTensor<float>({4, 6}, {1, 2})), StatusIs(Code::kInvalidArgument));
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> taken, RunOp("SparseAccumulatorTakeGradient", {Reference(handle), N(2)},
                                                        Attrs().Set("dtype", DT_FLOAT)));
  ExpectTensorEqual(taken[0], AsTensor<int64_t>({0, 2, 3}));
  ExpectTensorEqual(taken[1], AsTensor<float>({1, 1, 3, 4, 5, 5}, {3, 2}));
  ExpectTensorEqual(taken[2], AsTensor<int64_t>({4, 2}));
}

TEST_F(CoordinationTest, ABarrierPutsTuplesTogether) {
  ASSERT_OK_AND_ASSIGN(Tensor handle, RunOp1("Barrier", {},
                                             Attrs()
                                                 .Set("component_types", DataTypeVector{DT_FLOAT, DT_INT32})
                                                 .Set("shapes", std::vector<TensorShape>{TensorShape(), TensorShape()})
                                                 .Set("shared_name", "b")));
  const auto insert = [&](int64_t component, std::vector<tstring> keys, const Tensor& values) {
    return RunOp("BarrierInsertMany", {Reference(handle), AsTensor<tstring>(keys), values},
                 Attrs().Set("component_index", component))
        .status();
  };
  const Attrs types = Attrs().Set("component_types", DataTypeVector{DT_FLOAT, DT_INT32});
  auto taker = Start("BarrierTakeMany", {Reference(handle), N(2)}, types);
  ASSERT_THAT(insert(0, {"a", "b"}, AsTensor<float>({1, 2})), IsOk());
  ASSERT_THAT(insert(1, {"b"}, AsTensor<int32_t>({20})), IsOk());
  EXPECT_FALSE(taker->done);
  ASSERT_THAT(insert(1, {"a"}, AsTensor<int32_t>({10})), IsOk());
  ASSERT_TRUE(taker->done);
  ASSERT_THAT(taker->outputs, IsOk());
  EXPECT_EQ((*taker->outputs)[1].NumElements(), 2);
  EXPECT_THAT(insert(0, {"c", "d"}, AsTensor<float>({1})), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(insert(5, {"c"}, AsTensor<float>({1})), StatusIs(Code::kInvalidArgument, HasSubstr("out of range")));
  ASSERT_THAT(RunOp("BarrierClose", {Reference(handle)}), IsOk());
  EXPECT_THAT(insert(0, {"new"}, AsTensor<float>({1})), StatusIs(Code::kCancelled, HasSubstr("is closed")));
  EXPECT_THAT(RunOp("BarrierTakeMany", {Reference(handle), N(1)}, types),
              StatusIs(Code::kOutOfRange, HasSubstr("is closed and has insufficient elements")));
}

TEST_F(CoordinationTest, AStagingAreaWaitsForRoomAndForTuples) {
  const Attrs area = Attrs().Set("capacity", 1).Set("shared_name", "area").Set("dtypes", DataTypeVector{DT_INT32});
  auto taker = Start("Unstage", {}, area);
  EXPECT_FALSE(taker->done);
  ASSERT_THAT(RunOp("Stage", {N(1)}, area), IsOk());
  ASSERT_TRUE(taker->done);
  ExpectTensorEqual((*taker->outputs)[0], N(1));
  ASSERT_THAT(RunOp("Stage", {N(2)}, area), IsOk());
  auto putter = Start("Stage", {N(3)}, area);
  EXPECT_FALSE(putter->done);
  cancellation().StartCancel();
  ASSERT_TRUE(putter->done);
  EXPECT_THAT(putter->outputs, StatusIs(Code::kCancelled));
}

TEST_F(CoordinationTest, AMapGivesWhatIsComplete) {
  const DataTypeVector types = {DT_INT32, DT_FLOAT};
  const Attrs area = Attrs().Set("shared_name", "map").Set("dtypes", types);
  auto taker = Start("OrderedMapUnstage", {Step(4), AsTensor<int32_t>({0, 1})}, area);
  ASSERT_THAT(RunOp("OrderedMapStage", {Step(4), AsTensor<int32_t>({1}), AsScalar<float>(0.5f)}, area), IsOk());
  EXPECT_FALSE(taker->done);
  EXPECT_THAT(RunOp("OrderedMapStage", {Step(4), AsTensor<int32_t>({7}), N(1)}, area),
              StatusIs(Code::kInvalidArgument, HasSubstr("out of bounds")));
  ASSERT_THAT(RunOp("OrderedMapStage", {Step(4), AsTensor<int32_t>({0}), N(3)}, area), IsOk());
  ASSERT_TRUE(taker->done);
  ExpectTensorEqual((*taker->outputs)[0], N(3));
}

TEST_F(CoordinationTest, AMapGivesItsComponentsOneByOne) {
  const Attrs area = Attrs().Set("shared_name", "parts");
  const Attrs both = Attrs(area).Set("dtypes", DataTypeVector{DT_INT32, DT_FLOAT});
  ASSERT_THAT(RunOp("MapStage", {Step(4), AsTensor<int32_t>({0, 1}), N(3), AsScalar<float>(0.5f)}, both), IsOk());
  ASSERT_OK_AND_ASSIGN(Tensor half, RunOp1("MapUnstage", {Step(4), AsTensor<int32_t>({1})},
                                           Attrs(area).Set("dtypes", DataTypeVector{DT_FLOAT})));
  ExpectTensorEqual(half, AsScalar<float>(0.5f));
  EXPECT_THAT(
      RunOp("MapUnstage", {Step(4), AsTensor<int32_t>({0})}, Attrs(area).Set("dtypes", DataTypeVector{DT_FLOAT})),
      StatusIs(Code::kInternal, HasSubstr("Output 0 of type int32 does not match declared output type float")));
  EXPECT_THAT(RunOp("MapUnstage", {Step(4), AsTensor<int32_t>({0})},
                    Attrs(area).Set("dtypes", DataTypeVector{DT_INT32, DT_FLOAT})),
              StatusIs(Code::kInternal, HasSubstr("Missing 1-th output")));
  // Nor twice, nor fewer than the outputs; nothing is lost then.
  EXPECT_THAT(RunOp("MapUnstage", {Step(4), AsTensor<int32_t>({0, 0})},
                    Attrs(area).Set("dtypes", DataTypeVector{DT_INT32, DT_INT32})),
              StatusIs(Code::kInvalidArgument, HasSubstr("Indices are not strictly ordered")));
  EXPECT_THAT(RunOp("MapUnstage", {Step(4), Tensor(DT_INT32, TensorShape({0}))},
                    Attrs(area).Set("dtypes", DataTypeVector{DT_INT32})),
              StatusIs(Code::kInvalidArgument, HasSubstr("Indices are empty")));
  ASSERT_OK_AND_ASSIGN(Tensor three, RunOp1("MapUnstage", {Step(4), AsTensor<int32_t>({0})},
                                            Attrs(area).Set("dtypes", DataTypeVector{DT_INT32})));
  ExpectTensorEqual(three, N(3));
}

TEST_F(CoordinationTest, AKeyThatIsThereKeepsItsValuesAndTakesNoMemory) {
  const Attrs area = Attrs().Set("shared_name", "bounded").Set("dtypes", DataTypeVector{DT_INT32});
  const Attrs limited = Attrs(area).Set("memory_limit", int64_t{8});
  const Tensor first = AsTensor<int32_t>({0});
  ASSERT_THAT(RunOp("MapStage", {Step(1), first, N(1)}, limited), IsOk());
  EXPECT_THAT(RunOp("MapStage", {Step(1), first, N(2)}, limited), IsOk());
  EXPECT_THAT(RunOp("MapStage", {Step(2), first, N(3)}, limited), IsOk());
  ASSERT_OK_AND_ASSIGN(Tensor kept, RunOp1("MapPeek", {Step(1), first}, limited));
  ExpectTensorEqual(kept, N(1));
}

TEST_F(CoordinationTest, ABarrierIsSharedByThoseThatAskForTheSame) {
  const auto make = [this](DataTypeVector types, const std::vector<PartialTensorShape>& shapes, const char* name) {
    return RunOp1("Barrier", {}, Attrs().Set("component_types", types).Set("shapes", shapes).Set("shared_name", name))
        .status();
  };
  EXPECT_THAT(make({DT_FLOAT}, {TensorShape()}, "one"), IsOk());
  EXPECT_THAT(
      make({DT_INT32}, {TensorShape()}, "one"),
      StatusIs(Code::kInvalidArgument, HasSubstr("component types float but requested component types were int32")));
  EXPECT_THAT(
      make({DT_FLOAT}, {TensorShape({1})}, "one"),
      StatusIs(Code::kInvalidArgument, HasSubstr("component shapes [[]] but requested component shapes were [[1]]")));
  EXPECT_THAT(make({DT_FLOAT}, {PartialTensorShape()}, "unknown"), IsOk());
}

TEST_F(CoordinationTest, AMutexHasOneHolderAtATime) {
  ASSERT_OK_AND_ASSIGN(Tensor mutex, RunOp1("MutexV2", {}, Attrs().Set("shared_name", "m")));
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> lock, RunOp("MutexLock", {mutex}));
  auto second = Start("MutexLock", {mutex});
  EXPECT_FALSE(second->done);
  ASSERT_THAT(RunOp("ConsumeMutexLock", {lock[0]}), IsOk());
  cancellation().StartCancel();
  ASSERT_TRUE(second->done);
  EXPECT_THAT(second->outputs, StatusIs(Code::kCancelled));
  EXPECT_THAT(RunOp("ConsumeMutexLock", {Tensor::Scalar(Variant())}), StatusIs(Code::kInvalidArgument));
}

}  // namespace
}  // namespace weir
