#include "kernels/image/codec/png_codec.h"

#include <png.h>

#include <csetjmp>
#include <cstring>
#include <memory>

namespace weir {
namespace {

// libpng reports errors by longjmp: functions that it may leave that way hold nothing that has a destructor.
struct Failure {
  char message[128] = "";
};
void OnError(png_structp png, png_const_charp message) {
  auto* const failure = static_cast<Failure*>(png_get_error_ptr(png));
  std::strncpy(failure->message, message, sizeof(failure->message) - 1);
  longjmp(png_jmpbuf(png), 1);
}
void OnWarning(png_structp, png_const_charp) {}

struct PngSource {
  const char* next;
  size_t left;
};
void ReadBytes(png_structp png, png_bytep to, png_size_t n) {
  auto* const source = static_cast<PngSource*>(png_get_io_ptr(png));
  if (n > source->left) png_error(png, "More bytes requested to read than available");
  std::memcpy(to, source->next, n);
  source->next += n;
  source->left -= n;
}

struct PngReader {
  PngReader() {
    png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &failure, OnError, OnWarning);
    if (png != nullptr) info = png_create_info_struct(png);
  }
  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }
  PngReader(const PngReader&) = delete;

  Failure failure;
  png_structp png = nullptr;
  png_infop info = nullptr;
};

// Reads the header and sets how libpng converts the rows. Returns the number of channels that they will have.
bool Begin(PngReader& reader, PngSource* source, int wanted, int bits, int* channels, int* passes, bool* widen) {
  png_structp png = reader.png;
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_read_fn(png, source, ReadBytes);
  png_read_info(png, reader.info);
  const int color = png_get_color_type(png, reader.info), depth = png_get_bit_depth(png, reader.info);
  const bool transparent = png_get_valid(png, reader.info, PNG_INFO_tRNS) != 0;
  const bool alpha = (color & PNG_COLOR_MASK_ALPHA) != 0, gray = (color & PNG_COLOR_MASK_COLOR) == 0;
  *channels = wanted;
  if (wanted == 0) {
    *channels = color == PNG_COLOR_TYPE_PALETTE ? (transparent ? 4 : 3) : png_get_channels(png, reader.info);
  }
  if (*channels % 2 == 0) {
    if (!alpha && transparent) png_set_tRNS_to_alpha(png);
    if (!alpha && !transparent) png_set_add_alpha(png, (1u << depth) - 1, PNG_FILLER_AFTER);
  } else if (alpha || transparent) {
    png_set_strip_alpha(png);
  }
  if (depth > 8 && bits == 8) png_set_strip_16(png);
  *widen = depth <= 8 && bits == 16;
  png_set_packing(png);
  *passes = png_set_interlace_handling(png);
  if (bits == 16) png_set_swap(png);
  if (color == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
  if (gray && depth < 8) png_set_expand_gray_1_2_4_to_8(png);
  if (*channels >= 3 && gray) png_set_gray_to_rgb(png);
  if (*channels < 3 && !gray) png_set_rgb_to_gray(png, 1, 0.299, 0.587);
  png_read_update_info(png, reader.info);
  return true;
}

bool ReadRows(PngReader& reader, int passes, uint8_t* rows, int64_t height, size_t stride) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  for (int pass = 0; pass < passes; ++pass) {
    for (int64_t y = 0; y < height; ++y) png_read_row(reader.png, rows + y * stride, nullptr);
  }
  png_read_end(reader.png, reader.info);
  return true;
}

void AppendBytes(png_structp png, png_bytep from, png_size_t n) {
  static_cast<std::string*>(png_get_io_ptr(png))->append(reinterpret_cast<const char*>(from), n);
}
void Flush(png_structp) {}

struct PngWriter {
  PngWriter() {
    png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &failure, OnError, OnWarning);
    if (png != nullptr) info = png_create_info_struct(png);
  }
  ~PngWriter() { png_destroy_write_struct(&png, &info); }
  PngWriter(const PngWriter&) = delete;

  Failure failure;
  png_structp png = nullptr;
  png_infop info = nullptr;
};

bool WritePng(PngWriter& writer, const uint8_t* rows, int64_t height, int64_t width, int channels, int bits,
              int compression, std::string* out) {
  constexpr int kColors[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                             PNG_COLOR_TYPE_RGB_ALPHA};
  png_structp png = writer.png;
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_write_fn(png, out, AppendBytes, Flush);
  png_set_compression_level(png, compression);
  png_set_compression_mem_level(png, 9);
  png_set_IHDR(png, writer.info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height), bits,
               kColors[channels - 1], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, writer.info);
  if (bits == 16) png_set_swap(png);
  const int64_t stride = width * channels * (bits / 8);
  for (int64_t y = 0; y < height; ++y) png_write_row(png, rows + y * stride);
  png_write_end(png, nullptr);
  return true;
}

}  // namespace

absl::StatusOr<Pixels> DecodePng(absl::string_view contents, int channels, int bits) {
  PngReader reader;
  if (reader.info == nullptr) return errors::ResourceExhausted("No memory to decode a PNG");
  PngSource source{contents.data(), contents.size()};
  int depth = 0, passes = 1;
  bool widen = false;
  if (!Begin(reader, &source, channels, bits, &depth, &passes, &widen)) {
    return errors::InvalidArgument("Invalid PNG. Failed to initialize decoder. ", reader.failure.message);
  }
  Pixels pixels;
  const int64_t width = png_get_image_width(reader.png, reader.info);
  RETURN_IF_ERROR(pixels.Allocate("PNG", 1, png_get_image_height(reader.png, reader.info), width, depth, bits));
  const size_t stride = width * depth * (bits / 8);
  if (png_get_rowbytes(reader.png, reader.info) > stride) {
    return errors::InvalidArgument("Invalid PNG data, size ", contents.size());
  }
  if (!ReadRows(reader, passes, pixels.bytes.data(), pixels.height, stride)) {
    return errors::InvalidArgument("Invalid PNG data, size ", contents.size(), ": ", reader.failure.message);
  }
  for (int64_t y = 0; widen && y < pixels.height; ++y) {
    // From the end, as the narrow values lie in the row's first half.
    uint8_t* const narrow = pixels.bytes.data() + y * stride;
    auto* const wide = reinterpret_cast<uint16_t*>(narrow);
    for (int64_t i = width * depth - 1; i >= 0; --i) wide[i] = static_cast<uint16_t>(narrow[i] * 257);
  }
  return pixels;
}

absl::StatusOr<std::string> EncodePng(const void* pixels, int64_t height, int64_t width, int channels, int bits,
                                      int compression) {
  constexpr int64_t kMaxSide = 1 << 24;
  if (height <= 0 || width <= 0 || height > kMaxSide || width > kMaxSide || channels < 1 || channels > 4 ||
      height * width > Pixels::kMaxBytes / channels * 2) {
    return errors::InvalidArgument("An image of ", height, " x ", width, " x ", channels, " cannot be encoded as PNG");
  }
  PngWriter writer;
  if (writer.info == nullptr) return errors::ResourceExhausted("No memory to encode a PNG");
  std::string out;
  if (!WritePng(writer, static_cast<const uint8_t*>(pixels), height, width, channels, bits, compression, &out)) {
    return errors::Internal("PNG encoding failed: ", writer.failure.message);
  }
  return out;
}

}  // namespace weir
