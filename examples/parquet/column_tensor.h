// Columns of tables as tensors.
#pragma once

#include <string>

#include "arrow/chunked_array.h"
#include "weir/core/status.h"
#include "weir/core/tensor/tensor.h"

namespace table_files {

// Rows [first, first + rows) of a column as a tensor of type `dtype`; a fixed-size list gives a second dimension.
// - Numbers have the column's type; times, dates and durations are integers of its width, in its unit.
// - Strings and binary values become strings; a dictionary is decoded.
// InvalidArgument, naming the column, for another type than `dtype`, other kinds of columns, and nulls.
absl::StatusOr<weir::Tensor> ColumnTensor(const std::string& name, const arrow::ChunkedArray& column, int64_t first,
                                          int64_t rows, weir::DataType dtype);

}  // namespace table_files
