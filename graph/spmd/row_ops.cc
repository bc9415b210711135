#include "graph/spmd/row_ops.h"

namespace weir::spmd {

LocalRows FindLocalRows(const RowPart& part, const Output& indices, Emitter* emitter) {
  const auto add = [&](const char* op, const Input& a, const Input& b) {
    return emitter->Add(absl::StrCat(part.name, "/rows"), part.device, op, {{a}, {b}});
  };
  const Output local = add("Sub", indices, part.first);
  const auto within = [&](const Output& x, int64_t end) {
    return add("LogicalAnd", add("GreaterEqual", x, int64_t{0}), add("Less", x, end));
  };
  LocalRows rows;
  rows.is_here = within(local, part.size);
  const auto select = [&](const Output& condition, const Input& yes, const Input& no) {
    return emitter->Add(absl::StrCat(part.name, "/rows"), part.device, "SelectV2", {{condition}, {yes}, {no}});
  };
  rows.indices = select(within(indices, part.total), select(rows.is_here, local, int64_t{0}), int64_t{-1});
  return rows;
}

Output ZeroOtherRows(const RowPart& part, const Output& rows, const Output& is_here, int rank, Emitter* emitter) {
  std::vector<int64_t> dims = part.index_dims;
  dims.resize(rank, 1);
  const std::string name = absl::StrCat(part.name, "/other_rows");
  const Output mask = emitter->Add(name, part.device, "Reshape", {{is_here}, {emitter->Vector(part.device, dims)}});
  return emitter->Add(name, part.device, "SelectV2", {{mask}, {rows}, {0.0}});
}

}  // namespace weir::spmd
