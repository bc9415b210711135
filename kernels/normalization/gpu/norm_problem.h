// The description of a training step's batch normalisation for GPU libraries.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "core/tensor/tensor_shape.h"
#include "core/tensor/types.h"

namespace weir {

enum class NormDirection { kForward, kBackward };

// Images are [batch, channels, rows, columns] (channels_first) or [batch, rows, columns, channels], dense; a volume's
// depth is part of its rows. Values per channel are float.
struct NormProblem {
  static constexpr char kNoun[] = "batch normalisation";
  static constexpr char kOtherwise[] = "kernels of its own compute it, a block for each channel";
  // To make a plan takes a third of a second: code is generated.
  static constexpr size_t kMostCandidates = 4;

  NormDirection direction = NormDirection::kForward;
  DataType dtype = DT_INVALID;
  bool channels_first = false;
  int64_t batch = 0, channels = 0, rows = 0, columns = 0;
  // Forward: an image is added to the result, and then what is negative becomes zero.
  bool has_side = false, has_relu = false;

  // Of an image or a volume of that shape, of rank 4 or 5.
  static NormProblem Of(NormDirection direction, DataType dtype, bool channels_first, const TensorShape& x);
  int64_t PerChannel() const { return batch * rows * columns; }
  int64_t Elements() const { return PerChannel() * channels; }
  bool IsChannelsFirst() const { return channels_first; }
  // As they lie: to rearrange an image costs as much as to normalise it.
  NormProblem InLayout(bool) const { return *this; }

  friend bool operator==(const NormProblem&, const NormProblem&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const NormProblem& p) {
    return H::combine(std::move(h), p.direction, p.dtype, p.channels_first, p.batch, p.channels, p.rows, p.columns,
                      p.has_side, p.has_relu);
  }
  // "batch_norm half nhwc 32x28x28x64 side relu", "batch_norm_gradient float nchw 32x28x28x64".
  std::string ToString() const;
};

}  // namespace weir
