#include "core/memory/block_pool.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

FreeList ListOf(int size_class, int count) {
  FreeList list;
  for (int i = 0; i < count; ++i) list.Push(SystemAllocate(ClassSize(size_class)));
  return list;
}

TEST(SizeClassesTest, EverySizeFitsItsClassAndWastesLittle) {
  for (size_t bytes = 1; bytes <= kMaxPooled; bytes += bytes / 37 + 1) {
    const int size_class = ClassOf(bytes);
    ASSERT_LT(size_class, kNumClasses);
    ASSERT_GE(ClassSize(size_class), bytes);
    ASSERT_EQ(ClassSize(size_class) % kTensorAlignment, 0u);
    if (size_class > 0) {
      ASSERT_LT(ClassSize(size_class - 1), bytes);
    }
    if (bytes > 1024) {
      ASSERT_LE(ClassSize(size_class), bytes + bytes / 8);
    }
  }
}

TEST(BlockPoolTest, GivesBackWhatWasPut) {
  BlockPool pool(1 << 20);
  EXPECT_EQ(pool.Take(3).count, 0);
  const FreeList list = ListOf(3, 5);
  pool.Put(3, list);
  EXPECT_EQ(pool.retained(), 5 * ClassSize(3));
  EXPECT_EQ(pool.Take(4).count, 0);
  const FreeList taken = pool.Take(3);
  EXPECT_EQ(taken.head, list.head);
  EXPECT_EQ(taken.count, 5);
  EXPECT_EQ(pool.retained(), 0u);
  pool.Put(3, taken);
  pool.ReleaseAll();
  EXPECT_EQ(pool.retained(), 0u);
}

TEST(BlockPoolTest, SizesNoLongerUsedMakeRoom) {
  BlockPool pool(1 << 20);
  const int old_class = ClassOf(64 << 10), new_class = ClassOf(96 << 10);
  for (int i = 0; i < 16; ++i) pool.Put(old_class, ListOf(old_class, 1));
  EXPECT_EQ(pool.retained(), size_t{1} << 20);
  for (int i = 0; i < 8; ++i) pool.Put(new_class, ListOf(new_class, 1));
  EXPECT_LE(pool.retained(), size_t{1} << 20);
  EXPECT_EQ(pool.Take(old_class).count, 0);
  FreeList kept = pool.Take(new_class);
  EXPECT_EQ(kept.count, 1);
  SystemFree(kept.Pop(), ClassSize(new_class));
  pool.ReleaseAll();
}

TEST(BlockPoolTest, LargeBlocksStartOnAHugePage) {
  constexpr size_t kBytes = 5 << 20;
  void* block = SystemAllocate(kBytes);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % (2 << 20), 0u);
  static_cast<char*>(block)[kBytes - 1] = 1;
  SystemFree(block, kBytes);
}

}  // namespace
}  // namespace weir
