// Values of summaries: histograms, images and sounds as tensorflow.Summary has them.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/tensor/tensor.h"

namespace tensorflow {
class HistogramProto;
class Summary;
class Summary_Value;
}  // namespace tensorflow

namespace weir {

// InvalidArgument for a value that is not finite; `node` is for the message.
absl::Status FillHistogram(const Tensor& values, absl::string_view node, tensorflow::HistogramProto* histogram);
// A scalar of any real type, as a double. InvalidArgument for other tensors.
absl::StatusOr<double> NumberFrom(const Tensor& tensor);
// A value that TensorBoard draws as a point of a curve.
void AddScalar(const std::string& tag, double number, tensorflow::Summary* summary);
// The first `max_images` of [batch, height, width, depth] as PNG. Pixels of floats are scaled to 0..255; those that are
// not finite take the colour `bad`.
absl::Status AddImages(const std::string& tag, const Tensor& tensor, int64_t max_images, absl::Span<const uint8_t> bad,
                       tensorflow::Summary* summary);
// The first `max_outputs` of [batch, frames] or [batch, frames, channels] as WAV.
absl::Status AddSounds(const std::string& tag, const Tensor& tensor, int64_t max_outputs, float sample_rate,
                       tensorflow::Summary* summary);
// Tag, tensor and serialised metadata.
absl::Status FillTensorValue(const std::string& tag, const Tensor& tensor, const std::string& metadata,
                             tensorflow::Summary_Value* value);

// "base/kind/i", or "base/kind" where there can be only one.
std::string NumberedTag(const std::string& base, const char* kind, int64_t limit, int64_t i);

}  // namespace weir
