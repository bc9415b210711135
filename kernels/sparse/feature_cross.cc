#include "kernels/sparse/feature_cross.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "core/fingerprint.h"
#include "kernels/sparse/sparse_tensor.h"

namespace weir {

absl::StatusOr<FeatureColumn> SparseColumn(const Tensor& indices, const Tensor& values, const Tensor& shape,
                                           int64_t rows, int position) {
  if (indices.dims() == 2 && indices.dim_size(1) != 2) {
    return errors::InvalidArgument("Expected D2 of index to be 2 got ", indices.dim_size(1), " at position ", position);
  }
  if (indices.dims() == 2 && values.dims() == 1 && values.dim_size(0) != indices.dim_size(0)) {
    return errors::InvalidArgument("Expected size of values to be ", indices.dim_size(0), " got ", values.dim_size(0),
                                   " at position ", position);
  }
  absl::StatusOr<SparseTensor> sparse = SparseTensor::Read(indices, values, shape, {"indices", "values", "shapes"});
  if (!sparse.ok()) return errors::InvalidArgument(sparse.status().message(), " at position ", position);
  if (sparse->shape()[0] != rows) {
    return errors::InvalidArgument("Expected batch size ", rows, " got ", sparse->shape()[0], " at position ",
                                   position);
  }
  FeatureColumn column;
  column.values = values;
  column.starts.assign(rows + 1, 0);
  int64_t previous = 0;
  for (int64_t i = 0; i < sparse->entries(); ++i) {
    const int64_t row = sparse->index(i)[0];
    if (row < 0 || row >= rows) {
      return errors::InvalidArgument("Batch index ", row, " at position ", position, " is not in [0, ", rows, ")");
    }
    if (row < previous) {
      return errors::InvalidArgument("indices[", i, "] = ", IndexText(sparse->index(i)), " at position ", position,
                                     " is out of order");
    }
    previous = row;
    ++column.starts[row + 1];
  }
  for (int64_t row = 0; row < rows; ++row) column.starts[row + 1] += column.starts[row];
  return column;
}

absl::StatusOr<FeatureColumn> DenseColumn(const Tensor& values, int64_t rows, int position) {
  if (values.dims() != 2) {
    return errors::InvalidArgument("Dense inputs should be a matrix but received shape ", values.shape().ToString(),
                                   " at position ", position);
  }
  if (values.dim_size(0) != rows) {
    return errors::InvalidArgument("Expected batch size ", rows, " got ", values.dim_size(0), " at dense tensor ",
                                   position);
  }
  FeatureColumn column;
  column.values = values;
  column.dense = true;
  for (int64_t row = 0; row <= rows; ++row) column.starts.push_back(row * values.dim_size(1));
  return column;
}

absl::StatusOr<CrossCounts> CountCrosses(const std::vector<FeatureColumn>& columns, int64_t rows) {
  CrossCounts counts;
  counts.of_row.assign(rows, 1);
  for (int64_t row = 0; row < rows; ++row) {
    int64_t& count = counts.of_row[row];
    for (const FeatureColumn& column : columns) {
      if (__builtin_mul_overflow(count, column.count(row), &count)) count = -1;
      if (count <= 0) break;
    }
    if (count < 0 || __builtin_add_overflow(counts.total, count, &counts.total)) {
      return errors::InvalidArgument("The number of crosses overflows");
    }
    counts.most = std::max(counts.most, count);
  }
  return counts;
}

void ForEachCross(const std::vector<FeatureColumn>& columns, const CrossCounts& counts,
                  absl::FunctionRef<void(int64_t row, int64_t i, const std::vector<int64_t>& picks)> emit) {
  std::vector<int64_t> picks(columns.size());
  for (int64_t row = 0; row < static_cast<int64_t>(counts.of_row.size()); ++row) {
    for (size_t c = 0; c < columns.size(); ++c) picks[c] = columns[c].starts[row];
    for (int64_t i = 0; i < counts.of_row[row]; ++i) {
      emit(row, i, picks);
      for (int c = static_cast<int>(columns.size()) - 1; c >= 0; --c) {
        if (++picks[c] < columns[c].starts[row + 1]) break;
        picks[c] = columns[c].starts[row];
      }
    }
  }
}

std::string CrossText(const std::vector<FeatureColumn>& columns, const std::vector<int64_t>& picks,
                      absl::string_view separator) {
  std::string text;
  for (size_t c = 0; c < columns.size(); ++c) {
    if (c > 0) absl::StrAppend(&text, separator);
    if (columns[c].is_string()) {
      absl::StrAppend(&text, absl::string_view(columns[c].text(picks[c])));
    } else {
      absl::StrAppend(&text, columns[c].number(picks[c]));
    }
  }
  return text;
}

uint64_t CrossHash(const std::vector<FeatureColumn>& columns, const std::vector<int64_t>& picks, uint64_t key) {
  for (size_t c = 0; c < columns.size(); ++c) {
    const uint64_t feature = columns[c].is_string() ? Fingerprint64(columns[c].text(picks[c]))
                                                    : static_cast<uint64_t>(columns[c].number(picks[c]));
    key = FingerprintCat64(key, feature);
  }
  return key;
}

int64_t HashBucket(uint64_t hash, int64_t buckets) {
  return static_cast<int64_t>(hash %
                              static_cast<uint64_t>(buckets > 0 ? buckets : std::numeric_limits<int64_t>::max()));
}

}  // namespace weir
