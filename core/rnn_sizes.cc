#include "core/rnn_sizes.h"

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

int64_t RnnSizes::MatrixOffset(int64_t part, int64_t matrix) const {
  // Parts of the first layer, and those of others.
  const int64_t first = gates() * hidden * (input + hidden), other = gates() * hidden * (directions + 1) * hidden;
  const int64_t parts_before = part < directions ? part : directions;
  const int64_t begin = parts_before * first + (part - parts_before) * other;
  if (matrix == 0) return begin;
  const int64_t on_input = matrix < gates() ? matrix : gates();
  return begin + on_input * hidden * Width(part) + (matrix - on_input) * hidden * hidden;
}

int64_t RnnSizes::BiasOffset(int64_t part, int64_t matrix) const {
  return MatrixOffset(parts(), 0) + (part * MatricesPerPart() + matrix) * hidden;
}

absl::StatusOr<RnnMode> RnnModeNamed(const std::string& name) {
  if (name == "lstm") return RnnMode::kLstm;
  if (name == "gru") return RnnMode::kGru;
  if (name == "rnn_relu") return RnnMode::kRelu;
  if (name == "rnn_tanh") return RnnMode::kTanh;
  return errors::InvalidArgument("There is no recurrent network '", name, "'");
}

}  // namespace weir
