// Free memory blocks shared by threads, and their allocation from the system.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <new>
#include <vector>

#include "core/memory/size_classes.h"
#include "core/mutex.h"

namespace weir {

// Aligned memory from the system, on a huge page from 2 MiB on. nullptr when memory is exhausted.
void* SystemAllocate(size_t bytes);
// `bytes` is the size that was requested.
void SystemFree(void* ptr, size_t bytes);

struct FreeBlock {
  FreeBlock* next;
};

struct FreeList {
  FreeBlock* head = nullptr;
  int count = 0;

  void Push(void* block) {
    head = new (block) FreeBlock{head};
    ++count;
  }
  void* Pop() {
    FreeBlock* block = head;
    head = block->next;
    --count;
    return block;
  }
};

// Free blocks that are in no thread's cache: whole lists of small ones, and single large ones. Thread-safe. Bounded:
// when it is full, classes release blocks in turn, so that sizes no longer in use are not kept indefinitely.
class BlockPool {
 public:
  explicit BlockPool(size_t limit) : limit_(limit) {}

  // An empty list if there is none of that class.
  FreeList Take(int size_class);
  void Put(int size_class, FreeList list);
  // Returns everything to the system.
  void ReleaseAll();
  size_t retained() const { return retained_.load(std::memory_order_relaxed); }

 private:
  struct Shelf {
    Mutex mu;
    std::vector<FreeList> lists GUARDED_BY(mu);
    std::atomic<size_t> num_lists{0};
  };

  void MakeRoom(size_t bytes);
  void Release(int size_class);

  const size_t limit_;
  std::atomic<size_t> retained_{0};
  std::atomic<unsigned> hand_{0};
  std::array<Shelf, kNumClasses> shelves_;
};

}  // namespace weir
