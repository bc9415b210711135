// Spreads keys over tasks, and within a task over shards. Part of the checkpoint format: a change would make restored
// tables look for keys on other tasks.
#pragma once

#include <cstdint>

namespace weir {

// A bijection of 64-bit words in which every bit of the input changes half of the output's (SplitMix64's finish).
inline uint64_t KeyHash(int64_t key) {
  uint64_t x = static_cast<uint64_t>(key) + 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

// Which of `partitions` tasks has the key of this hash: by its high half.
inline int PartitionOf(uint64_t hash, int partitions) {
  return static_cast<int>(((hash >> 32) * static_cast<uint64_t>(partitions)) >> 32);
}

// Which of 2^bits shards of a task has it. A product's high bits depend on all bits, so that neither the keys of one
// task nor those of one shard have any bits of the hash in common.
inline int ShardOf(uint64_t hash, int bits) {
  return bits == 0 ? 0 : static_cast<int>((hash * 0xD6E8FEB86659FD93) >> (64 - bits));
}

}  // namespace weir
