#include "core/device/incarnation.h"

#include "gtest/gtest.h"

namespace weir {
namespace {

TEST(IncarnationTest, LaterOnesAreGreater) {
  uint64_t last = NewIncarnation();
  EXPECT_NE(last, 0);
  for (int i = 0; i < 10; ++i) {
    uint64_t next = NewIncarnation();
    while (next == last) next = NewIncarnation();
    EXPECT_TRUE(IsEarlierIncarnation(last, next));
    EXPECT_FALSE(IsEarlierIncarnation(next, last));
    last = next;
  }
  EXPECT_FALSE(IsEarlierIncarnation(last, last));
}

TEST(IncarnationTest, NoOrderIsReadIntoRandomNumbers) {
  const uint64_t ordered = NewIncarnation();
  for (const uint64_t random : {uint64_t{0}, uint64_t{1}, uint64_t{0x1234567890abcdef}, ~uint64_t{0}}) {
    EXPECT_FALSE(IsEarlierIncarnation(random, ordered));
    EXPECT_FALSE(IsEarlierIncarnation(ordered, random));
    EXPECT_FALSE(IsEarlierIncarnation(random, random + 1));
  }
}

}  // namespace
}  // namespace weir
