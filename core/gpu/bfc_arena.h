// Best fit with coalescing: divides regions of memory into chunks.
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

// Manages addresses only; never touches the memory. Not thread-safe.
//
// Free neighbours are joined only if the same streams have used them, so that a late use of one does not delay the
// other.
//
// Invariants:
// - the chunks of a region cover it without gaps;
// - no two free neighbours of a region were used by the same streams;
// - sizes and addresses are multiples of kGranule.
class BfcArena {
 public:
  static constexpr size_t kGranule = 256;

  // A stream's use of the memory, up to a position in its timeline.
  struct Use {
    int stream = 0;
    uint64_t position = 0;
  };
  struct Chunk {
    size_t size = 0;
    size_t requested = 0;
    int region = 0;
    bool in_use = false;
    int owner = -1;                           // the stream that allocated it, or -1 for the host
    absl::InlinedVector<int, 2> other_users;  // further streams that use it, while it is in use
    absl::InlinedVector<Use, 2> uses;         // by previous owners, while it is free
    void* holder = nullptr;                   // set by the allocator
  };
  using Chunks = std::map<uintptr_t, Chunk>;  // by address
  using ChunkRef = Chunks::iterator;

  static size_t RoundUp(size_t bytes) { return (bytes + kGranule - 1) / kGranule * kGranule; }

  void AddRegion(void* data, size_t bytes);
  // Regions that consist of one free chunk: {address, bytes}.
  std::vector<std::pair<void*, size_t>> IdleRegions() const;
  // `data` is the address of an idle region.
  void RemoveRegion(void* data);
  std::vector<void*> Regions() const;

  // The smallest free chunk of at least `size` bytes that `accept` approves, the lowest among equals; end() if there is
  // none.
  ChunkRef FindFree(size_t size, absl::FunctionRef<bool(ChunkRef)> accept);
  ChunkRef end() { return chunks_.end(); }
  // Takes a free chunk and splits off the part beyond `size` if that is worthwhile. Both parts keep the uses.
  void Take(ChunkRef chunk, size_t size, size_t requested);
  // The chunk in use that contains `data`; end() if there is none.
  ChunkRef FindInUse(const void* data);
  // The chunk's uses must be set before.
  void Free(ChunkRef chunk);
  // Drops completed uses and joins the chunks that this allows to be joined.
  void Settle(absl::FunctionRef<bool(const Use&)> is_over);
  // Joins all free neighbours, merging their uses.
  void JoinAll() { JoinNeighbours(/*of_any_streams=*/true); }

  const Chunks& chunks() const { return chunks_; }
  size_t bytes_in_use() const { return bytes_in_use_; }
  size_t bytes_in_regions() const { return bytes_in_regions_; }
  size_t num_regions() const { return regions_.size(); }
  size_t largest_free() const { return free_.empty() ? 0 : free_.rbegin()->size; }
  // Describes the first violation; empty if there is none.
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
  // Whether `second`, which follows `first`, can be merged into it.
  bool CanJoin(ChunkRef first, ChunkRef second, bool of_any_streams) const;
  // Merges `second` into `first`. Both are free and listed.
  void Join(ChunkRef first, ChunkRef second);
  void JoinNeighbours(bool of_any_streams);

  Chunks chunks_;
  std::set<FreeKey> free_;
  std::map<uintptr_t, Region> regions_;
  int next_region_ = 0;
  size_t bytes_in_use_ = 0, bytes_in_regions_ = 0;
};

}  // namespace weir
