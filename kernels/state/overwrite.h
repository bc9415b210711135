// Updates of all elements of variables, which may move to other buffers while a snapshot keeps the old ones.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"

namespace weir {

// Where the old elements of a variable are, and where the new ones go: the same place for an update in place.
struct OverwriteSpan {
  const void* from = nullptr;
  void* to = nullptr;
};

constexpr int kMaxOverwritten = 4;  // variables of one update

// Calls update(data, at, count) for parts of the elements [begin, end) of the variables: `data[k]` points to the k-th
// variable's elements `at` to `at + count`, which are old, and become new in place. Variables that move pass through a
// tile in the cache and are written past it, so that moving takes no more memory traffic than an update in place.
// `size`: bytes of an element. Thread-safe for disjoint ranges.
void OverwriteRange(absl::Span<const OverwriteSpan> variables, int64_t size, int64_t begin, int64_t end,
                    absl::FunctionRef<void(void* const* data, int64_t at, int64_t count)> update);

}  // namespace weir
