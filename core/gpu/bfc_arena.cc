#include "core/gpu/bfc_arena.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace weir {
namespace {

// A remainder is split off if the chunk is at least twice the requested size, or if the remainder is this large.
constexpr size_t kLargeRemainder = size_t{128} << 20;

uintptr_t Address(const void* data) { return reinterpret_cast<uintptr_t>(data); }

bool SameStreams(const BfcArena::Chunk& a, const BfcArena::Chunk& b) {
  if (a.uses.size() != b.uses.size()) return false;
  return std::all_of(a.uses.begin(), a.uses.end(), [&](const BfcArena::Use& use) {
    return std::any_of(b.uses.begin(), b.uses.end(),
                       [&](const BfcArena::Use& other) { return other.stream == use.stream; });
  });
}

}  // namespace

void BfcArena::AddRegion(void* data, size_t bytes) {
  const int id = next_region_++;
  regions_[Address(data)] = {id, bytes};
  chunks_[Address(data)] = {.size = bytes, .region = id};
  free_.insert({bytes, Address(data)});
  bytes_in_regions_ += bytes;
}

std::vector<std::pair<void*, size_t>> BfcArena::IdleRegions() const {
  std::vector<std::pair<void*, size_t>> idle;
  for (const auto& [address, region] : regions_) {
    const Chunk& first = chunks_.at(address);
    if (!first.in_use && first.size == region.bytes) idle.emplace_back(reinterpret_cast<void*>(address), region.bytes);
  }
  return idle;
}

void BfcArena::RemoveRegion(void* data) {
  const auto region = regions_.find(Address(data));
  free_.erase({region->second.bytes, region->first});
  chunks_.erase(region->first);
  bytes_in_regions_ -= region->second.bytes;
  regions_.erase(region);
}

std::vector<void*> BfcArena::Regions() const {
  std::vector<void*> regions;
  for (const auto& [address, region] : regions_) regions.push_back(reinterpret_cast<void*>(address));
  return regions;
}

BfcArena::ChunkRef BfcArena::FindFree(size_t size, absl::FunctionRef<bool(ChunkRef)> accept) {
  for (auto it = free_.lower_bound({size, 0}); it != free_.end(); ++it) {
    const ChunkRef chunk = chunks_.find(it->address);
    if (accept(chunk)) return chunk;
  }
  return chunks_.end();
}

void BfcArena::Take(ChunkRef chunk, size_t size, size_t requested) {
  Chunk& taken = chunk->second;
  free_.erase({taken.size, chunk->first});
  const size_t rest = taken.size - size;
  if (rest > 0 && (taken.size >= 2 * size || rest >= kLargeRemainder)) {
    const uintptr_t address = chunk->first + size;
    chunks_[address] = {.size = rest, .region = taken.region, .uses = taken.uses};
    free_.insert({rest, address});
    taken.size = size;
  }
  taken.in_use = true;
  taken.requested = requested;
  bytes_in_use_ += taken.size;
}

BfcArena::ChunkRef BfcArena::FindInUse(const void* data) {
  ChunkRef chunk = chunks_.upper_bound(Address(data));
  if (chunk == chunks_.begin()) return chunks_.end();
  --chunk;
  const bool is_within = Address(data) - chunk->first < chunk->second.size;
  return is_within && chunk->second.in_use ? chunk : chunks_.end();
}

void BfcArena::Free(ChunkRef chunk) {
  bytes_in_use_ -= chunk->second.size;
  chunk->second.in_use = false;
  chunk->second.requested = 0;
  chunk->second.other_users.clear();
  free_.insert({chunk->second.size, chunk->first});
  if (const auto next = std::next(chunk); next != chunks_.end() && CanJoin(chunk, next, false)) Join(chunk, next);
  if (chunk == chunks_.begin()) return;
  if (const auto before = std::prev(chunk); CanJoin(before, chunk, false)) Join(before, chunk);
}

bool BfcArena::CanJoin(ChunkRef first, ChunkRef second, bool of_any_streams) const {
  const Chunk &a = first->second, &b = second->second;
  if (a.in_use || b.in_use || a.region != b.region) return false;
  return of_any_streams || SameStreams(a, b);
}

void BfcArena::Join(ChunkRef first, ChunkRef second) {
  Chunk& joined = first->second;
  free_.erase({joined.size, first->first});
  free_.erase({second->second.size, second->first});
  joined.size += second->second.size;
  for (const Use& use : second->second.uses) {
    const auto same = std::find_if(joined.uses.begin(), joined.uses.end(),
                                   [&](const Use& other) { return other.stream == use.stream; });
    if (same == joined.uses.end()) {
      joined.uses.push_back(use);
    } else {
      same->position = std::max(same->position, use.position);
    }
  }
  chunks_.erase(second);
  free_.insert({joined.size, first->first});
}

void BfcArena::JoinNeighbours(bool of_any_streams) {
  if (chunks_.empty()) return;
  for (auto chunk = chunks_.begin(), next = std::next(chunk); next != chunks_.end(); next = std::next(chunk)) {
    if (CanJoin(chunk, next, of_any_streams)) {
      Join(chunk, next);
    } else {
      chunk = next;
    }
  }
}

void BfcArena::Settle(absl::FunctionRef<bool(const Use&)> is_over) {
  for (auto& [address, chunk] : chunks_) {
    chunk.uses.erase(std::remove_if(chunk.uses.begin(), chunk.uses.end(), is_over), chunk.uses.end());
  }
  JoinNeighbours(/*of_any_streams=*/false);
}

std::string BfcArena::CheckInvariants() const {
  size_t in_use = 0, free_chunks = 0;
  for (const auto& [start, region] : regions_) {
    uintptr_t at = start;
    const Chunk* last_free = nullptr;
    while (at < start + region.bytes) {
      const auto it = chunks_.find(at);
      if (it == chunks_.end() || it->second.region != region.id) return absl::StrCat("gap in region ", region.id);
      const Chunk& chunk = it->second;
      if (chunk.size == 0 || chunk.size % kGranule != 0) return absl::StrCat("chunk of ", chunk.size, " bytes");
      if (!chunk.in_use && last_free != nullptr && SameStreams(*last_free, chunk)) {
        return absl::StrCat("free neighbours of the same streams in region ", region.id);
      }
      if (!chunk.in_use && !free_.contains({chunk.size, at})) return "a free chunk is not listed";
      if (chunk.in_use) in_use += chunk.size;
      free_chunks += !chunk.in_use;
      last_free = chunk.in_use ? nullptr : &chunk;
      at += chunk.size;
    }
    if (at != start + region.bytes) return absl::StrCat("chunks reach beyond region ", region.id);
  }
  if (in_use != bytes_in_use_) return absl::StrCat(in_use, " bytes are in use, not ", bytes_in_use_);
  if (free_chunks != free_.size()) return "the list of free chunks holds others";
  return "";
}

}  // namespace weir
