#include "kernels/recurrent/args_rnn.h"

#include <algorithm>

namespace weir {
namespace {

// No size below it overflows where three of them and a few gates are multiplied.
constexpr int64_t kLargestSize = int64_t{1} << 20;
constexpr int64_t kMostParams = int64_t{1} << 48;

}  // namespace

absl::StatusOr<RnnSizes> RnnSizes::Of(RnnMode mode, bool is_bidirectional, int64_t layers, int64_t hidden,
                                      int64_t input) {
  for (const int64_t size : {layers, hidden, input}) {
    if (size < 1 || size > kLargestSize) {
      return errors::InvalidArgument("num_layers, num_units and input_size must be from 1 to ", kLargestSize,
                                     ", but are ", layers, ", ", hidden, " and ", input);
    }
  }
  const RnnSizes sizes{
      .mode = mode, .layers = layers, .directions = is_bidirectional ? 2 : 1, .input = input, .hidden = hidden};
  // As doubles they do not overflow.
  const double matrices = static_cast<double>(sizes.gates()) * hidden * (2.0 * hidden + input) * sizes.parts() * 2;
  if (matrices > static_cast<double>(kMostParams)) {
    return errors::InvalidArgument("A network of ", layers, " layers of ", hidden, " units for ", input,
                                   " inputs has too many parameters");
  }
  return sizes;
}

absl::StatusOr<RnnSizes> RnnSizes::WithProjection(int64_t size) const {
  if (mode != RnnMode::kLstm) return errors::InvalidArgument("Only an lstm has projections, but num_proj=", size);
  if (size < 1 || size > hidden) {
    return errors::InvalidArgument("num_proj must be from 1 to num_units, ", hidden, ", but is ", size);
  }
  RnnSizes sizes = *this;
  sizes.projected = size == hidden ? 0 : size;
  return sizes;
}

absl::StatusOr<RnnSizes> RnnSizes::WithInputSkipped() const {
  if (input != hidden) {
    return errors::InvalidArgument("skip_input needs an input of num_units, ", hidden, ", but input_size is ", input);
  }
  RnnSizes sizes = *this;
  sizes.skips_input = true;
  return sizes;
}

int64_t RnnSizes::MatrixColumns(int64_t part, int64_t matrix) const {
  if (matrix >= BiasesPerPart()) return hidden;
  if (matrix >= gates()) return Outputs();
  return skips_input && part < directions ? 0 : Width(part);
}

int64_t RnnSizes::MatrixOffset(int64_t part, int64_t matrix) const {
  const auto elements = [this](int64_t of_part, int64_t matrices) {  // of its first so many
    const int64_t on_input = std::min(matrices, gates()), others = matrices - on_input;
    const int64_t on_state = std::min(others, gates()), projections = others - on_state;
    return hidden * (on_input * MatrixColumns(of_part, 0) + on_state * Outputs() + projections * projected);
  };
  const int64_t firsts = std::min(part, directions);  // parts of the first layer before it
  return firsts * elements(0, MatricesPerPart()) + (part - firsts) * elements(directions, MatricesPerPart()) +
         (matrix == 0 ? 0 : elements(part, matrix));
}

int64_t RnnSizes::BiasOffset(int64_t part, int64_t bias) const {
  return MatrixOffset(parts(), 0) + (part * BiasesPerPart() + bias) * hidden;
}

absl::StatusOr<RnnMode> RnnModeNamed(const std::string& name) {
  if (name == "lstm") return RnnMode::kLstm;
  if (name == "gru") return RnnMode::kGru;
  if (name == "rnn_relu") return RnnMode::kRelu;
  if (name == "rnn_tanh") return RnnMode::kTanh;
  return errors::InvalidArgument("There is no recurrent network '", name, "'");
}

}  // namespace weir
