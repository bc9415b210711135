#include "kernels/state/overwrite.h"

#include <algorithm>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace weir {
namespace {

constexpr int64_t kTile = 8 << 10;        // bytes of each variable: all tiles together stay in the first-level cache
constexpr int64_t kStreamed = 256 << 10;  // smaller parts are read again while they are in the cache

// Writes past the caches; FinishStreaming follows before other threads read.
void Stream(char* to, const char* from, int64_t bytes) {
#if defined(__SSE2__)
  const int64_t head = std::min<int64_t>(bytes, -reinterpret_cast<intptr_t>(to) & 15);
  std::memcpy(to, from, head);
  to += head, from += head, bytes -= head;
  for (; bytes >= 16; to += 16, from += 16, bytes -= 16) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
#endif
  std::memcpy(to, from, bytes);
}

void FinishStreaming() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace

void OverwriteRange(absl::Span<const OverwriteSpan> variables, int64_t size, int64_t begin, int64_t end,
                    absl::FunctionRef<void(void* const* data, int64_t at, int64_t count)> update) {
  const int count = static_cast<int>(variables.size());
  const auto moves = [&](int k) { return variables[k].from != variables[k].to; };
  const auto to = [&](int k, int64_t at) { return static_cast<char*>(variables[k].to) + at * size; };
  bool any_moves = false;
  for (int k = 0; k < count; ++k) any_moves = any_moves || moves(k);
  void* data[kMaxOverwritten] = {};
  if (!any_moves) {
    for (int k = 0; k < count; ++k) data[k] = to(k, begin);
    update(data, begin, end - begin);
    return;
  }
  alignas(64) char tiles[kMaxOverwritten][kTile];
  const bool is_streamed = (end - begin) * size >= kStreamed;
  const int64_t step = kTile / size;
  for (int64_t at = begin; at < end; at += step) {
    const int64_t n = std::min(step, end - at);
    for (int k = 0; k < count; ++k) {
      data[k] = moves(k) ? tiles[k] : to(k, at);
      if (moves(k)) std::memcpy(tiles[k], static_cast<const char*>(variables[k].from) + at * size, n * size);
    }
    update(data, at, n);
    for (int k = 0; k < count; ++k) {
      if (!moves(k)) continue;
      if (is_streamed) {
        Stream(to(k, at), tiles[k], n * size);
      } else {
        std::memcpy(to(k, at), tiles[k], n * size);
      }
    }
  }
  if (is_streamed) FinishStreaming();
}

}  // namespace weir
