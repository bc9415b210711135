// What recurrent cells take, on every device.
#pragma once

#include <initializer_list>

#include "core/op_kernel.h"

namespace weir {

// Of long short-term memory cells. A clip of 0 or less is none.
struct LstmAttrs {
  absl::Status Read(OpKernelConstruction& ctx);

  float forget_bias = 0, clip = 0;
  bool peephole = false;
};

// Of one step of a long short-term memory cell.
struct LstmSizes {
  // Of LSTMBlockCell and its gradient: x, and then as below.
  static absl::StatusOr<LstmSizes> OfCell(const OpKernelContext& ctx);
  // Inputs from `first` on: cs_prev, h_prev, w, wci, wcf, wco, b. InvalidArgument where they do not fit `batch` rows of
  // `input` numbers, or each other.
  static absl::StatusOr<LstmSizes> Of(const OpKernelContext& ctx, int first, int64_t batch, int64_t input);

  int64_t rows() const { return input + cell; }  // of the weights
  TensorShape state() const { return TensorShape({batch, cell}); }
  TensorShape gates() const { return TensorShape({batch, 4 * cell}); }

  int64_t batch = 0, input = 0, cell = 0;
};

// Of BlockLSTM and its like: inputs seq_len_max, in host memory, x [time, batch, input], and then as a step's.
struct LstmBlockSizes {
  static absl::StatusOr<LstmBlockSizes> Of(const OpKernelContext& ctx);

  int64_t time = 0, length = 0;  // steps there are, and those that are computed
  LstmSizes step;
  TensorShape states;  // [time, batch, cell]
};

// Of GRUBlockCell and its gradient: inputs x, h_prev, w_ru, w_c, b_ru, b_c.
struct GruSizes {
  static absl::StatusOr<GruSizes> Of(const OpKernelContext& ctx);

  int64_t rows() const { return input + cell; }

  int64_t batch = 0, input = 0, cell = 0;
};

// InvalidArgument unless inputs from `first` on have that shape, [batch, cell] or [time, batch, cell]; `names` are
// theirs.
absl::Status CheckCellStates(const OpKernelContext& ctx, int first, std::initializer_list<const char*> names,
                             const TensorShape& shape);

}  // namespace weir
