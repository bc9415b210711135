#include "core/checkpoint/crc32c.h"

#include <array>
#include <cstring>

#if defined(__SSE4_2__)
#include <nmmintrin.h>
#endif

namespace weir::crc32c {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // reflected

using ByteTable = std::array<uint32_t, 256>;

constexpr ByteTable MakeByteTable() {
  ByteTable table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? kPolynomial : 0);
    table[i] = crc;
  }
  return table;
}

constexpr std::array<ByteTable, 8> MakeSliceTables() {
  std::array<ByteTable, 8> tables{};
  tables[0] = MakeByteTable();
  for (int k = 1; k < 8; ++k) {
    for (int i = 0; i < 256; ++i) tables[k][i] = (tables[k - 1][i] >> 8) ^ tables[0][tables[k - 1][i] & 0xff];
  }
  return tables;
}
constexpr std::array<ByteTable, 8> kSlices = MakeSliceTables();

// Multiplies polynomials modulo kPolynomial; the coefficient of x^0 is the highest bit.
constexpr uint32_t Multiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (; a != 0; a <<= 1) {
    if (a & 0x80000000u) product ^= b;
    b = (b >> 1) ^ ((b & 1) ? kPolynomial : 0);
  }
  return product;
}

// x^(8 * size): multiplying a checksum by it appends `size` zero bytes.
constexpr uint32_t ZeroBytes(uint64_t size) {
  uint32_t power = 0x80000000u;   // 1
  uint32_t square = 0x00800000u;  // x^8
  for (; size != 0; size >>= 1) {
    if (size & 1) power = Multiply(power, square);
    square = Multiply(square, square);
  }
  return power;
}

// Appends a fixed number of zero bytes with four table look-ups.
class Shift {
 public:
  constexpr explicit Shift(uint64_t size) {
    const uint32_t factor = ZeroBytes(size);
    for (int byte = 0; byte < 4; ++byte) {
      for (uint32_t i = 0; i < 256; ++i) tables_[byte][i] = Multiply(i << (8 * byte), factor);
    }
  }
  uint32_t operator()(uint32_t crc) const {
    return tables_[0][crc & 0xff] ^ tables_[1][(crc >> 8) & 0xff] ^ tables_[2][(crc >> 16) & 0xff] ^
           tables_[3][crc >> 24];
  }

 private:
  std::array<ByteTable, 4> tables_{};
};

uint64_t Load64(const unsigned char* p) {
  uint64_t word;
  std::memcpy(&word, p, sizeof(word));
  return word;
}

#if defined(__SSE4_2__)

// Three streams of this many bytes each: the instruction takes three cycles but starts one every cycle.
constexpr size_t kLongStream = 4096;
constexpr size_t kShortStream = 256;
const constinit Shift kLongShift(kLongStream);
const constinit Shift kShortShift(kShortStream);

uint64_t ExtendThreeStreams(uint64_t crc0, const unsigned char* p, size_t stream, const Shift& shift) {
  uint64_t crc1 = 0, crc2 = 0;
  for (const unsigned char* end = p + stream; p < end; p += 8) {
    crc0 = _mm_crc32_u64(crc0, Load64(p));
    crc1 = _mm_crc32_u64(crc1, Load64(p + stream));
    crc2 = _mm_crc32_u64(crc2, Load64(p + 2 * stream));
  }
  return shift(shift(static_cast<uint32_t>(crc0)) ^ static_cast<uint32_t>(crc1)) ^ crc2;
}

uint32_t ExtendHardware(uint32_t crc, const unsigned char* p, size_t size) {
  uint64_t state = crc ^ 0xffffffffu;
  for (; size >= 3 * kLongStream; p += 3 * kLongStream, size -= 3 * kLongStream) {
    state = ExtendThreeStreams(state, p, kLongStream, kLongShift);
  }
  for (; size >= 3 * kShortStream; p += 3 * kShortStream, size -= 3 * kShortStream) {
    state = ExtendThreeStreams(state, p, kShortStream, kShortShift);
  }
  for (; size >= 8; p += 8, size -= 8) state = _mm_crc32_u64(state, Load64(p));
  for (; size > 0; ++p, --size) state = _mm_crc32_u8(static_cast<uint32_t>(state), *p);
  return static_cast<uint32_t>(state) ^ 0xffffffffu;
}

#endif

}  // namespace

uint32_t ExtendPortable(uint32_t crc, const void* data, size_t size) {
  const unsigned char* p = static_cast<const unsigned char*>(data);
  uint32_t state = crc ^ 0xffffffffu;
  for (; size >= 8; p += 8, size -= 8) {
    const uint64_t word = Load64(p) ^ state;
    uint32_t next = 0;
    for (int byte = 0; byte < 8; ++byte) next ^= kSlices[7 - byte][(word >> (8 * byte)) & 0xff];
    state = next;
  }
  for (; size > 0; ++p, --size) state = (state >> 8) ^ kSlices[0][(state ^ *p) & 0xff];
  return state ^ 0xffffffffu;
}

uint32_t Extend(uint32_t crc, const void* data, size_t size) {
#if defined(__SSE4_2__)
  return ExtendHardware(crc, static_cast<const unsigned char*>(data), size);
#else
  return ExtendPortable(crc, data, size);
#endif
}

uint32_t Combine(uint32_t crc_a, uint32_t crc_b, uint64_t size_b) { return Multiply(crc_a, ZeroBytes(size_b)) ^ crc_b; }

}  // namespace weir::crc32c
