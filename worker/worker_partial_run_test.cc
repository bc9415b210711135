// Partial runs at a worker.
#include "core/testing.h"
#include "core/threads/cancellation.h"
#include "worker/worker.h"
#include "worker/worker_testing.h"

namespace weir {
namespace {

TestGraph::Attr OneInteger(const std::string& name) {
  tensorflow::AttrValue value;
  value.mutable_list()->add_type(tensorflow::DT_INT64);
  return {name, value};
}

TEST_F(WorkerTest, PartialRunsTakeFeedsOneByOne) {
  Out x = Feed("x"), y = Feed("y");
  Out doubled = g_.I64("AddV2", {x, x});
  Fetch(doubled, "doubled");
  Fetch(g_.I64("Mul", {doubled, y}), "product");
  auto handle = Register({"x", "y"}, {"doubled", "product"});
  ASSERT_TRUE(handle.ok()) << handle.status();
  auto first = Run({.graph_handle = *handle,
                    .step_id = 3,
                    .feed_indices = {0},
                    .feeds = Ints({4}),
                    .fetch_indices = {0},
                    .is_partial = true});
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->fetches[0].scalar<int64_t>(), 8);
  auto last = Run({.graph_handle = *handle,
                   .step_id = 3,
                   .feed_indices = {1},
                   .feeds = Ints({5}),
                   .fetch_indices = {1},
                   .is_partial = true,
                   .is_last_partial_run = true});
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_EQ(last->fetches[0].scalar<int64_t>(), 40);
  Cleanup(3);
}

TEST_F(WorkerTest, AnAbandonedPartialRunEndsWithItsStep) {
  Out x = Feed("x"), y = Feed("y");
  Fetch(x, "x");
  Fetch(y, "y");
  auto handle = Register({"x", "y"}, {"x", "y"});
  ASSERT_TRUE(Run({.graph_handle = *handle,
                   .step_id = 3,
                   .feed_indices = {0},
                   .feeds = Ints({4}),
                   .fetch_indices = {0},
                   .is_partial = true})
                  .ok());
  Cleanup(3);
  EXPECT_EQ(worker_->num_open_steps(), 0);
}

// Its dequeue would take the element that comes later.
TEST_F(WorkerTest, AnAbandonedPartialRunRunsNothingMore) {
  const auto queue = [this] {
    return g_.Add("FIFOQueueV2", {}, {OneInteger("component_types"), TestGraph::A("shared_name", std::string("q"))});
  };
  Fetch(g_.Int(1), "x");
  g_.Add("QueueDequeueV2", {queue()}, {OneInteger("component_types")});
  auto waiting = Register({}, {"x"});
  ASSERT_TRUE(waiting.ok()) << waiting.status();
  ASSERT_TRUE(Run({.graph_handle = *waiting, .step_id = 3, .fetch_indices = {0}, .is_partial = true}).ok());
  Cleanup(3);
  g_.Add("QueueEnqueueV2", {queue(), g_.Int(7)}, {OneInteger("Tcomponents")});
  auto enqueue = Register({}, {});
  ASSERT_TRUE(enqueue.ok()) << enqueue.status();
  ASSERT_TRUE(Run({.graph_handle = *enqueue, .step_id = 4}).ok());
  Fetch(g_.Add("Cast", {g_.Add("QueueSizeV2", {queue()})},
               {TestGraph::A("SrcT", DT_INT32), TestGraph::A("DstT", DT_INT64)}),
        "size");
  auto size = Register({}, {"size"});
  ASSERT_TRUE(size.ok()) << size.status();
  const Fetched result = Run({.graph_handle = *size, .step_id = 5});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->fetches[0].scalar<int64_t>(), 1);
}

TEST_F(WorkerTest, APartialRunThatFetchesWhatIsGoneEndsWithItsCall) {
  Fetch(g_.Int(1), "x");
  auto handle = Register({}, {"x"});
  ASSERT_TRUE(handle.ok()) << handle.status();
  const RunGraphArgs args{.graph_handle = *handle, .step_id = 3, .fetch_indices = {0}, .is_partial = true};
  ASSERT_TRUE(Run(args).ok());
  CancellationManager cancellation;
  Promise<Fetched> again;
  Start(args, &again, {.cancellation = &cancellation});
  cancellation.StartCancel();
  EXPECT_EQ(again.Wait().status().code(), absl::StatusCode::kCancelled);
  Cleanup(3);
}

}  // namespace
}  // namespace weir
