// Best fit with coalescing: regions of memory divided into chunks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"

namespace weir {

// Only addresses: the memory itself is never touched. Not thread-safe.
//
// Free neighbours are joined when the same streams have used them, so that a late use of one does not hold up the
// other.
//
// Invariants: the chunks of a region cover it without gaps; no two free neighbours of a region have uses by the same
// streams; sizes and addresses are multiples of kGranule.
class BfcArena {
 public:
  static constexpr size_t kGranule = 256;

  // A stream's use of the memory, up to a position of its timeline.
  struct Use {
    int stream = 0;
    uint64_t position = 0;
  };
  struct Chunk {
    size_t size = 0;
    size_t requested = 0;
    int region = 0;
    bool in_use = false;
    int owner = -1;                           // who it is for: a stream, or -1 for the host
    absl::InlinedVector<int, 2> other_users;  // further streams, while it is in use
    absl::InlinedVector<Use, 2> uses;         // by those before, while it is free
    void* holder = nullptr;                   // the allocator's
  };
  using Chunks = std::map<uintptr_t, Chunk>;  // by address
  using ChunkRef = Chunks::iterator;

  static size_t RoundUp(size_t bytes) { return (bytes + kGranule - 1) / kGranule * kGranule; }

  void AddRegion(void* data, size_t bytes);
  // Regions that are one free chunk: {address, bytes}.
  std::vector<std::pair<void*, size_t>> IdleRegions() const;
  // `data` is the address of an idle region.
  void RemoveRegion(void* data);
  std::vector<void*> Regions() const;

  // The smallest free chunk of at least `size` that `accept` takes, the lowest of equals; end() when there is none.
  ChunkRef FindFree(size_t size, absl::FunctionRef<bool(ChunkRef)> accept);
  ChunkRef end() { return chunks_.end(); }
  // Takes a free chunk; what it has beyond `size` stays free if it is worth it. Both keep the uses.
  void Take(ChunkRef chunk, size_t size, size_t requested);
  // The chunk in use that `data` lies in; end() when there is none.
  ChunkRef FindInUse(const void* data);
  // Its uses are set before.
  void Free(ChunkRef chunk);
  // Forgets the uses that are over, and joins what can be joined then.
  void Settle(absl::FunctionRef<bool(const Use&)> is_over);
  // Joins all free neighbours, with all their uses.
  void JoinAll() { JoinNeighbours(/*of_any_streams=*/true); }

  const Chunks& chunks() const { return chunks_; }
  size_t bytes_in_use() const { return bytes_in_use_; }
  size_t bytes_in_regions() const { return bytes_in_regions_; }
  size_t num_regions() const { return regions_.size(); }
  size_t largest_free() const { return free_.empty() ? 0 : free_.rbegin()->size; }
  // Empty when all holds.
  std::string CheckInvariants() const;

 private:
  struct FreeKey {
    size_t size;
    uintptr_t address;
    bool operator<(const FreeKey& other) const {
      return size != other.size ? size < other.size : address < other.address;
    }
  };
  struct Region {
    int id = 0;
    size_t bytes = 0;
  };
  // Whether `second`, which follows `first`, may become part of it.
  bool CanJoin(ChunkRef first, ChunkRef second, bool of_any_streams) const;
  // Removes `second`. Both are free and listed.
  void Join(ChunkRef first, ChunkRef second);
  void JoinNeighbours(bool of_any_streams);

  Chunks chunks_;
  std::set<FreeKey> free_;
  std::map<uintptr_t, Region> regions_;
  int next_region_ = 0;
  size_t bytes_in_use_ = 0, bytes_in_regions_ = 0;
};

}  // namespace weir
