// Sizes of cuDNN's recurrent networks, and the layout of their parameters, which is the same on all devices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"

namespace weir {

enum class RnnMode { kRelu, kTanh, kLstm, kGru };

// Layers of `hidden` units, one upon the other; where there are two directions each layer has one of each, and the next
// reads both, the forward one first. Layer and direction count together as a `part`: layer * directions + direction.
//
// Parameters lie as cuDNN has them: of each part the matrices of its gates on the input, [hidden, width], then those on
// the state, [hidden, outputs], then the projection's, [projected, hidden], if there is one; and behind all matrices,
// in the same order, a bias of `hidden` for each gate's. Gates are, in order, input, forget, new and output (lstm),
// reset, update and new (gru), or the one there is.
struct RnnSizes {
  RnnMode mode = RnnMode::kLstm;
  int64_t layers = 0, directions = 1, input = 0, hidden = 0;
  int64_t projected = 0;     // lstm: to how many numbers what a layer gives is projected; 0: not at all
  bool skips_input = false;  // the first layer adds the input as it is: its matrices on the input have no columns

  // INVALID_ARGUMENT for sizes that are not positive, or whose parameters are more than 2^48.
  static absl::StatusOr<RnnSizes> Of(RnnMode mode, bool is_bidirectional, int64_t layers, int64_t hidden,
                                     int64_t input);
  // INVALID_ARGUMENT unless the network is an lstm of at least so many units. As many: it is not projected.
  absl::StatusOr<RnnSizes> WithProjection(int64_t size) const;
  // INVALID_ARGUMENT unless the input has as many numbers as there are units.
  absl::StatusOr<RnnSizes> WithInputSkipped() const;

  bool operator==(const RnnSizes&) const = default;

  int64_t gates() const { return mode == RnnMode::kLstm ? 4 : mode == RnnMode::kGru ? 3 : 1; }
  int64_t parts() const { return layers * directions; }
  // What a part gives in a step, which is its state too, and what it reads.
  int64_t Outputs() const { return projected > 0 ? projected : hidden; }
  int64_t Width(int64_t part) const { return part < directions ? input : directions * Outputs(); }
  // Of a part: matrices and biases on the input, then on the state, then the matrix of the projection.
  int64_t BiasesPerPart() const { return 2 * gates(); }
  int64_t MatricesPerPart() const { return BiasesPerPart() + (projected > 0 ? 1 : 0); }
  int64_t MatrixRows(int64_t matrix) const { return matrix < BiasesPerPart() ? hidden : projected; }
  int64_t MatrixColumns(int64_t part, int64_t matrix) const;
  // Where they begin.
  int64_t MatrixOffset(int64_t part, int64_t matrix) const;
  int64_t BiasOffset(int64_t part, int64_t bias) const;
  int64_t NumParams() const { return BiasOffset(parts(), 0); }
};

// "lstm", "gru", "rnn_relu", "rnn_tanh"; INVALID_ARGUMENT for others.
absl::StatusOr<RnnMode> RnnModeNamed(const std::string& name);

}  // namespace weir
