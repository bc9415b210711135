// The layout of a shared arena.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weir {

constexpr size_t kArenaTokenBytes = 16;
constexpr size_t kArenaBlocks = 4096;       // in use at once
constexpr size_t kArenaDataOffset = 65536;  // follows the header
constexpr char kArenaName[] = "weir-arena";

// At the start of the memory. The receiver creates it; one sender claims it and from then on allocates its blocks.
struct ArenaHeader {
  std::array<char, kArenaTokenBytes> token;
  std::atomic<uint64_t> claimed;  // 0: unclaimed
  std::atomic<uint32_t> retired;  // 1: the receiver no longer offers it
  // 1: the receiver uses a tensor there. Set by the sender before it announces the tensor, cleared by the receiver.
  std::array<std::atomic<uint32_t>, kArenaBlocks> lent;
};
static_assert(sizeof(ArenaHeader) <= kArenaDataOffset);
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free);

}  // namespace weir
