// The description of attention for GPU libraries.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "core/tensor/types.h"
#include "kernels/attention/args.h"

namespace weir {

// softmax(q k' scale + mask) v; the scale comes with each call. Tensors have the dimensions [batch, heads, rows,
// columns]; steps are in elements, and each tensor's rows are dense.
struct AttentionProblem {
  static constexpr char kNoun[] = "attention";
  static constexpr char kOtherwise[] = "tiles compute it, without tensor cores";
  static constexpr size_t kMostCandidates = 32;

  DataType dtype = DT_INVALID;
  int64_t batch = 1, heads = 1, queries = 0, keys = 0, depth = 0, columns = 0;
  int64_t q[2] = {}, k[2] = {}, v[2] = {};  // steps of batch and heads; rows follow each other
  bool has_mask = false;
  bool is_gradient = false;  // dq, dk and dv are wanted, dense, from a dense gradient of the output
  bool mask_varies[3] = {};  // by batch, head and query, or is broadcast; it is dense

  // Of batch, heads and queries.
  int64_t MaskSize(int d) const { return !mask_varies[d] ? 1 : d == 0 ? batch : d == 1 ? heads : queries; }
  int64_t OutElements() const { return batch * heads * queries * columns; }
  int64_t Rows() const { return batch * heads * queries; }

  friend bool operator==(const AttentionProblem&, const AttentionProblem&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const AttentionProblem& p) {
    return H::combine(std::move(h), p.dtype, p.batch, p.heads, p.queries, p.keys, p.depth, p.columns, p.q[0], p.q[1],
                      p.k[0], p.k[1], p.v[0], p.v[1], p.has_mask, p.is_gradient, p.mask_varies[0], p.mask_varies[1],
                      p.mask_varies[2]);
  }
  bool IsChannelsFirst() const { return false; }
  AttentionProblem InLayout(bool) const { return *this; }
  // "half 2x8 queries=512x64 keys=512 values=64 mask=1x1x512"
  std::string ToString() const;
};

// nullopt for what has another form: float or double, more than two dimensions of batches, keys in columns, and
// matrices that are broadcast along their rows, or, but for a mask, along the batch.
std::optional<AttentionProblem> ProblemOf(const AttentionSizes& sizes, DataType dtype, bool has_mask);

}  // namespace weir
