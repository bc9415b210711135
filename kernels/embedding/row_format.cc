#include "kernels/embedding/row_format.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/tensor/numeric_types.h"
#include "kernels/random/philox.h"

namespace weir {
namespace {

constexpr float kMostInt8 = 127;
// Below this, the scale would lose bits; such rows are zero.
constexpr float kSmallest = 1e-34f;

int64_t ValueBytes(DataType dtype, int64_t width) {
  if (dtype == DT_BFLOAT16) return 2 * width;
  if (dtype == DT_INT8) return width + int64_t{sizeof(float)};
  return width * int64_t{sizeof(float)};
}

constexpr int64_t RoundUp(int64_t bytes, int64_t unit) { return (bytes + unit - 1) / unit * unit; }

constexpr uint32_t Low(uint64_t x) { return static_cast<uint32_t>(x); }
constexpr uint32_t High(uint64_t x) { return static_cast<uint32_t>(x >> 32); }

// Uniform words, each used once. The key differs from that of initial values.
class RandomWords {
 public:
  RandomWords(uint64_t seed, uint64_t key, uint64_t version)
      : stream_({Low(version << kGroupBits), High(version << kGroupBits), Low(key), High(key)},
                {Low(seed) ^ 0x7F4A7C15u, High(seed) ^ 0x9E3779B9u}) {}

  uint32_t Next() {
    if (used_ == 4) {
      words_ = stream_.Next();
      used_ = 0;
    }
    return words_[used_++];
  }

 private:
  static constexpr int kGroupBits = 14;  // groups of four for the widest row

  Philox stream_;
  Philox::Group words_ = {};
  int used_ = 4;
};

uint16_t NearestBits(float value) { return std::bit_cast<uint16_t>(static_cast<bfloat16>(value)); }

// Cuts off 16 bits after adding a random number below their range: up with the probability of the part cut off.
uint16_t RandomBits16(float value, uint32_t word) {
  if (!std::isfinite(value)) return NearestBits(value);
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t raised = bits + (word >> 16);
  // The largest numbers stay finite.
  const bool overflows = (raised & 0x7F800000u) == 0x7F800000u;
  return static_cast<uint16_t>((overflows ? bits : raised) >> 16);
}

// The scale by which the largest number is 127, with 16 bits: products with int8 numbers, and their quotients, are then
// exact. 0 for a row of zeros, NaN for one that has a number that is not finite.
float ScaleOf(const float* values, int64_t n) {
  float most = 0;
  bool finite = true;
  for (int64_t i = 0; i < n; ++i) {
    finite = finite && std::isfinite(values[i]);
    most = std::max(most, std::abs(values[i]));
  }
  if (!finite) return std::numeric_limits<float>::quiet_NaN();
  if (most < kSmallest) return 0;
  // Rounded down, so that 127 times the scale is not beyond the largest float.
  return std::bit_cast<float>(std::bit_cast<uint32_t>(most / kMostInt8) & ~0xFFu);
}

template <typename Round>
void WriteInt8(const float* values, int64_t n, char* row, Round&& round) {
  const float scale = ScaleOf(values, n);
  std::memcpy(row, &scale, sizeof(scale));
  auto* const to = reinterpret_cast<int8_t*>(row + sizeof(scale));
  if (!(scale > 0)) {
    std::memset(to, 0, n);
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    const float quotient = values[i] / scale;
    // The largest number is always 127, so that the scale of what is read again is the same.
    const float rounded = std::abs(quotient) > kMostInt8 - 0.01f ? std::nearbyint(quotient) : round(quotient);
    to[i] = static_cast<int8_t>(std::clamp(rounded, -kMostInt8, kMostInt8));
  }
}

}  // namespace

RowFormat::RowFormat(const EmbeddingOptions& options)
    : dtype_(options.value_dtype),
      seed_(static_cast<uint64_t>(options.seed)),
      width_(options.width),
      value_bytes_(ValueBytes(dtype_, width_)),
      slot_offset_(RoundUp(value_bytes_, sizeof(float))),
      slot_floats_(width_ * options.slots()),
      bytes_(slot_offset_ + slot_floats_ * int64_t{sizeof(float)}) {}

void RowFormat::Read(const char* row, float* values) const {
  if (dtype_ == DT_FLOAT) {
    std::memcpy(values, row, value_bytes_);
  } else if (dtype_ == DT_BFLOAT16) {
    const auto* const from = reinterpret_cast<const uint16_t*>(row);
    for (int64_t i = 0; i < width_; ++i) values[i] = std::bit_cast<float>(uint32_t{from[i]} << 16);
  } else {
    float scale;
    std::memcpy(&scale, row, sizeof(scale));
    const auto* const from = reinterpret_cast<const int8_t*>(row + sizeof(scale));
    for (int64_t i = 0; i < width_; ++i) values[i] = scale * from[i];
  }
}

void RowFormat::Write(const float* values, int64_t key, uint64_t version, char* row) const {
  if (dtype_ == DT_FLOAT) {
    std::memcpy(row, values, value_bytes_);
    return;
  }
  RandomWords words(seed_, static_cast<uint64_t>(key), version);
  if (dtype_ == DT_BFLOAT16) {
    auto* const to = reinterpret_cast<uint16_t*>(row);
    for (int64_t i = 0; i < width_; ++i) to[i] = RandomBits16(values[i], words.Next());
  } else {
    WriteInt8(values, width_, row, [&words](float q) {
      const float low = std::floor(q);
      return UniformFloat(words.Next()) < q - low ? low + 1 : low;  // a whole number stays
    });
  }
}

void RowFormat::WriteNearest(const float* values, char* row) const {
  if (dtype_ == DT_FLOAT) {
    std::memcpy(row, values, value_bytes_);
  } else if (dtype_ == DT_BFLOAT16) {
    auto* const to = reinterpret_cast<uint16_t*>(row);
    for (int64_t i = 0; i < width_; ++i) to[i] = NearestBits(values[i]);
  } else {
    WriteInt8(values, width_, row, [](float q) { return std::nearbyint(q); });
  }
}

}  // namespace weir
