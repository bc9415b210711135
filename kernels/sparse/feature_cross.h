// Columns of categorical features, and the crosses of them: for each row every combination of one feature of each
// column.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "core/status.h"
#include "core/tensor/tensor.h"

namespace weir {

// A column: row r has the features values[starts[r]], … values[starts[r + 1] - 1].
struct FeatureColumn {
  Tensor values;  // strings or int64
  std::vector<int64_t> starts;
  bool dense = false;

  int64_t count(int64_t row) const { return starts[row + 1] - starts[row]; }
  bool is_string() const { return values.dtype() == DT_STRING; }
  const tstring& text(int64_t i) const { return values.data<tstring>()[i]; }
  int64_t number(int64_t i) const { return values.data<int64_t>()[i]; }
};

// From the three tensors of a sparse matrix of `rows` rows, its entries in order. `position` is for messages.
absl::StatusOr<FeatureColumn> SparseColumn(const Tensor& indices, const Tensor& values, const Tensor& shape,
                                           int64_t rows, int position);
absl::StatusOr<FeatureColumn> DenseColumn(const Tensor& values, int64_t rows, int position);

// How many crosses each row has, all together, and at most in one row.
struct CrossCounts {
  std::vector<int64_t> of_row;
  int64_t total = 0, most = 0;
};
absl::StatusOr<CrossCounts> CountCrosses(const std::vector<FeatureColumn>& columns, int64_t rows);

// Calls emit(row, i, picks) for cross i of every row, the last column's features changing fastest; picks[c] is the
// value of column c.
void ForEachCross(const std::vector<FeatureColumn>& columns, const CrossCounts& counts,
                  absl::FunctionRef<void(int64_t row, int64_t i, const std::vector<int64_t>& picks)> emit);

std::string CrossText(const std::vector<FeatureColumn>& columns, const std::vector<int64_t>& picks,
                      absl::string_view separator);
// The fingerprints of the features on top of `key`.
uint64_t CrossHash(const std::vector<FeatureColumn>& columns, const std::vector<int64_t>& picks, uint64_t key);
// The bucket of a hash; no buckets: as many as there can be.
int64_t HashBucket(uint64_t hash, int64_t buckets);

}  // namespace weir
