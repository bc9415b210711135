// Attributes of the CudnnRNN ops, for the kernels of all devices.
#pragma once

#include <cstdint>
#include <string>

#include "core/kernel/op_kernel.h"
#include "kernels/recurrent/args_rnn.h"

namespace weir {

enum class RnnInput { kLinear, kSkip, kAuto };

struct RnnAttrs {
  static absl::StatusOr<RnnAttrs> Read(OpKernelConstruction& ctx);

  bool has_cell() const { return mode == RnnMode::kLstm; }
  int64_t directions() const { return is_bidirectional ? 2 : 1; }
  absl::StatusOr<RnnSizes> SizesOf(int64_t layers, int64_t hidden, int64_t input_size) const;
  // What is dropped of what one layer hands to the next.
  float DropoutOf(const RnnSizes& sizes) const { return is_training && sizes.layers > 1 ? dropout : 0; }

  RnnMode mode = RnnMode::kLstm;
  RnnInput input = RnnInput::kLinear;
  bool is_bidirectional = false, is_time_major = true, is_training = true;
  bool has_lengths = false;  // as an input
  float dropout = 0;
  int64_t num_proj = 0;
  uint64_t seed = 0;  // of dropout
};

// INVALID_ARGUMENT unless it has as many elements as the network's parameters.
absl::Status CheckRnnParams(const RnnSizes& sizes, const Tensor& params);

// UNIMPLEMENTED for what RunRnn and its gradient cannot do, as far as attributes tell; for an input that is skipped;
// and for dropout. The device is "a CPU", say.
absl::Status CheckRnnLoops(const OpKernelConstruction& ctx, const RnnAttrs& attrs, absl::string_view device);
absl::Status CheckRnnInput(const RnnSizes& sizes, absl::string_view device);
absl::Status CheckRnnDropout(float ratio, absl::string_view device);

}  // namespace weir
