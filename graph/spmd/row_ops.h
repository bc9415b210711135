// Looking up and updating the rows that one device has of a table that is split by rows.
#pragma once

#include <string>
#include <vector>

#include "graph/spmd/emitter.h"

namespace weir::spmd {

struct RowPart {
  std::string name;  // what new nodes are named after
  std::string device;
  int64_t first = 0, size = 0;  // the device's rows
  int64_t total = 0;
  std::vector<int64_t> index_dims;  // the shape of the row numbers, as the device has them
};

struct LocalRows {
  Output indices;  // within the part; 0 for rows of others
  Output is_here;
};

// A row number that no device has becomes -1, which the op refuses.
LocalRows FindLocalRows(const RowPart& part, const Output& indices, Emitter* emitter);

// `rows`, of rank `rank`, with zeros where the row is another device's. They begin with the dimensions of the indices.
Output ZeroOtherRows(const RowPart& part, const Output& rows, const Output& is_here, int rank, Emitter* emitter);

}  // namespace weir::spmd
