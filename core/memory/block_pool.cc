#include "core/memory/block_pool.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

namespace weir {
namespace {

constexpr size_t kHugePage = 2 << 20;

size_t RoundUp(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

// Blocks of 2 MiB and more start on a huge page.
void* MapHuge(size_t bytes) {
  void* map = mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) return nullptr;
  char* const begin = static_cast<char*>(map);
  char* const start = reinterpret_cast<char*>(RoundUp(reinterpret_cast<uintptr_t>(begin), kHugePage));
  char* const end = begin + bytes + kHugePage;
  if (start > begin) munmap(begin, start - begin);
  if (end > start + bytes) munmap(start + bytes, end - (start + bytes));
  madvise(start, bytes, MADV_HUGEPAGE);  // advice: huge pages are optional
  return start;
}

}  // namespace

void* SystemAllocate(size_t bytes) {
  if (bytes > SIZE_MAX / 2) return nullptr;
  if (bytes >= kHugePage) return MapHuge(RoundUp(bytes, 4096));
  return std::aligned_alloc(kTensorAlignment, RoundUp(bytes, kTensorAlignment));
}

void SystemFree(void* ptr, size_t bytes) {
  if (bytes >= kHugePage) {
    munmap(ptr, RoundUp(bytes, 4096));
  } else {
    std::free(ptr);
  }
}

FreeList BlockPool::Take(int size_class) {
  Shelf& shelf = shelves_[size_class];
  if (shelf.num_lists.load(std::memory_order_relaxed) == 0) return {};
  MutexLock lock(shelf.mu);
  if (shelf.lists.empty()) return {};
  FreeList list = shelf.lists.back();
  shelf.lists.pop_back();
  shelf.num_lists.store(shelf.lists.size(), std::memory_order_relaxed);
  retained_.fetch_sub(list.count * ClassSize(size_class), std::memory_order_relaxed);
  return list;
}

void BlockPool::Put(int size_class, FreeList list) {
  if (list.count == 0) return;
  const size_t bytes = list.count * ClassSize(size_class);
  MakeRoom(bytes);
  retained_.fetch_add(bytes, std::memory_order_relaxed);
  Shelf& shelf = shelves_[size_class];
  MutexLock lock(shelf.mu);
  shelf.lists.push_back(list);
  shelf.num_lists.store(shelf.lists.size(), std::memory_order_relaxed);
}

void BlockPool::ReleaseAll() {
  for (int c = 0; c < kNumClasses; ++c) Release(c);
}

void BlockPool::MakeRoom(size_t bytes) {
  for (int i = 0; i < kNumClasses && retained_.load(std::memory_order_relaxed) + bytes > limit_; ++i) {
    Release(static_cast<int>(hand_.fetch_add(1, std::memory_order_relaxed) % kNumClasses));
  }
}

void BlockPool::Release(int size_class) {
  std::vector<FreeList> lists;
  {
    MutexLock lock(shelves_[size_class].mu);
    lists.swap(shelves_[size_class].lists);
    shelves_[size_class].num_lists.store(0, std::memory_order_relaxed);
  }
  for (FreeList& list : lists) {
    retained_.fetch_sub(list.count * ClassSize(size_class), std::memory_order_relaxed);
    while (list.count > 0) SystemFree(list.Pop(), ClassSize(size_class));
  }
}

}  // namespace weir
