// Sizes and attributes of recurrent cells, checked; for the kernels of all devices.
#pragma once

#include <initializer_list>

#include "core/kernel/op_kernel.h"

namespace weir {

// Attributes of LSTM cells. A clip of 0 or less does not clip.
struct LstmAttrs {
  absl::Status Read(OpKernelConstruction& ctx);

  float forget_bias = 0, clip = 0;
  bool peephole = false;
};

// Sizes of one step of an LSTM cell.
struct LstmSizes {
  // For LSTMBlockCell and its gradient: input 0 is x, then as below.
  static absl::StatusOr<LstmSizes> OfCell(const OpKernelContext& ctx);
  // Inputs from `first` on: cs_prev, h_prev, w, wci, wcf, wco, b. InvalidArgument where they do not fit `batch` rows of
  // `input` numbers, or each other.
  static absl::StatusOr<LstmSizes> Of(const OpKernelContext& ctx, int first, int64_t batch, int64_t input);

  int64_t rows() const { return input + cell; }  // of the weights
  TensorShape state() const { return TensorShape({batch, cell}); }
  TensorShape gates() const { return TensorShape({batch, 4 * cell}); }

  int64_t batch = 0, input = 0, cell = 0;
};

// Sizes of BlockLSTM, BlockLSTMV2 and their gradients: inputs seq_len_max, in host memory, x [time, batch, input], then
// those of a step.
struct LstmBlockSizes {
  static absl::StatusOr<LstmBlockSizes> Of(const OpKernelContext& ctx);

  int64_t time = 0, length = 0;  // steps of x, and steps to compute
  LstmSizes step;
  TensorShape states;  // [time, batch, cell]
};

// Sizes of GRUBlockCell and its gradient: inputs x, h_prev, w_ru, w_c, b_ru, b_c.
struct GruSizes {
  static absl::StatusOr<GruSizes> Of(const OpKernelContext& ctx);

  int64_t rows() const { return input + cell; }

  int64_t batch = 0, input = 0, cell = 0;
};

// InvalidArgument if the previous state of an LSTM cell, input 1, has no elements.
absl::Status CheckPreviousState(const OpKernelContext& ctx);

// InvalidArgument unless the inputs from `first` on, called `names`, have that shape, [batch, cell] or [time, batch,
// cell].
absl::Status CheckCellStates(const OpKernelContext& ctx, int first, std::initializer_list<const char*> names,
                             const TensorShape& shape);

}  // namespace weir
