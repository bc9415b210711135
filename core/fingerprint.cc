#include "core/fingerprint.h"

#include <cstring>
#include <utility>

namespace weir {
namespace {

constexpr uint64_t kA = 0xc3a5c85c97cb3127u, kB = 0xb492b66fbe98f273u, kC = 0x9ae16a3b2f90404fu;
constexpr uint64_t kMurmur = 0xc6a4a7935bd1e995u;

uint64_t Load64(const char* p) {
  uint64_t value;
  std::memcpy(&value, p, sizeof value);
  return value;
}
uint64_t Load32(const char* p) {
  uint32_t value;
  std::memcpy(&value, p, sizeof value);
  return value;
}
uint64_t RotateRight(uint64_t x, int n) { return x >> n | x << (64 - n); }
uint64_t RotateLeft(uint64_t x, int n) { return x << n | x >> (64 - n); }
uint64_t Fold(uint64_t x) { return x ^ (x >> 47); }

// Hashes 128 bits to 64.
uint64_t Mix(uint64_t low, uint64_t high, uint64_t multiplier) {
  const uint64_t a = Fold((low ^ high) * multiplier);
  return Fold((high ^ a) * multiplier) * multiplier;
}

uint64_t FarmUpTo16(const char* s, size_t n) {
  const uint64_t multiplier = kC + 2 * n;
  if (n >= 8) {
    const uint64_t a = Load64(s) + kC, b = Load64(s + n - 8);
    return Mix(RotateRight(b, 37) * multiplier + a, (RotateRight(a, 25) + b) * multiplier, multiplier);
  }
  if (n >= 4) return Mix(n + (Load32(s) << 3), Load32(s + n - 4), multiplier);
  if (n == 0) return kC;
  const auto byte = [s](size_t i) { return static_cast<uint32_t>(static_cast<uint8_t>(s[i])); };
  const uint32_t y = byte(0) + (byte(n / 2) << 8), z = static_cast<uint32_t>(n) + (byte(n - 1) << 2);
  return Fold(y * kC ^ z * kA) * kC;
}

uint64_t Farm17To32(const char* s, size_t n) {
  const uint64_t multiplier = kC + 2 * n;
  const uint64_t a = Load64(s) * kB, b = Load64(s + 8);
  const uint64_t c = Load64(s + n - 8) * multiplier, d = Load64(s + n - 16) * kC;
  return Mix(RotateRight(a + b, 43) + RotateRight(c, 30) + d, a + RotateRight(b + kC, 18) + c, multiplier);
}

uint64_t Farm33To64(const char* s, size_t n) {
  const uint64_t multiplier = kC + 2 * n;
  const uint64_t a = Load64(s) * kC, b = Load64(s + 8);
  const uint64_t c = Load64(s + n - 8) * multiplier, d = Load64(s + n - 16) * kC;
  const uint64_t y = RotateRight(a + b, 43) + RotateRight(c, 30) + d;
  const uint64_t z = Mix(y, a + RotateRight(b + kC, 18) + c, multiplier);
  const uint64_t e = Load64(s + 16) * multiplier, f = Load64(s + 24);
  const uint64_t g = (y + Load64(s + n - 32)) * multiplier, h = (z + Load64(s + n - 24)) * multiplier;
  return Mix(RotateRight(e + f, 43) + RotateRight(g, 30) + h, e + RotateRight(f + a, 18) + g, multiplier);
}

using Pair = std::pair<uint64_t, uint64_t>;

// Hashes 32 bytes into two numbers.
Pair Absorb(const char* s, uint64_t a, uint64_t b) {
  const uint64_t first = Load64(s), second = Load64(s + 8), third = Load64(s + 16), last = Load64(s + 24);
  a += first;
  b = RotateRight(b + a + last, 21);
  const uint64_t start = a;
  a += second + third;
  b += RotateRight(a, 44);
  return {a + last, b + start};
}

uint64_t FarmLong(const char* s, size_t n) {
  constexpr uint64_t kSeed = 81;
  uint64_t x = kSeed * kC + Load64(s), y = kSeed * kB + 113, z = Fold(y * kC + 113) * kC;
  Pair v{0, 0}, w{0, 0};
  const char* const end = s + (n - 1) / 64 * 64;       // of the full blocks
  const char* const tail = end + ((n - 1) & 63) - 63;  // the last 64 bytes
  const auto block = [&](const char* p, uint64_t multiplier, bool last) {
    x = RotateRight(x + y + v.first + Load64(p + 8), 37) * multiplier;
    y = RotateRight(y + v.second + Load64(p + 48), 42) * multiplier;
    x ^= last ? w.second * 9 : w.second;
    y += last ? v.first * 9 + Load64(p + 40) : v.first + Load64(p + 40);
    z = RotateRight(z + w.first, 33) * multiplier;
    v = Absorb(p, v.second * multiplier, x + w.first);
    w = Absorb(p + 32, z + w.second, y + Load64(p + 16));
    std::swap(z, x);
  };
  for (const char* p = s; p != end; p += 64) block(p, kB, false);
  const uint64_t multiplier = kB + ((z & 0xff) << 1);
  w.first += (n - 1) & 63;
  v.first += w.first;
  w.first += v.first;
  block(tail, multiplier, true);
  return Mix(Mix(v.first, w.first, multiplier) + Fold(y) * kA + z, Mix(v.second, w.second, multiplier) + x, multiplier);
}

}  // namespace

uint64_t Fingerprint64(absl::string_view text) {
  if (text.size() <= 16) return FarmUpTo16(text.data(), text.size());
  if (text.size() <= 32) return Farm17To32(text.data(), text.size());
  if (text.size() <= 64) return Farm33To64(text.data(), text.size());
  return FarmLong(text.data(), text.size());
}

uint64_t FingerprintCat64(uint64_t first, uint64_t second) {
  uint64_t result = (first ^ kMurmur) ^ Fold(second * kMurmur) * kMurmur;
  result *= kMurmur;
  return Fold(Fold(result) * kMurmur);
}

uint64_t Hash64(absl::string_view text, uint64_t seed) {
  uint64_t hash = seed ^ (text.size() * kMurmur);
  const char* p = text.data();
  size_t left = text.size();
  for (; left >= 8; left -= 8, p += 8) {
    hash ^= Fold(Load64(p) * kMurmur) * kMurmur;
    hash *= kMurmur;
  }
  if (left > 0) {
    uint64_t rest = 0;
    std::memcpy(&rest, p, left);
    hash = (hash ^ rest) * kMurmur;
  }
  return Fold(Fold(hash) * kMurmur);
}

uint64_t StrongKeyedHash(const uint64_t key[2], absl::string_view text) {
  uint64_t a = 0x736f6d6570736575u ^ key[0], b = 0x646f72616e646f6du ^ key[1];
  uint64_t c = 0x6c7967656e657261u ^ key[0], d = 0x7465646279746573u ^ key[1];
  const auto round = [&] {
    a += b;
    c += d;
    b = RotateLeft(b, 13) ^ a;
    d = RotateLeft(d, 16) ^ c;
    a = RotateLeft(a, 32) + d;
    c += b;
    d = RotateLeft(d, 21) ^ a;
    b = RotateLeft(b, 17) ^ c;
    c = RotateLeft(c, 32);
  };
  const auto absorb = [&](uint64_t word) {
    d ^= word;
    round();
    round();
    a ^= word;
  };
  const char* p = text.data();
  size_t left = text.size();
  for (; left >= 8; left -= 8, p += 8) absorb(Load64(p));
  uint64_t last = 0;
  if (left > 0) std::memcpy(&last, p, left);
  absorb(last | static_cast<uint64_t>(text.size()) << 56);
  c ^= 0xff;
  for (int i = 0; i < 4; ++i) round();
  return a ^ b ^ c ^ d;
}

}  // namespace weir
