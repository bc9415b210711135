// Gathers elements into batches, for all datasets that batch.
#pragma once

#include <vector>

#include "kernels/data/dataset.h"

namespace weir {

// `size` elements a batch, at least one; the last batch may have fewer, or is dropped then.
struct Batching {
  int64_t size = 1;
  bool drop_remainder = false;
  // An error costs the whole batch: what belongs to it after the error is read and given up.
  bool errors_end_batch = false;

  // How many batches `n` elements make; negative numbers (unknown, infinite) stay what they are.
  int64_t Count(int64_t n) const;
  // The elements of the next batch of `input`; false when there is none left. ResourceExhausted where they would take
  // too much memory.
  absl::StatusOr<bool> Next(IteratorContext& ctx, IteratorBase& input, std::vector<Element>* elements) const;
  // Those of batch `index` of a dataset with random access; errors as Next's.
  absl::Status Get(IteratorContext& ctx, const DatasetBase& input, int64_t index, std::vector<Element>* elements) const;
};

}  // namespace weir
