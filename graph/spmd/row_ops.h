// Looks up and updates the rows of a row-sharded table that are on one device.
#pragma once

#include <string>
#include <vector>

#include "graph/spmd/emitter.h"

namespace weir::spmd {

struct RowPart {
  std::string name;  // prefix of new nodes' names
  std::string device;
  int64_t first = 0, size = 0;  // the device's rows
  int64_t total = 0;
  std::vector<int64_t> index_dims;  // the shape of the device's row numbers
};

struct LocalRows {
  Output indices;  // within the part; 0 for rows of other devices
  Output is_here;
};

// A row number that is on no device becomes -1, which the op rejects.
LocalRows FindLocalRows(const RowPart& part, const Output& indices, Emitter* emitter);

// `rows`, of rank `rank`, with zeros for rows of other devices. Its leading dimensions are those of the indices.
Output ZeroOtherRows(const RowPart& part, const Output& rows, const Output& is_here, int rank, Emitter* emitter);

}  // namespace weir::spmd
