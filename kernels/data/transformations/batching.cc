#include "kernels/data/transformations/batching.h"

#include <algorithm>

#include "kernels/data/element_buffer.h"

namespace weir {

int64_t Batching::Count(int64_t n) const { return n < 0 ? n : n / size + (n % size != 0 && !drop_remainder ? 1 : 0); }

absl::StatusOr<bool> Batching::Next(IteratorContext& ctx, IteratorBase& input, std::vector<Element>* elements) const {
  BufferLimit limit;
  absl::Status first_error;
  for (int64_t taken = 0; taken < size; ++taken) {
    Element next;
    absl::StatusOr<bool> more = input.GetNext(ctx, &next);
    if (!more.ok()) {
      if (!errors_end_batch) return more;
      RETURN_IF_ERROR(ctx.CheckCancelled());
      if (first_error.ok()) first_error = more.status();
      continue;
    }
    if (!*more) break;
    if (!first_error.ok()) continue;
    RETURN_IF_ERROR(limit.Add(next, "a batch"));
    elements->push_back(std::move(next));
  }
  RETURN_IF_ERROR(first_error);
  return !elements->empty() && !(drop_remainder && static_cast<int64_t>(elements->size()) < size);
}

absl::Status Batching::Get(IteratorContext& ctx, const DatasetBase& input, int64_t index,
                           std::vector<Element>* elements) const {
  BufferLimit limit;
  const int64_t begin = index * size;
  const int64_t end = begin + std::min(size, input.Cardinality() - begin);
  for (int64_t i = begin; i < end; ++i) {
    RETURN_IF_ERROR(input.Get(ctx, i, &elements->emplace_back()));
    RETURN_IF_ERROR(limit.Add(elements->back(), "a batch"));
  }
  return absl::OkStatus();
}

}  // namespace weir
