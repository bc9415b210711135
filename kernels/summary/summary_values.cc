#include "kernels/summary/summary_values.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "core/tensor/numeric_types.h"
#include "core/tensor/tensor_proto.h"
#include "kernels/image/codec/png_codec.h"
#include "kernels/signal/wav.h"
#include "tensorflow/core/framework/summary.pb.h"
#include "tensorflow/core/framework/tensor.pb.h"
#include "xla/tsl/protobuf/histogram.pb.h"

namespace weir {
namespace {

// The buckets' upper limits grow by a tenth from 1e-12 to 1e20, to both sides of zero.
const std::vector<double>& BucketLimits() {
  static const auto* const limits = [] {
    std::vector<double> positive;
    for (double limit = 1.0e-12; limit < 1.0e20; limit *= 1.1) positive.push_back(limit);
    positive.push_back(DBL_MAX);
    auto* const all = new std::vector<double>;
    for (auto it = positive.rbegin(); it != positive.rend(); ++it) all->push_back(-*it);
    all->push_back(0.0);
    all->insert(all->end(), positive.begin(), positive.end());
    return all;
  }();
  return *limits;
}

// Calls fn(double) for each element.
template <typename Fn>
absl::Status ForEachNumber(const Tensor& tensor, Fn&& fn) {
  switch (tensor.dtype()) {
#define WEIR_CASE(T)                                                                                                  \
  case DataTypeOf<T>():                                                                                               \
    for (int64_t i = 0; i < tensor.NumElements(); ++i) RETURN_IF_ERROR(fn(static_cast<double>(tensor.data<T>()[i]))); \
    return absl::OkStatus();
    WEIR_FOR_REALS(WEIR_CASE)
    WEIR_CASE(bool)
#undef WEIR_CASE
    default:
      return errors::InvalidArgument("Expected real numbers, got ", DataTypeName(tensor.dtype()));
  }
}

}  // namespace

absl::StatusOr<double> NumberFrom(const Tensor& tensor) {
  if (tensor.dims() != 0) return errors::InvalidArgument("value must be scalar, got shape ", tensor.shape().ToString());
  double number = 0;
  RETURN_IF_ERROR(ForEachNumber(tensor, [&number](double x) {
    number = x;
    return absl::OkStatus();
  }));
  return number;
}

absl::Status FillHistogram(const Tensor& values, absl::string_view node, tensorflow::HistogramProto* histogram) {
  const std::vector<double>& limits = BucketLimits();
  std::vector<double> counts(limits.size(), 0.0);
  double min = DBL_MAX, max = -DBL_MAX, sum = 0, sum_squares = 0;
  RETURN_IF_ERROR(ForEachNumber(values, [&](double x) {
    if (std::isnan(x)) return errors::InvalidArgument("Nan in summary histogram for: ", node);
    if (std::isinf(x)) return errors::InvalidArgument("Infinity in Histogram for: ", node);
    counts[std::upper_bound(limits.begin(), limits.end(), x) - limits.begin()] += 1;
    min = std::min(min, x);
    max = std::max(max, x);
    sum += x;
    sum_squares += x * x;
    return absl::OkStatus();
  }));
  histogram->set_min(min);
  histogram->set_max(max);
  histogram->set_num(static_cast<double>(values.NumElements()));
  histogram->set_sum(sum);
  histogram->set_sum_squares(sum_squares);
  for (size_t i = 0; i < counts.size();) {  // a run of empty buckets becomes one
    size_t last = i;
    while (counts[i] <= 0 && last + 1 < counts.size() && counts[last + 1] <= 0) ++last;
    histogram->add_bucket_limit(limits[last]);
    histogram->add_bucket(counts[i]);
    i = last + 1;
  }
  return absl::OkStatus();
}

std::string NumberedTag(const std::string& base, const char* kind, int64_t limit, int64_t i) {
  return limit > 1 ? absl::StrCat(base, "/", kind, "/", i) : absl::StrCat(base, "/", kind);
}

namespace {

// Rounded before anything is added to it: of an image with negative values, the least comes to 1, never just below.
template <typename T>
[[gnu::noinline]] T Product(T a, T b) {
  return static_cast<T>(a * b);
}

// One image of floats, to bytes. Negative values ask for a symmetric range about 128.
template <typename T>
void Normalize(const T* pixels, int64_t count, int depth, absl::Span<const uint8_t> bad, uint8_t* out) {
  constexpr float kSmall = 1e-6f;
  const auto is_finite = [&](const T* pixel) {
    return std::all_of(pixel, pixel + depth, [](T x) { return std::isfinite(static_cast<float>(x)); });
  };
  float low = INFINITY, high = -INFINITY;
  for (int64_t i = 0; i < count; ++i) {
    if (!is_finite(pixels + i * depth)) continue;
    for (int c = 0; c < depth; ++c) {
      low = std::min(low, static_cast<float>(pixels[i * depth + c]));
      high = std::max(high, static_cast<float>(pixels[i * depth + c]));
    }
  }
  const float largest = std::max(std::abs(low), std::abs(high));
  const bool is_signed = low < 0;
  const float scale = is_signed ? (largest < kSmall ? 0 : 127.0f / largest) : (high < kSmall ? 0 : 255.0f / high);
  const float offset = is_signed ? 128.0f : 0.0f;
  for (int64_t i = 0; i < count; ++i) {
    const bool finite = is_finite(pixels + i * depth);
    for (int c = 0; c < depth; ++c) {
      const T scaled = static_cast<T>(Product(pixels[i * depth + c], static_cast<T>(scale)) + static_cast<T>(offset));
      out[i * depth + c] = finite ? static_cast<uint8_t>(std::clamp(static_cast<float>(scaled), 0.0f, 255.0f)) : bad[c];
    }
  }
}

absl::Status AddImage(const std::string& tag, const uint8_t* pixels, const TensorShape& shape,
                      tensorflow::Summary* summary) {
  const int depth = static_cast<int>(shape.dim_size(3));
  auto* const value = summary->add_value();
  value->set_tag(tag);
  auto* const image = value->mutable_image();
  image->set_height(static_cast<int32_t>(shape.dim_size(1)));
  image->set_width(static_cast<int32_t>(shape.dim_size(2)));
  image->set_colorspace(depth);
  ASSIGN_OR_RETURN(*image->mutable_encoded_image_string(),
                   EncodePng(pixels, shape.dim_size(1), shape.dim_size(2), depth));
  return absl::OkStatus();
}

}  // namespace

absl::Status AddImages(const std::string& tag, const Tensor& tensor, int64_t max_images, absl::Span<const uint8_t> bad,
                       tensorflow::Summary* summary) {
  const TensorShape& shape = tensor.shape();
  if (shape.dims() != 4 || (shape.dim_size(3) != 1 && shape.dim_size(3) != 3 && shape.dim_size(3) != 4)) {
    return errors::InvalidArgument("Tensor must be 4-D with last dim 1, 3, or 4, not ", shape.ToString());
  }
  const int depth = static_cast<int>(shape.dim_size(3));
  if (static_cast<int64_t>(bad.size()) < depth) {
    return errors::InvalidArgument("expected depth <= bad_color.size, got depth = ", depth,
                                   ", bad_color.size = ", bad.size());
  }
  const int64_t count = std::min(max_images, shape.dim_size(0));
  if (count == 0) return absl::OkStatus();
  const int64_t pixels = shape.dim_size(1) * shape.dim_size(2);
  if (pixels == 0) {
    return errors::InvalidArgument("input tensor must have non-zero dims. Found: ", shape.ToString(), " for summary ",
                                   tag);
  }
  if (pixels > INT32_MAX / 4) {
    return errors::InvalidArgument("Tensor ", shape.ToString(), " is too large for summary ", tag);
  }
  std::vector<uint8_t> bytes(tensor.dtype() == DT_UINT8 ? 0 : pixels * depth);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = i * pixels * depth;
    const uint8_t* image = bytes.data();
    switch (tensor.dtype()) {
      case DT_UINT8:
        image = tensor.data<uint8_t>() + at;
        break;
      case DT_FLOAT:
        Normalize(tensor.data<float>() + at, pixels, depth, bad, bytes.data());
        break;
      case DT_HALF:
        Normalize(tensor.data<half>() + at, pixels, depth, bad, bytes.data());
        break;
      case DT_DOUBLE:
        Normalize(tensor.data<double>() + at, pixels, depth, bad, bytes.data());
        break;
      default:
        return errors::InvalidArgument("Images of ", DataTypeName(tensor.dtype()), " are not supported");
    }
    RETURN_IF_ERROR(AddImage(NumberedTag(tag, "image", max_images, i), image, shape, summary));
  }
  return absl::OkStatus();
}

absl::Status AddSounds(const std::string& tag, const Tensor& tensor, int64_t max_outputs, float sample_rate,
                       tensorflow::Summary* summary) {
  const TensorShape& shape = tensor.shape();
  if (shape.dims() != 2 && shape.dims() != 3) {
    return errors::InvalidArgument("Tensor must be 3-D or 2-D, got: ", shape.ToString());
  }
  if (!(sample_rate > 0) || sample_rate > 1e9f) return errors::InvalidArgument("sample_rate must be > 0");
  const int64_t frames = shape.dim_size(1), channels = shape.dims() == 3 ? shape.dim_size(2) : 1;
  if (channels > UINT16_MAX / 2 || frames * channels > INT32_MAX / 4) {
    return errors::InvalidArgument("Tensor ", shape.ToString(), " is too large for summary ", tag);
  }
  for (int64_t i = 0; i < std::min(max_outputs, shape.dim_size(0)); ++i) {
    if (frames == 0 || channels == 0) {
      return errors::InvalidArgument("A sound of shape ", shape.ToString(), " has no samples");
    }
    auto* const value = summary->add_value();
    value->set_tag(NumberedTag(tag, "audio", max_outputs, i));
    auto* const audio = value->mutable_audio();
    audio->set_sample_rate(sample_rate);
    audio->set_num_channels(channels);
    audio->set_length_frames(frames);
    audio->set_content_type("audio/wav");
    audio->set_encoded_audio_string(EncodeWav(tensor.data<float>() + i * frames * channels, frames, channels,
                                              static_cast<uint32_t>(std::lround(sample_rate))));
  }
  return absl::OkStatus();
}

void AddScalar(const std::string& tag, double number, tensorflow::Summary* summary) {
  tensorflow::Summary::Value* const value = summary->add_value();
  value->set_tag(tag);
  value->set_simple_value(static_cast<float>(number));
}

absl::Status FillTensorValue(const std::string& tag, const Tensor& tensor, const std::string& metadata,
                             tensorflow::Summary_Value* value) {
  value->set_tag(tag);
  RETURN_IF_ERROR(TensorToProto(tensor, value->mutable_tensor()));
  if (!metadata.empty() && !value->mutable_metadata()->ParseFromString(metadata)) {
    return errors::InvalidArgument("Could not parse the summary metadata of ", tag);
  }
  return absl::OkStatus();
}

}  // namespace weir
