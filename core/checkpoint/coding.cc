#include "core/checkpoint/coding.h"

#include <bit>
#include <cstring>
#include <limits>

namespace weir::coding {

static_assert(std::endian::native == std::endian::little, "files are little endian");

void PutFixed32(std::string* out, uint32_t value) { out->append(reinterpret_cast<const char*>(&value), sizeof(value)); }

uint32_t DecodeFixed32(const char* data) {
  uint32_t value;
  std::memcpy(&value, data, sizeof(value));
  return value;
}

uint64_t DecodeFixed64(const char* data) {
  uint64_t value;
  std::memcpy(&value, data, sizeof(value));
  return value;
}

void PutVarint(std::string* out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}

bool GetVarint64(absl::string_view* in, uint64_t* value) {
  *value = 0;
  for (int shift = 0; shift < 64 && !in->empty(); shift += 7) {
    const uint64_t byte = static_cast<unsigned char>(in->front());
    in->remove_prefix(1);
    if (shift == 63 && byte > 1) return false;
    *value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

bool GetVarint32(absl::string_view* in, uint32_t* value) {
  uint64_t wide = 0;
  if (!GetVarint64(in, &wide) || wide > std::numeric_limits<uint32_t>::max()) return false;
  *value = static_cast<uint32_t>(wide);
  return true;
}

// The number of significant bytes, then those bytes, most significant first.
void PutOrderedNumber(std::string* out, uint64_t value) {
  const int bytes = (std::bit_width(value) + 7) / 8;
  out->push_back(static_cast<char>(bytes));
  for (int i = bytes - 1; i >= 0; --i) out->push_back(static_cast<char>(value >> (8 * i)));
}

// Two's complement, most significant byte first, in as few bytes as possible. The sign bit is inverted and repeated
// once for each further byte, so that longer values sort further from zero.
void PutOrderedSignedNumber(std::string* out, int64_t value) {
  const uint64_t magnitude = value < 0 ? ~value : value;
  const int bits = std::bit_width(magnitude);
  const int length = bits < 7 ? 1 : (bits + 7) / 7;  // each byte gives up one bit to the header
  const unsigned char sign = value < 0 ? 0xff : 0x00;
  unsigned char bytes[10];
  for (int i = 0; i < 10; ++i) bytes[9 - i] = i < 8 ? static_cast<unsigned char>(value >> (8 * i)) : sign;
  unsigned char* begin = bytes + 10 - length;
  constexpr unsigned char kHeaders[11][2] = {{0, 0},    {0x80, 0}, {0xc0, 0}, {0xe0, 0},    {0xf0, 0},   {0xf8, 0},
                                             {0xfc, 0}, {0xfe, 0}, {0xff, 0}, {0xff, 0x80}, {0xff, 0xc0}};
  begin[0] ^= kHeaders[length][0];
  if (length > 1) begin[1] ^= kHeaders[length][1];
  out->append(reinterpret_cast<const char*>(begin), length);
}

// Zero and 255 are escaped, so that the terminator 0 1 sorts before any continuation.
void PutOrderedString(std::string* out, absl::string_view value) {
  for (char c : value) {
    out->push_back(c);
    if (c == '\0') out->push_back('\xff');
    if (c == '\xff') out->push_back('\0');
  }
  out->push_back('\0');
  out->push_back('\1');
}

}  // namespace weir::coding
