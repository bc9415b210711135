// cuDNN's recurrent networks by plain loops, without projections and skipped inputs.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/recurrent/args_rnn.h"

namespace weir {

// A batch of sequences; of row n the first lengths[n] steps count.
struct RnnBatch {
  RnnSizes sizes;
  int64_t steps = 0, rows = 0;
  std::vector<int64_t> lengths;

  bool operator==(const RnnBatch&) const = default;

  int64_t InElements() const { return steps * rows * sizes.input; }
  int64_t OutElements() const { return steps * rows * sizes.directions * sizes.hidden; }
  int64_t StateElements() const { return sizes.parts() * rows * sizes.hidden; }
  // What a training step keeps of a unit in a step: its gates, what a gradient needs of them, the cell, its output.
  int64_t KeptPerUnit() const { return sizes.mode == RnnMode::kLstm ? 6 : sizes.mode == RnnMode::kGru ? 5 : 1; }
  int64_t KeptElements() const { return rows * steps * sizes.parts() * KeptPerUnit() * sizes.hidden; }
};

// Arrays are dense: x [steps, rows, input], y [steps, rows, directions * hidden], h and c [parts, rows, hidden], kept
// [KeptElements()]. c counts for lstm alone, and may be null elsewhere.
template <typename T>
struct RnnForward {
  const T *x, *h, *c, *params;
  T *y, *last_h, *last_c;
  T* kept;
};
// What was behind the end of a sequence is zero.
template <typename T>
void RunRnn(const RnnBatch& batch, const RnnForward<T>& at);

template <typename T>
struct RnnBackward {
  const T *x, *h, *c, *params, *kept;
  const T *dy, *dlast_h, *dlast_c;
  T *dx, *dh, *dc, *dparams;  // all is written
};
template <typename T>
void RunRnnGradient(const RnnBatch& batch, const RnnBackward<T>& at);

}  // namespace weir
