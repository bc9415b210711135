// Kernels that fold dimensions of a tensor away. A reduction is a function over the normal form [outer, n, inner] of
// its input, of which n is folded; axes, shapes and transposition are handled here, once for all functions and types.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "core/kernel/kernel_registry.h"
#include "core/kernel/op_kernel.h"
#include "kernels/device/float16.h"
#include "kernels/device/parallel.h"

namespace weir {

// out[o, i] = fold of in[o, :, i]. `out` is not empty; n may be 0.
using Fold = absl::Status (*)(OpKernelContext& ctx, const void* in, int64_t outer, int64_t n, int64_t inner, void* out);

// Input 1 holds the axes; attribute keep_dims says whether they stay, with size 1.
class ReductionKernel : public OpKernel {
 public:
  // `idempotent`: the fold of one element is that element.
  ReductionKernel(Fold fold, bool idempotent) : fold_(fold), idempotent_(idempotent) {}
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("keep_dims", &keep_dims_); }
  absl::Status Compute(OpKernelContext& ctx) override;

 private:
  const Fold fold_;
  const bool idempotent_;
  bool keep_dims_ = false;
};

struct ReductionEntry {
  const char* op;
  DataType type;  // of attribute T; DT_INVALID where the op has none
  KernelFactory factory;
};
absl::Status RegisterReductions(KernelRegistry& kernels, absl::Span<const ReductionEntry> entries);

template <Fold kFold, bool kIdempotent>
std::unique_ptr<OpKernel> MakeReduction() {
  return std::make_unique<ReductionKernel>(kFold, kIdempotent);
}

// --- Folds from reducers ---
//
// A reducer R has types In (of the tensor), Value (what In is computed as: float for 16-bit floats), Sum (the running
// value) and static functions Start() -> Sum, Merge(Sum, Sum), Map(Value) -> Sum and Finish(Sum, n) -> Value. It may
// have a constant kLanes, a type Scope, an object of which lives while elements are folded, and where the order of
// elements makes no difference a function FoldMany(const Value*, n) -> Sum for rows of any length.

namespace reduction_internal {

constexpr int64_t kChunk = kFloat16Block;  // elements in flight: columns, or a piece of a row

template <typename In, typename Value>
const Value* Load(const void* in, int64_t offset, int64_t n, Value* buffer) {
  if constexpr (std::is_same_v<In, half> || std::is_same_v<In, bfloat16>) {
    ToFloats(At16<In>(in, offset), buffer, n);
    return buffer;
  } else {
    return reinterpret_cast<const Value*>(static_cast<const In*>(in) + offset);
  }
}

template <typename In, typename Value>
void Store(const Value* values, void* out, int64_t offset, int64_t n) {
  if constexpr (std::is_same_v<In, half> || std::is_same_v<In, bfloat16>) {
    FromFloats(values, At16<In>(out, offset), n);
  } else {
    std::copy_n(values, n, reinterpret_cast<Value*>(static_cast<In*>(out) + offset));
  }
}

template <typename R>
constexpr int LanesOf() {
  if constexpr (requires { R::kLanes; }) return R::kLanes;
  return 16;
}

struct NoScope {};
template <typename R>
auto ScopeOf() {
  if constexpr (requires { typename R::Scope; }) {
    return typename R::Scope();
  } else {
    return NoScope();
  }
}

// Independent lanes break the chain of dependent additions, and make sums more exact than one running sum.
template <typename R>
typename R::Sum FoldChunk(const typename R::Value* x, int64_t n) {
  constexpr int kLanes = LanesOf<R>();
  typename R::Sum lanes[kLanes];
  std::fill_n(lanes, kLanes, R::Start());
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = R::Merge(lanes[lane], R::Map(x[i + lane]));
  }
  for (int lane = 0; i < n; ++i, ++lane) lanes[lane] = R::Merge(lanes[lane], R::Map(x[i]));
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int lane = 0; lane < width; ++lane) lanes[lane] = R::Merge(lanes[lane], lanes[lane + width]);
  }
  return lanes[0];
}

template <typename R>
constexpr bool HasFoldMany() {
  return std::is_same_v<typename R::In, typename R::Value> && requires(const typename R::Value* x, int64_t n) {
    R::FoldMany(x, n);
  };
}

template <typename R>
typename R::Sum FoldRow(const void* in, int64_t offset, int64_t n) {
  if constexpr (HasFoldMany<R>()) return R::FoldMany(static_cast<const typename R::In*>(in) + offset, n);
  typename R::Value buffer[kChunk];
  [[maybe_unused]] const auto scope = ScopeOf<R>();
  if (n <= kChunk) return FoldChunk<R>(Load<typename R::In>(in, offset, n, buffer), n);
  // Pairwise, so that the error grows with the logarithm of n.
  const int64_t left = (n / 2 + kChunk - 1) / kChunk * kChunk;
  return R::Merge(FoldRow<R>(in, offset, left), FoldRow<R>(in, offset + left, n - left));
}

// sums[c] = fold over rows [begin, end) of in[row * stride + offset + c], c < columns <= kChunk.
template <typename R>
void FoldColumns(const void* in, int64_t offset, int64_t stride, int64_t begin, int64_t end, int64_t columns,
                 typename R::Sum* sums) {
  constexpr int64_t kRows = 128;
  typename R::Value buffer[kChunk];
  typename R::Sum block[kChunk];
  [[maybe_unused]] const auto scope = ScopeOf<R>();
  std::fill_n(sums, columns, R::Start());
  for (int64_t first = begin; first < end; first += kRows) {
    std::fill_n(block, columns, R::Start());
    for (int64_t row = first; row < std::min(end, first + kRows); ++row) {
      const auto* x = Load<typename R::In>(in, row * stride + offset, columns, buffer);
      for (int64_t c = 0; c < columns; ++c) block[c] = R::Merge(block[c], R::Map(x[c]));
    }
    for (int64_t c = 0; c < columns; ++c) sums[c] = R::Merge(sums[c], block[c]);
  }
}

constexpr int64_t kElementCost = 400;         // picoseconds
constexpr int64_t kWorthSplitting = 100'000;  // elements
// With at least as many rows or chunks of columns, each is folded as a whole. A constant rather than the number of
// threads, so that the order of the additions, and with it the bits of the result, depends on the shape only.
constexpr int64_t kManyTasks = 32;

template <typename R>
void FoldRows(OpKernelContext& ctx, const void* in, int64_t outer, int64_t n, void* out) {
  const auto finish = [&](int64_t row, typename R::Sum sum) {
    const typename R::Value value = R::Finish(sum, n);
    Store<typename R::In>(&value, out, row, 1);
  };
  if (outer >= kManyTasks || n < kWorthSplitting) {
    ParallelRanges(ctx, outer, n * kElementCost + 5000, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) finish(row, FoldRow<R>(in, row * n, n));
    });
    return;
  }
  for (int64_t row = 0; row < outer; ++row) {
    const int64_t piece = std::max<int64_t>(16384, (n + 63) / 64);
    std::vector<typename R::Sum> sums((n + piece - 1) / piece, R::Start());
    ParallelRanges(ctx, sums.size(), piece * kElementCost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        sums[i] = FoldRow<R>(in, row * n + i * piece, std::min(piece, n - i * piece));
      }
    });
    typename R::Sum total = R::Start();
    for (const auto& sum : sums) total = R::Merge(total, sum);
    finish(row, total);
  }
}

// The columns in chunks and, if there are few chunks, the rows in parts.
template <typename R>
void FoldBlocks(OpKernelContext& ctx, const void* in, int64_t outer, int64_t n, int64_t inner, void* out) {
  using Sum = typename R::Sum;
  constexpr int64_t kLeastRows = 16;
  const int64_t chunks = (inner + kChunk - 1) / kChunk, tasks = outer * chunks;
  const auto width = [&](int64_t task) { return std::min(kChunk, inner - task % chunks * kChunk); };
  const auto fold = [&](int64_t task, int64_t begin, int64_t end, Sum* sums) {
    FoldColumns<R>(in, task / chunks * n * inner + task % chunks * kChunk, inner, begin, end, width(task), sums);
  };
  const auto finish = [&](int64_t task, const Sum* sums) {
    typename R::Value values[kChunk];
    for (int64_t c = 0; c < width(task); ++c) values[c] = R::Finish(sums[c], n);
    Store<typename R::In>(values, out, task / chunks * inner + task % chunks * kChunk, width(task));
  };
  const int64_t parts = std::min(kManyTasks / std::max<int64_t>(tasks, 1), n / kLeastRows);
  if (parts <= 1 || outer * n * inner < kWorthSplitting) {
    ParallelRanges(ctx, tasks, n * std::min(inner, kChunk) * kElementCost + 20000, [&](int64_t begin, int64_t end) {
      Sum sums[kChunk];
      for (int64_t task = begin; task < end; ++task) {
        fold(task, 0, n, sums);
        finish(task, sums);
      }
    });
    return;
  }
  std::vector<Sum> partial(tasks * parts * kChunk, R::Start());
  const int64_t cost = n / parts * std::min(inner, kChunk) * kElementCost;
  ParallelRanges(ctx, tasks * parts, cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t part = i % parts;
      fold(i / parts, part * n / parts, (part + 1) * n / parts, partial.data() + i * kChunk);
    }
  });
  for (int64_t task = 0; task < tasks; ++task) {
    Sum* const sums = partial.data() + task * parts * kChunk;
    for (int64_t part = 1; part < parts; ++part) {
      for (int64_t c = 0; c < width(task); ++c) sums[c] = R::Merge(sums[c], sums[part * kChunk + c]);
    }
    finish(task, sums);
  }
}

}  // namespace reduction_internal

template <typename R>
absl::Status FoldOf(OpKernelContext& ctx, const void* in, int64_t outer, int64_t n, int64_t inner, void* out) {
  if (inner == 1) {
    reduction_internal::FoldRows<R>(ctx, in, outer, n, out);
  } else {
    reduction_internal::FoldBlocks<R>(ctx, in, outer, n, inner, out);
  }
  return absl::OkStatus();
}

// Value of an element: float for the 16-bit floats.
template <typename T>
struct ReductionValue {
  using type = T;
};
template <>
struct ReductionValue<half> {
  using type = float;
};
template <>
struct ReductionValue<bfloat16> {
  using type = float;
};

}  // namespace weir
