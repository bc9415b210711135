#include "worker/executor/ready_queue.h"

#include <malloc.h>

#include "core/testing.h"

namespace weir {
namespace {

size_t BytesInUse() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

TEST(ReadyQueueTest, CostlyNodesComeInTheOrderInWhichTheyWerePutAside) {
  ReadyQueue queue;
  for (uint32_t node = 0; node < 5; ++node) queue.PutAside({.node = node}, 10);
  for (uint32_t node = 0; node < 5; ++node) {
    EXPECT_EQ(queue.TakeCostly().node, node);
    queue.PutAside({.node = node + 5}, 10);
  }
  ReadyQueue half = queue.TakeHalfOfCostly();
  EXPECT_EQ(half.TakeCostly().node, 5);
  EXPECT_EQ(queue.TakeCostly().node, 8);
  EXPECT_EQ(half.costly_nanos() + queue.costly_nanos(), 30);
}

TEST(ReadyQueueTest, AnEndlessLoopTakesNoMoreMemoryAsItGoesOn) {
  ReadyQueue queue;
  queue.PutAside({}, 10);
  const size_t before = BytesInUse();
  for (int i = 0; i < 1'000'000; ++i) {
    queue.PutAside({}, 10);
    queue.TakeCostly();
  }
  EXPECT_LT(BytesInUse(), before + (size_t{1} << 20));
}

}  // namespace
}  // namespace weir
