#include "kernels/device/elements.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/array/moving/transpose_block.h"
#include "kernels/device/parallel.h"

namespace weir {
namespace {

struct Loop {
  int64_t size, src, dst;
};
using Loops = absl::InlinedVector<Loop, 6>;

// Without loops of one, and with neighbours joined where both sides step through them as through one.
Loops Simplify(absl::Span<const int64_t> sizes, absl::Span<const int64_t> src_steps,
               absl::Span<const int64_t> dst_steps) {
  Loops loops;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const Loop loop{sizes[i], src_steps[i], dst_steps[i]};
    if (loop.size == 1) continue;
    if (!loops.empty() && loops.back().src == loop.src * loop.size && loops.back().dst == loop.dst * loop.size) {
      loops.back() = {loops.back().size * loop.size, loop.src, loop.dst};
    } else {
      loops.push_back(loop);
    }
  }
  if (loops.empty()) loops.push_back({1, 1, 1});
  return loops;
}

// Calls fn(src_offset, dst_offset) for iterations [begin, end) of the nest `loops`, the last being innermost.
template <typename Fn>
void Iterate(absl::Span<const Loop> loops, int64_t begin, int64_t end, Fn&& fn) {
  const int depth = static_cast<int>(loops.size());
  DimVector index(depth);
  int64_t rest = begin, src = 0, dst = 0;
  for (int d = depth - 1; d >= 0; --d) {
    index[d] = rest % loops[d].size;
    rest /= loops[d].size;
    src += index[d] * loops[d].src;
    dst += index[d] * loops[d].dst;
  }
  for (int64_t i = begin; i < end; ++i) {
    fn(src, dst);
    for (int d = depth - 1; d >= 0; --d) {
      src += loops[d].src;
      dst += loops[d].dst;
      if (++index[d] < loops[d].size) break;
      src -= loops[d].src * loops[d].size;
      dst -= loops[d].dst * loops[d].size;
      index[d] = 0;
    }
  }
}

template <typename T>
void CopyRun(const T* src, int64_t src_step, T* dst, int64_t dst_step, int64_t n) {
  if (src_step == 1 && dst_step == 1) {
    std::copy_n(src, n, dst);
  } else if (src_step == 0 && dst_step == 1) {
    std::fill_n(dst, n, *src);
  } else if (src_step == -1 && dst_step == 1) {
    for (int64_t i = 0; i < n; ++i) dst[i] = src[-i];
  } else {
    for (int64_t i = 0; i < n; ++i) dst[i * dst_step] = src[i * src_step];
  }
}

// Square tiles keep both the rows that are read and those that are written in the cache.
constexpr int64_t kTile = 32;

// dst[p * dst_step + q] = src[p + q * src_step] for p in [p0, p1), q in [q0, q1).
template <typename T>
void TransposeTile(const T* src, int64_t src_step, T* dst, int64_t dst_step, int64_t p0, int64_t p1, int64_t q0,
                   int64_t q1) {
  if constexpr (std::is_trivially_copyable_v<T> && (sizeof(T) == 4 || sizeof(T) == 8)) {
    constexpr int64_t kBlock = kTransposeBlock<sizeof(T)>;
    const int64_t p_blocks = p0 + (p1 - p0) / kBlock * kBlock, q_blocks = q0 + (q1 - q0) / kBlock * kBlock;
    for (int64_t p = p0; p < p_blocks; p += kBlock) {
      for (int64_t q = q0; q < q_blocks; q += kBlock) {
        TransposeBlock<T>([&](int i) { return src + p + (q + i) * src_step; },
                          [&](int i) { return dst + (p + i) * dst_step + q; });
      }
      for (int64_t i = p; i < p + kBlock; ++i) {
        for (int64_t q = q_blocks; q < q1; ++q) dst[i * dst_step + q] = src[i + q * src_step];
      }
    }
    p0 = p_blocks;
  }
  for (int64_t p = p0; p < p1; ++p) {
    for (int64_t q = q0; q < q1; ++q) dst[p * dst_step + q] = src[p + q * src_step];
  }
}

// dst[p * dst_step + q] = src[p + q * src_step] for p in [begin, end), q in [0, columns).
template <typename T>
void TransposeRows(const T* src, int64_t src_step, T* dst, int64_t dst_step, int64_t begin, int64_t end,
                   int64_t columns) {
  for (int64_t p = begin; p < end; p += kTile) {
    for (int64_t q = 0; q < columns; q += kTile) {
      TransposeTile(src, src_step, dst, dst_step, p, std::min(end, p + kTile), q, std::min(columns, q + kTile));
    }
  }
}

template <typename T>
void CopyNest(OpKernelContext& ctx, Loops loops, const T* src, T* dst, int64_t total) {
  const Loop inner = loops.back();
  loops.pop_back();
  const auto along_source = std::find_if(loops.begin(), loops.end(), [](const Loop& l) { return l.src == 1; });
  if (inner.dst == 1 && inner.src > 1 && along_source != loops.end() && along_source->size > 1) {
    const Loop rows = *along_source;
    loops.erase(along_source);
    // Tiles of rows count as the innermost loop, so that one large matrix is shared too.
    const int64_t tiles = (rows.size + kTile - 1) / kTile;
    const int64_t count = total / (rows.size * inner.size) * tiles;
    ParallelRanges(ctx, count, kTile * inner.size * 800, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % tiles * kTile;
        Iterate(loops, i / tiles, i / tiles + 1, [&](int64_t s, int64_t d) {
          TransposeRows(src + s, inner.src, dst + d, rows.dst, first, std::min(rows.size, first + kTile), inner.size);
        });
      }
    });
    return;
  }
  const int64_t picoseconds = inner.size * (inner.src == 1 && inner.dst == 1 ? 100 * sizeof(T) / 4 : 800) + 3000;
  if (loops.empty()) {
    ParallelRanges(ctx, inner.size, picoseconds / inner.size, [&](int64_t begin, int64_t end) {
      CopyRun(src + begin * inner.src, inner.src, dst + begin * inner.dst, inner.dst, end - begin);
    });
    return;
  }
  ParallelRanges(ctx, total / inner.size, picoseconds, [&](int64_t begin, int64_t end) {
    Iterate(loops, begin, end,
            [&](int64_t s, int64_t d) { CopyRun(src + s, inner.src, dst + d, inner.dst, inner.size); });
  });
}

}  // namespace

void CopyElements(DataType type, void* dst, const void* src, int64_t n) {
  if (n <= 0) return;
  if (IsPlainType(type)) {
    std::memcpy(dst, src, n * DataTypeSize(type));
    return;
  }
  VisitElementType(type, [&](auto element) {
    using T = decltype(element);
    std::copy_n(static_cast<const T*>(src), n, static_cast<T*>(dst));
  });
}

void FillElements(DataType type, const void* value, void* dst, int64_t n) {
  VisitElementType(type, [&](auto element) {
    using T = decltype(element);
    std::fill_n(static_cast<T*>(dst), n, *static_cast<const T*>(value));
  });
}

void ZeroElements(DataType type, void* dst, int64_t n) {
  if (n <= 0) return;
  if (IsPlainType(type)) {
    std::memset(dst, 0, n * DataTypeSize(type));
    return;
  }
  VisitElementType(type,
                   [&](auto element) { std::fill_n(static_cast<decltype(element)*>(dst), n, decltype(element)()); });
}

void StridedCopy(OpKernelContext& ctx, DataType type, absl::Span<const int64_t> sizes, const void* src,
                 absl::Span<const int64_t> src_steps, void* dst, absl::Span<const int64_t> dst_steps) {
  int64_t total = 1;
  for (int64_t size : sizes) total *= size;
  if (total == 0) return;
  const Loops loops = Simplify(sizes, src_steps, dst_steps);
  VisitElementType(type, [&](auto element) {
    using T = decltype(element);
    CopyNest(ctx, loops, static_cast<const T*>(src), static_cast<T*>(dst), total);
  });
}

}  // namespace weir
