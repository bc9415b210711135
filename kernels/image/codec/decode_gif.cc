// GIF87a and GIF89a: colour tables, and indices into them under LZW with codes of growing width.
#include <algorithm>
#include <array>
#include <vector>

#include "kernels/image/codec/simple_formats.h"

namespace weir {
namespace {

using Color = std::array<uint8_t, 3>;

// Bytes one after the other; reading beyond the end fails.
class Bytes {
 public:
  explicit Bytes(absl::string_view data) : data_(data) {}
  bool Read(size_t n, absl::string_view* out) {
    if (n > data_.size() - at_) return false;
    *out = data_.substr(at_, n);
    at_ += n;
    return true;
  }
  bool Byte(int* out) {
    if (at_ >= data_.size()) return false;
    *out = static_cast<uint8_t>(data_[at_++]);
    return true;
  }
  bool Word(int64_t* out) {
    int low, high;
    if (!Byte(&low) || !Byte(&high)) return false;
    *out = low | high << 8;
    return true;
  }
  // Blocks, each behind its length, up to an empty one.
  bool Blocks(std::string* out) {
    for (;;) {
      int n;
      absl::string_view block;
      if (!Byte(&n)) return false;
      if (n == 0) return true;
      if (!Read(n, &block)) return false;
      if (out != nullptr) out->append(block.data(), block.size());
    }
  }
  bool Colors(int flags, std::vector<Color>* out) {
    absl::string_view table;
    const size_t n = size_t{2} << (flags & 7);
    if (!Read(3 * n, &table)) return false;
    out->resize(n);
    for (size_t i = 0; i < 3 * n; ++i) (*out)[i / 3][i % 3] = static_cast<uint8_t>(table[i]);
    return true;
  }

 private:
  const absl::string_view data_;
  size_t at_ = 0;
};

// Fills `out`; false where the codes end too early or are wrong.
bool Decompress(absl::string_view data, int code_bits, std::vector<uint8_t>* out) {
  constexpr int kMaxCodes = 4096;
  if (code_bits < 1 || code_bits > 8) return false;
  const int clear = 1 << code_bits, end = clear + 1;
  std::vector<uint16_t> prefix(kMaxCodes);
  std::vector<uint8_t> last(kMaxCodes), stack;
  int next = end + 1, width = code_bits + 1, before = -1, first = 0;
  uint32_t bits = 0;
  int held = 0;
  size_t done = 0;
  for (size_t at = 0; done < out->size();) {
    while (held < width && at < data.size()) {
      bits |= static_cast<uint32_t>(static_cast<uint8_t>(data[at++])) << held;
      held += 8;
    }
    if (held < width) return false;
    int code = static_cast<int>(bits & ((1u << width) - 1));
    bits >>= width;
    held -= width;
    if (code == end) return false;
    if (code == clear) {
      next = end + 1;
      width = code_bits + 1;
      before = -1;
      continue;
    }
    const int own = code;
    if (code > next || (before < 0 && code >= clear)) return false;
    stack.clear();
    if (code == next) {
      stack.push_back(static_cast<uint8_t>(first));
      code = before;
    }
    for (; code > end; code = prefix[code]) stack.push_back(last[code]);
    if (code >= clear) return false;
    first = code;
    stack.push_back(static_cast<uint8_t>(code));
    for (auto value = stack.rbegin(); value != stack.rend() && done < out->size(); ++value) (*out)[done++] = *value;
    if (before >= 0 && next < kMaxCodes) {
      prefix[next] = static_cast<uint16_t>(before);
      last[next++] = static_cast<uint8_t>(first);
      if (next == 1 << width && width < 12) ++width;
    }
    before = own;
  }
  return true;
}

struct Frame {
  int64_t left = 0, top = 0, width = 0, height = 0;
  int transparent = -1;
  std::vector<Color> colors;
  std::vector<uint8_t> indices;
};

// Rows of an interlaced image come in four passes.
void Deinterlace(Frame* frame) {
  constexpr int kStart[] = {0, 4, 2, 1}, kStep[] = {8, 8, 4, 2};
  std::vector<uint8_t> rows(frame->indices.size());
  int64_t from = 0;
  for (int pass = 0; pass < 4; ++pass) {
    for (int64_t y = kStart[pass]; y < frame->height; y += kStep[pass], ++from) {
      std::copy_n(frame->indices.begin() + from * frame->width, frame->width, rows.begin() + y * frame->width);
    }
  }
  frame->indices = std::move(rows);
}

class Decoder {
 public:
  explicit Decoder(absl::string_view contents) : size_(contents.size()), bytes_(contents) {}

  absl::Status ReadFrames(bool all) {
    absl::string_view signature;
    int64_t width, height;
    int flags, background, aspect;
    if (!bytes_.Read(6, &signature) || !bytes_.Word(&width) || !bytes_.Word(&height) || !bytes_.Byte(&flags) ||
        !bytes_.Byte(&background) || !bytes_.Byte(&aspect) || ((flags & 0x80) && !bytes_.Colors(flags, &colors_))) {
      return errors::InvalidArgument("Invalid GIF data (size ", size_,
                                     "), failed to open gif file: No screen descriptor detected");
    }
    // What is whole is shown even if the rest is not there.
    int kind = 0;
    bool good = true;
    while (good && (all || frames_.empty()) && (good = bytes_.Byte(&kind)) && kind != ';') {
      good = kind == '!' ? Extension() : kind == ',' && Image();
      if (pixels_ > Pixels::kMaxBytes) return errors::InvalidArgument("Image too large: GIF of ", pixels_, " pixels");
    }
    if (frames_.empty() && !good) {
      return errors::InvalidArgument("Invalid GIF data (size ", size_,
                                     "), failed to slurp gif file: Failed to read from given file");
    }
    if (frames_.empty()) return errors::InvalidArgument("gif file does not contain any image");
    return absl::OkStatus();
  }

  absl::StatusOr<Pixels> Draw() const {
    int64_t width = 0, height = 0;
    for (const Frame& frame : frames_) {
      width = std::max(width, frame.width);
      height = std::max(height, frame.height);
    }
    Pixels pixels;
    RETURN_IF_ERROR(pixels.Allocate("GIF", static_cast<int64_t>(frames_.size()), height, width, 3, 8));
    const int64_t size = height * width * 3;
    for (size_t k = 0; k < frames_.size(); ++k) {
      const Frame& frame = frames_[k];
      uint8_t* const canvas = pixels.bytes.data() + static_cast<int64_t>(k) * size;
      if (k > 0) std::copy_n(canvas - size, size, canvas);
      if (frame.colors.empty()) return errors::InvalidArgument("missing color map for frame ", k);
      for (int64_t y = 0; y < std::min(frame.height, height - frame.top); ++y) {
        for (int64_t x = 0; x < std::min(frame.width, width - frame.left); ++x) {
          const int index = frame.indices[y * frame.width + x];
          if (index == frame.transparent) continue;
          if (index >= static_cast<int>(frame.colors.size())) {
            return errors::InvalidArgument("found color index ", index, " outside of color map range ",
                                           frame.colors.size());
          }
          std::copy_n(frame.colors[index].data(), 3, canvas + ((y + frame.top) * width + x + frame.left) * 3);
        }
      }
    }
    return pixels;
  }

 private:
  bool Extension() {
    constexpr int kGraphicControl = 0xf9;
    int label;
    std::string data;
    if (!bytes_.Byte(&label) || !bytes_.Blocks(&data)) return false;
    if (label == kGraphicControl && data.size() >= 4) {
      transparent_ = (data[0] & 1) != 0 ? static_cast<uint8_t>(data[3]) : -1;
    }
    return true;
  }
  bool Image() {
    Frame frame;
    int flags, code_bits;
    std::string data;
    if (!bytes_.Word(&frame.left) || !bytes_.Word(&frame.top) || !bytes_.Word(&frame.width) ||
        !bytes_.Word(&frame.height) || !bytes_.Byte(&flags)) {
      return false;
    }
    if (frame.width == 0 || frame.height == 0) return false;
    frame.colors = colors_;
    if ((flags & 0x80) && !bytes_.Colors(flags, &frame.colors)) return false;
    if (!bytes_.Byte(&code_bits) || !bytes_.Blocks(&data)) return false;
    pixels_ += frame.width * frame.height;
    if (pixels_ > Pixels::kMaxBytes) return false;
    frame.indices.resize(frame.width * frame.height);
    if (!Decompress(data, code_bits, &frame.indices)) return false;
    if ((flags & 0x40) != 0) Deinterlace(&frame);
    frame.transparent = std::exchange(transparent_, -1);
    frames_.push_back(std::move(frame));
    return true;
  }

  const size_t size_;
  Bytes bytes_;
  std::vector<Color> colors_;
  std::vector<Frame> frames_;
  int transparent_ = -1;  // of the next frame
  int64_t pixels_ = 0;
};

}  // namespace

absl::StatusOr<Pixels> DecodeGif(absl::string_view contents, bool all_frames) {
  Decoder decoder(contents);
  RETURN_IF_ERROR(decoder.ReadFrames(all_frames));
  return decoder.Draw();
}

}  // namespace weir
