#include <atomic>

#include "kernels/op_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using Code = absl::StatusCode;

Tensor Number(int32_t value) { return AsScalar<int32_t>(value); }

class QueueTest : public OpTest {
 protected:
  const Attrs out_ = Attrs().Set("component_types", DataTypeVector{DT_FLOAT});

  // A queue of float scalars.
  Tensor MakeQueue(const std::string& name, int64_t capacity, const std::string& op = "FIFOQueueV2", Attrs attrs = {}) {
    attrs.Set("component_types", DataTypeVector{DT_FLOAT}).Set("shapes", std::vector<TensorShape>{TensorShape()});
    absl::StatusOr<Tensor> queue = RunOp1(op, {}, attrs.Set("capacity", capacity).Set("shared_name", name));
    EXPECT_THAT(queue, IsOk());
    return *queue;
  }
  absl::Status Enqueue(const Tensor& queue, float value) {
    return RunOp("QueueEnqueueV2", {queue, One(value)}).status();
  }
  absl::StatusOr<Tensor> Dequeue(const Tensor& queue) { return RunOp1("QueueDequeueV2", {queue}, out_); }

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
};

TEST_F(QueueTest, FirstInFirstOut) {
  const Tensor queue = MakeQueue("q", 10);
  ASSERT_THAT(Enqueue(queue, 1), IsOk());
  ASSERT_THAT(RunOp("QueueEnqueueManyV2", {queue, AsTensor<float>({2, 3, 4})}), IsOk());
  ASSERT_OK_AND_ASSIGN(Tensor size, RunOp1("QueueSizeV2", {queue}));
  ExpectTensorEqual(size, Number(4));
  ASSERT_OK_AND_ASSIGN(Tensor one, Dequeue(queue));
  ExpectTensorEqual(one, One(1));
  ASSERT_OK_AND_ASSIGN(Tensor two, RunOp1("QueueDequeueManyV2", {queue, Number(2)}, out_));
  ExpectTensorEqual(two, AsTensor<float>({2, 3}));
  ASSERT_OK_AND_ASSIGN(Tensor none, RunOp1("QueueDequeueManyV2", {queue, Number(0)}, out_));
  EXPECT_EQ(none.shape(), TensorShape({0}));
}

TEST_F(QueueTest, AConsumerWaitsForItsProducer) {
  const Tensor queue = MakeQueue("q", 10);
  auto consumer = Start("QueueDequeueManyV2", {queue, Number(2)}, out_);
  ASSERT_THAT(Enqueue(queue, 1), IsOk());
  EXPECT_FALSE(consumer->done);
  ASSERT_THAT(Enqueue(queue, 2), IsOk());
  ASSERT_TRUE(consumer->done);
  ExpectTensorEqual((*consumer->outputs)[0], AsTensor<float>({1, 2}));
}

TEST_F(QueueTest, AProducerWaitsForRoom) {
  const Tensor queue = MakeQueue("q", 1);
  auto producer = Start("QueueEnqueueManyV2", {queue, AsTensor<float>({1, 2, 3})});
  EXPECT_FALSE(producer->done);
  for (float expected : {1.0f, 2.0f}) {
    ASSERT_OK_AND_ASSIGN(Tensor value, Dequeue(queue));
    ExpectTensorEqual(value, One(expected));
  }
  ASSERT_TRUE(producer->done);
  EXPECT_THAT(producer->outputs, IsOk());
}

TEST_F(QueueTest, MoreThanTheCapacityCanBeTakenAtOnce) {
  const Tensor queue = MakeQueue("q", 1);
  auto consumer = Start("QueueDequeueManyV2", {queue, Number(3)}, out_);
  ASSERT_THAT(RunOp("QueueEnqueueManyV2", {queue, AsTensor<float>({1, 2, 3})}), IsOk());
  ASSERT_TRUE(consumer->done);
  ExpectTensorEqual((*consumer->outputs)[0], AsTensor<float>({1, 2, 3}));
}

TEST_F(QueueTest, AClosedQueueGivesWhatItHolds) {
  const Tensor queue = MakeQueue("q", 10);
  ASSERT_THAT(Enqueue(queue, 1), IsOk());
  auto consumer = Start("QueueDequeueManyV2", {queue, Number(2)}, out_);
  ASSERT_THAT(RunOp("QueueCloseV2", {queue}), IsOk());
  ASSERT_TRUE(consumer->done);
  EXPECT_THAT(
      consumer->outputs,
      StatusIs(Code::kOutOfRange,
               HasSubstr("FIFOQueue 'q' is closed and has insufficient elements (requested 2, current size 1)")));
  EXPECT_THAT(Enqueue(queue, 2), StatusIs(Code::kCancelled, HasSubstr("FIFOQueue 'q' is closed.")));
  EXPECT_THAT(RunOp("QueueCloseV2", {queue}), StatusIs(Code::kCancelled, HasSubstr("already closed")));
  ASSERT_OK_AND_ASSIGN(Tensor closed, RunOp1("QueueIsClosedV2", {queue}));
  ExpectTensorEqual(closed, AsScalar<bool>(true));
  ASSERT_OK_AND_ASSIGN(Tensor rest, RunOp1("QueueDequeueUpToV2", {queue, Number(2)}, out_));
  ExpectTensorEqual(rest, AsTensor<float>({1}));
  EXPECT_THAT(Dequeue(queue), StatusIs(Code::kOutOfRange));
}

TEST_F(QueueTest, ClosingWaitsForPendingProducersUnlessTold) {
  const Tensor patient = MakeQueue("patient", 1), hasty = MakeQueue("hasty", 1);
  ASSERT_THAT(Enqueue(patient, 1), IsOk());
  ASSERT_THAT(Enqueue(hasty, 1), IsOk());
  auto waits = Start("QueueEnqueueV2", {patient, One(2)});
  auto fails = Start("QueueEnqueueV2", {hasty, One(2)});
  auto closes = Start("QueueCloseV2", {patient});
  EXPECT_FALSE(closes->done);
  ASSERT_THAT(Dequeue(patient), IsOk());
  EXPECT_TRUE(waits->done && closes->done);
  EXPECT_THAT(waits->outputs, IsOk());
  ASSERT_THAT(RunOp("QueueCloseV2", {hasty}, Attrs().Set("cancel_pending_enqueues", true)), IsOk());
  ASSERT_TRUE(fails->done);
  EXPECT_THAT(fails->outputs, StatusIs(Code::kCancelled));
}

TEST_F(QueueTest, CancellationEndsWaitingAndLosesNothing) {
  const Tensor queue = MakeQueue("q", 10);
  ASSERT_THAT(Enqueue(queue, 1), IsOk());
  auto consumer = Start("QueueDequeueManyV2", {queue, Number(2)}, out_);
  EXPECT_FALSE(consumer->done);
  cancellation().StartCancel();
  ASSERT_TRUE(consumer->done);
  EXPECT_THAT(consumer->outputs, StatusIs(Code::kCancelled, HasSubstr("Dequeue operation was cancelled")));
  ASSERT_OK_AND_ASSIGN(Tensor size, RunOp1("QueueSizeV2", {queue}));
  ExpectTensorEqual(size, Number(1));
  EXPECT_THAT(Dequeue(queue), StatusIs(Code::kCancelled));
}

TEST_F(QueueTest, ShufflingKeepsEveryElementAndAReserve) {
  const Tensor queue = MakeQueue("q", 200, "RandomShuffleQueueV2", Attrs().Set("min_after_dequeue", 50).Set("seed", 1));
  std::vector<float> values(100);
  for (int i = 0; i < 100; ++i) values[i] = i;
  ASSERT_THAT(RunOp("QueueEnqueueManyV2", {queue, AsTensor<float>(values)}), IsOk());
  ASSERT_OK_AND_ASSIGN(Tensor half, RunOp1("QueueDequeueManyV2", {queue, Number(50)}, out_));
  auto more = Start("QueueDequeueManyV2", {queue, Number(50)}, out_);
  EXPECT_FALSE(more->done);
  ASSERT_THAT(RunOp("QueueCloseV2", {queue}), IsOk());
  ASSERT_TRUE(more->done);
  std::vector<float> all(half.flat<float>().begin(), half.flat<float>().end());
  for (float value : (*more->outputs)[0].flat<float>()) all.push_back(value);
  EXPECT_NE(all, values);
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, values);
}

TEST_F(QueueTest, BadInputsAreErrors) {
  const Tensor queue = MakeQueue("q", 10);
  ASSERT_OK_AND_ASSIGN(Tensor shapeless, RunOp1("FIFOQueueV2", {}, out_));
  const auto error = [](const absl::Status& status, const std::string& message) {
    EXPECT_THAT(status, StatusIs(Code::kInvalidArgument, HasSubstr(message)));
  };
  error(RunOp("QueueEnqueueV2", {queue, AsTensor<float>({1})}).status(),
        "Shape mismatch in tuple component 0. Expected [], got [1]");
  error(RunOp("QueueEnqueueV2", {queue, Number(1)}).status(), "Type mismatch");
  error(RunOp("QueueEnqueueV2", {queue, One(1), One(2)}).status(),
        "Wrong number of components in tuple. Expected 1, got 2");
  error(RunOp("QueueEnqueueManyV2", {queue, One(1)}).status(), "same size in the 0th dimension");
  error(RunOp("QueueDequeueManyV2", {queue, Number(-1)}, out_).status(), "requested -1 < 0 elements");
  error(RunOp("QueueDequeueManyV2", {shapeless, Number(1)}, out_).status(),
        "require the components to have specified shapes");
  error(RunOp("QueueDequeueV2", {queue}, Attrs().Set("component_types", DataTypeVector{DT_INT32})).status(),
        "component types differ");
  const Attrs other = Attrs().Set("component_types", DataTypeVector{DT_INT32}).Set("shared_name", "q");
  error(RunOp("FIFOQueueV2", {}, other).status(), "has capacity 10 but requested capacity was");
  error(RunOp("FIFOQueueV2", {}, Attrs(other).Set("capacity", 10)).status(),
        "has component types float but requested component types were int32");
  error(RunOp("PaddingFIFOQueueV2", {}, Attrs(other).Set("shapes", std::vector<PartialTensorShape>{TensorShape()}))
            .status(),
        "Expected FIFOQueue, found PaddingFIFOQueueV2");
  error(RunOp("QueueSizeV2", {Tensor::Scalar(ResourceHandle())}).status(), "");
}

}  // namespace
}  // namespace weir
