#include "kernels/image/codec/webp_codec.h"

#include <webp/decode.h>
#include <webp/demux.h>

#include <algorithm>
#include <memory>

namespace weir {
namespace {

const uint8_t* Bytes(absl::string_view contents) { return reinterpret_cast<const uint8_t*>(contents.data()); }

absl::StatusOr<Pixels> DecodeStill(absl::string_view contents, const WebPBitstreamFeatures& features) {
  Pixels pixels;
  const int channels = features.has_alpha != 0 ? 4 : 3;
  RETURN_IF_ERROR(pixels.Allocate("WebP", 1, features.height, features.width, channels, 8));
  const auto decode = channels == 4 ? &WebPDecodeRGBAInto : &WebPDecodeRGBInto;
  if (decode(Bytes(contents), contents.size(), pixels.bytes.data(), pixels.bytes.size(), channels * features.width) ==
      nullptr) {
    return errors::InvalidArgument("Failed to decode WebP image.");
  }
  return pixels;
}

absl::StatusOr<Pixels> DecodeAnimation(absl::string_view contents, bool all_frames) {
  const auto failure = [] {
    return errors::InvalidArgument("Failed to decode WebP Animation: failed to decode WebP Animation");
  };
  const WebPData data{Bytes(contents), contents.size()};
  // The sizes first: the decoder makes room for what the file claims.
  const std::unique_ptr<WebPDemuxer, decltype(&WebPDemuxDelete)> demuxer(WebPDemux(&data), &WebPDemuxDelete);
  if (demuxer == nullptr) return failure();
  const uint32_t frames = WebPDemuxGetI(demuxer.get(), WEBP_FF_FRAME_COUNT);
  Pixels pixels;
  RETURN_IF_ERROR(pixels.Allocate("WebP", all_frames ? frames : std::min(frames, 1u),
                                  WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_HEIGHT),
                                  WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_WIDTH), 4, 8));
  WebPAnimDecoderOptions options;
  if (WebPAnimDecoderOptionsInit(&options) == 0) return failure();
  options.color_mode = MODE_RGBA;
  const std::unique_ptr<WebPAnimDecoder, decltype(&WebPAnimDecoderDelete)> decoder(WebPAnimDecoderNew(&data, &options),
                                                                                   &WebPAnimDecoderDelete);
  if (decoder == nullptr) return failure();
  const int64_t frame_size = pixels.size() / pixels.frames;
  for (int64_t frame = 0; frame < pixels.frames; ++frame) {
    uint8_t* canvas;
    int milliseconds;
    if (WebPAnimDecoderGetNext(decoder.get(), &canvas, &milliseconds) == 0) return failure();
    std::copy_n(canvas, frame_size, pixels.bytes.begin() + frame * frame_size);
  }
  return pixels;
}

}  // namespace

absl::StatusOr<Pixels> DecodeWebP(absl::string_view contents, int64_t channels, bool all_frames) {
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(Bytes(contents), contents.size(), &features) != VP8_STATUS_OK) {
    return errors::InvalidArgument("Failed to decode WebP header.");
  }
  const bool is_animated = features.has_animation != 0;
  if (channels != 0 && channels != (is_animated || features.has_alpha != 0 ? 4 : 3)) {
    return errors::InvalidArgument("Number of channels requested does not match input");
  }
  return is_animated ? DecodeAnimation(contents, all_frames) : DecodeStill(contents, features);
}

}  // namespace weir
