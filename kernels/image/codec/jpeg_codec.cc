#include "kernels/image/codec/jpeg_codec.h"

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>
// After cstdio, which it needs.
#include <jerror.h>
#include <jpeglib.h>

namespace weir {
namespace {

// libjpeg reports errors by longjmp: functions that it may leave that way hold nothing that has a destructor.
struct ErrorHandler {
  jpeg_error_mgr base;
  jmp_buf leave;
  char message[JMSG_LENGTH_MAX];
};
void OnError(j_common_ptr info) {
  auto* const handler = reinterpret_cast<ErrorHandler*>(info->err);
  (*info->err->format_message)(info, handler->message);
  longjmp(handler->leave, 1);
}
void OnMessage(j_common_ptr, int) {}
void InitErrors(ErrorHandler* handler) {
  jpeg_std_error(&handler->base);
  handler->base.error_exit = OnError;
  handler->base.emit_message = OnMessage;
  handler->message[0] = 0;
}

// Bytes in memory. At their end reading stops, or goes on with an end mark.
struct Source {
  jpeg_source_mgr base;
  bool recover;
};
void NoSource(j_decompress_ptr) {}
boolean AtEnd(j_decompress_ptr info) {
  static const JOCTET kEnd[] = {0xff, JPEG_EOI};
  auto* const source = reinterpret_cast<Source*>(info->src);
  if (!source->recover) return FALSE;
  source->base.next_input_byte = kEnd;
  source->base.bytes_in_buffer = sizeof(kEnd);
  return TRUE;
}
void SkipBytes(j_decompress_ptr info, long n) {  // NOLINT(google-runtime-int): libjpeg's signature
  jpeg_source_mgr* const source = info->src;
  if (n <= 0) return;
  if (static_cast<size_t>(n) > source->bytes_in_buffer) {
    source->bytes_in_buffer = 0;
    AtEnd(info);
    return;
  }
  source->next_input_byte += n;
  source->bytes_in_buffer -= n;
}

struct Reader {
  explicit Reader(absl::string_view contents, bool recover) {
    InitErrors(&errors);
    info.err = &errors.base;
    source = {};
    source.base.next_input_byte = reinterpret_cast<const JOCTET*>(contents.data());
    source.base.bytes_in_buffer = contents.size();
    source.base.init_source = NoSource;
    source.base.fill_input_buffer = AtEnd;
    source.base.skip_input_data = SkipBytes;
    source.base.resync_to_restart = jpeg_resync_to_restart;
    source.base.term_source = NoSource;
    source.recover = recover;
  }
  ~Reader() { jpeg_destroy_decompress(&info); }
  Reader(const Reader&) = delete;

  absl::Status Error(absl::string_view contents) const {
    return errors::InvalidArgument("jpeg::Uncompress failed. Invalid JPEG data or crop window. Data size ",
                                   contents.size(), ": ", errors.message);
  }

  jpeg_decompress_struct info{};
  ErrorHandler errors;
  Source source;
};

bool ReadHeader(Reader& reader) {
  if (setjmp(reader.errors.leave) != 0) return false;
  jpeg_create_decompress(&reader.info);
  reader.info.src = &reader.source.base;
  return jpeg_read_header(&reader.info, TRUE) == JPEG_HEADER_OK;
}

bool Start(Reader& reader, const JpegDecodeOptions& options, int channels) {
  if (setjmp(reader.errors.leave) != 0) return false;
  jpeg_decompress_struct& info = reader.info;
  info.out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  const bool inked = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
  if (inked) info.out_color_space = JCS_CMYK;
  info.do_fancy_upsampling = options.fancy_upscaling ? TRUE : FALSE;
  info.scale_num = 1;
  info.scale_denom = options.ratio;
  info.dct_method = options.fast ? JDCT_IFAST : JDCT_ISLOW;
  return jpeg_start_decompress(&info) == TRUE;
}

// Leaves only the columns of `window`, and those that the decoder needs left of it: `left` of them.
bool Crop(Reader& reader, const JpegWindow& window, int64_t* left) {
  if (setjmp(reader.errors.leave) != 0) return false;
  JDIMENSION x = static_cast<JDIMENSION>(window.x), width = static_cast<JDIMENSION>(window.width);
  jpeg_crop_scanline(&reader.info, &x, &width);
  *left = window.x - x;
  return window.y == 0 || jpeg_skip_scanlines(&reader.info, static_cast<JDIMENSION>(window.y)) == window.y;
}

// `height` rows of the file's own channels; how many there were before the data ended.
bool ReadRows(Reader& reader, uint8_t* rows, int64_t stride, int64_t height, int64_t* count) {
  if (setjmp(reader.errors.leave) != 0) return false;
  while (*count < height) {
    JSAMPROW row = rows + *count * stride;
    if (jpeg_read_scanlines(&reader.info, &row, 1) != 1) break;
    ++*count;
  }
  return true;
}

// The file holds inverted inks.
void InksToColors(const uint8_t* inks, int64_t n, int channels, uint8_t* out) {
  for (int64_t i = 0; i < n; ++i, inks += 4, out += channels) {
    int rgb[3];
    for (int c = 0; c < 3; ++c) rgb[c] = inks[c] * inks[3] / 255;
    if (channels == 3) {
      for (int c = 0; c < 3; ++c) out[c] = static_cast<uint8_t>(rgb[c]);
    } else {
      out[0] = static_cast<uint8_t>((299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] + 500) / 1000);
    }
  }
}

absl::Status CheckWindow(const JpegWindow& window, const JpegWindow& whole) {
  if (window.y >= 0 && window.x >= 0 && window.height > 0 && window.width > 0 &&
      window.y + window.height <= whole.height && window.x + window.width <= whole.width) {
    return absl::OkStatus();
  }
  return errors::InvalidArgument("jpeg::Uncompress failed. Invalid JPEG data or crop window. ", window.height, "x",
                                 window.width, " at ", window.y, ",", window.x, " is not within ", whole.height, "x",
                                 whole.width);
}

// The file as it grows; libjpeg writes to the bytes after those that it knows to be taken.
struct Sink {
  jpeg_destination_mgr base;
  std::string file;
};
bool Resize(std::string& file, size_t size) {
  try {
    file.resize(size);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}
void GrowTo(j_compress_ptr info, size_t size) {
  auto* const sink = reinterpret_cast<Sink*>(info->dest);
  const size_t taken = sink->file.size();
  if (!Resize(sink->file, size)) ERREXIT1(info, JERR_OUT_OF_MEMORY, 0);
  sink->base.next_output_byte = reinterpret_cast<JOCTET*>(sink->file.data()) + taken;
  sink->base.free_in_buffer = size - taken;
}
void StartFile(j_compress_ptr info) { GrowTo(info, 4096); }
boolean GrowFile(j_compress_ptr info) {
  GrowTo(info, 2 * reinterpret_cast<Sink*>(info->dest)->file.size());
  return TRUE;
}
void EndFile(j_compress_ptr info) {
  auto* const sink = reinterpret_cast<Sink*>(info->dest);
  sink->file.resize(sink->file.size() - sink->base.free_in_buffer);
}

struct Writer {
  Writer() {
    InitErrors(&errors);
    info.err = &errors.base;
    sink.base = {};
    sink.base.init_destination = StartFile;
    sink.base.empty_output_buffer = GrowFile;
    sink.base.term_destination = EndFile;
  }
  ~Writer() { jpeg_destroy_compress(&info); }
  Writer(const Writer&) = delete;

  jpeg_compress_struct info{};
  ErrorHandler errors;
  Sink sink;
};

bool WriteAll(Writer& writer, const uint8_t* pixels, int64_t height, int64_t width, int channels,
              const JpegEncodeOptions& options, const std::string& metadata) {
  if (setjmp(writer.errors.leave) != 0) return false;
  jpeg_compress_struct& info = writer.info;
  jpeg_create_compress(&info);
  info.dest = &writer.sink.base;
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = channels;
  info.in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&info);
  if (options.optimize_size) info.optimize_coding = TRUE;
  info.density_unit = options.density_in_cm ? 2 : 1;
  info.X_density = static_cast<UINT16>(options.x_density);
  info.Y_density = static_cast<UINT16>(options.y_density);
  jpeg_set_quality(&info, options.quality, TRUE);
  if (options.progressive) jpeg_simple_progression(&info);
  if (!options.chroma_downsampling) {
    for (int i = 0; i < info.num_components; ++i) info.comp_info[i].h_samp_factor = info.comp_info[i].v_samp_factor = 1;
  }
  jpeg_start_compress(&info, TRUE);
  if (!metadata.empty()) {
    jpeg_write_marker(&info, JPEG_APP0 + 1, reinterpret_cast<const JOCTET*>(metadata.data()),
                      static_cast<unsigned>(metadata.size()));
  }
  const int64_t stride = width * channels;
  while (info.next_scanline < info.image_height) {
    // libjpeg does not write to the rows.
    JSAMPROW row = const_cast<uint8_t*>(pixels) + info.next_scanline * stride;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  return true;
}

}  // namespace

absl::StatusOr<Pixels> DecodeJpeg(absl::string_view contents, const JpegDecodeOptions& options) {
  Reader reader(contents, options.recover_truncated);
  if (!ReadHeader(reader)) return reader.Error(contents);
  const int channels = options.channels != 0 ? options.channels : std::min(reader.info.num_components, 3);
  if (channels != 1 && channels != 3) return reader.Error(contents);
  // Before any memory is taken for the whole of a progressive image.
  Pixels limit;
  RETURN_IF_ERROR(limit.Allocate("JPEG", 1, reader.info.image_height, reader.info.image_width, 1, 8));
  if (!Start(reader, options, channels)) return reader.Error(contents);
  const int64_t own = reader.info.output_components;
  JpegWindow window{0, 0, reader.info.output_height, reader.info.output_width};
  int64_t left = 0;
  if (options.crop.has_value()) {
    RETURN_IF_ERROR(CheckWindow(*options.crop, window));
    window = *options.crop;
    if (!Crop(reader, window, &left)) return reader.Error(contents);
  }
  const int64_t height = window.height, width = reader.info.output_width;
  const bool inked = reader.info.out_color_space == JCS_CMYK;
  if (inked ? own != 4 : own != channels) return reader.Error(contents);
  Pixels read;
  RETURN_IF_ERROR(read.Allocate("JPEG", 1, height, width, own, 8));
  int64_t rows = 0;
  if (!ReadRows(reader, read.bytes.data(), width * own, height, &rows)) return reader.Error(contents);
  if (rows < height) {
    if (static_cast<float>(rows) / static_cast<float>(height) < options.acceptable_fraction) {
      return reader.Error(contents);
    }
    // The last row goes on to the end; an image without rows is black.
    const uint8_t* const last = read.bytes.data() + std::max<int64_t>(rows - 1, 0) * width * own;
    for (int64_t y = std::max<int64_t>(rows, 1); y < height; ++y)
      std::memcpy(read.bytes.data() + y * width * own, last, width * own);
  }
  if (!inked && width == window.width) return read;
  Pixels pixels;
  RETURN_IF_ERROR(pixels.Allocate("JPEG", 1, height, window.width, channels, 8));
  for (int64_t y = 0; y < height; ++y) {
    const uint8_t* const from = read.bytes.data() + (y * width + left) * own;
    uint8_t* const to = pixels.bytes.data() + y * window.width * channels;
    if (inked) {
      InksToColors(from, window.width, channels, to);
    } else {
      std::memcpy(to, from, window.width * channels);
    }
  }
  return pixels;
}

absl::StatusOr<JpegShape> ReadJpegShape(absl::string_view contents) {
  Reader reader(contents, false);
  if (!ReadHeader(reader)) return errors::InvalidArgument("Invalid JPEG data, size ", contents.size());
  return JpegShape{static_cast<int64_t>(reader.info.image_height), static_cast<int64_t>(reader.info.image_width),
                   reader.info.num_components};
}

absl::StatusOr<std::string> EncodeJpeg(const uint8_t* pixels, int64_t height, int64_t width, int channels,
                                       const JpegEncodeOptions& options) {
  if (height <= 0 || width <= 0 || height > JPEG_MAX_DIMENSION || width > JPEG_MAX_DIMENSION) {
    return errors::InvalidArgument("JPEG encoding failed: an image of ", width, "x", height, " cannot be encoded");
  }
  std::string metadata;
  if (!options.xmp_metadata.empty()) {
    metadata.assign("http://ns.adobe.com/xap/1.0/");
    metadata.push_back('\0');
    metadata += options.xmp_metadata;
    if (metadata.size() > 65533) return errors::InvalidArgument("XMP metadata is too long: ", metadata.size());
  }
  Writer writer;
  if (!WriteAll(writer, pixels, height, width, channels, options, metadata)) {
    return errors::Internal("JPEG encoding failed: ", writer.errors.message);
  }
  return std::move(writer.sink.file);
}

}  // namespace weir
