// A query of a database in a file.
#pragma once

#include <memory>
#include <string>

#include "core/tensor/tensor.h"
#include "kernels/data/dataset.h"

namespace weir {

// One pass over the rows of a result. Not thread-safe. Calls block for as long as the database computes, and end early
// where the context is cancelled.
class SqlQuery {
 public:
  // SQLite's; a file that is not there is made. Unimplemented in a build without SQLite.
  static absl::StatusOr<std::unique_ptr<SqlQuery>> OpenSqlite(const std::string& file, const std::string& query);

  virtual ~SqlQuery() = default;
  virtual int num_columns() const = 0;
  // To the next row, at first the first one; false behind the last.
  virtual absl::StatusOr<bool> Step(const IteratorContext& ctx) = 0;
  // A column of the row as a scalar of a type that IsSqlType, converted as the database does. An error where the
  // database has no memory for that.
  virtual absl::StatusOr<Tensor> Column(int i, DataType type) const = 0;
};

bool IsSqlType(DataType type);

}  // namespace weir
