// Compiled for the oldest CPU of the architecture (core/CMakeLists.txt), because it runs before any check.
#include "core/device/cpu_info.h"

#include <cstddef>

#ifdef __x86_64__
#include <cpuid.h>
#endif

namespace weir {
namespace {

constexpr const char* kNames[] = {"SSE4.2", "AVX",         "F16C",        "BMI2",        "AVX2",     "FMA",
                                  "AVX512", "AVX512-VNNI", "AVX512-BF16", "AVX512-FP16", "AMX-INT8", "AMX-BF16"};

#ifdef __x86_64__

struct Registers {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers CpuId(unsigned leaf, unsigned subleaf) {
  Registers r;
  // False where the CPU has no such leaf; the registers then stay zero.
  __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
  return r;
}

// The register sets that the operating system saves on a context switch (XCR0).
uint64_t SavedState() {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

constexpr bool HasAll(uint64_t value, uint64_t bits) { return (value & bits) == bits; }
constexpr uint64_t Bit(int i) { return uint64_t{1} << i; }

constexpr uint64_t kYmmState = Bit(1) | Bit(2);
constexpr uint64_t kZmmState = kYmmState | Bit(5) | Bit(6) | Bit(7);
constexpr uint64_t kTileState = Bit(17) | Bit(18);

#endif

}  // namespace

#ifdef __x86_64__

CpuFeatures DetectCpuFeatures() {
  const Registers basic = CpuId(1, 0);
  const Registers wide = CpuId(7, 0);
  const Registers newer = wide.eax >= 1 ? CpuId(7, 1) : Registers{};
  CpuFeatures found = 0;
  auto add = [&found](bool present, CpuFeatures feature) { found |= present ? feature : 0; };
  add(basic.ecx & Bit(20), kCpuSse42);
  add(wide.ebx & Bit(8), kCpuBmi2);
  if (!(basic.ecx & Bit(27))) return found;  // no xgetbv: the system saves no wide registers

  const uint64_t saved = SavedState();
  if (HasAll(saved, kYmmState)) {
    add(basic.ecx & Bit(28), kCpuAvx);
    add(basic.ecx & Bit(29), kCpuF16c);
    add(basic.ecx & Bit(12), kCpuFma);
    add(wide.ebx & Bit(5), kCpuAvx2);
  }
  if (HasAll(saved, kZmmState) && HasAll(wide.ebx, Bit(16) | Bit(17) | Bit(28) | Bit(30) | Bit(31))) {
    found |= kCpuAvx512;
    add(wide.ecx & Bit(11), kCpuAvx512Vnni);
    add(newer.eax & Bit(5), kCpuAvx512Bf16);
    add(wide.edx & Bit(23), kCpuAvx512Fp16);
  }
  if (HasAll(saved, kTileState) && (wide.edx & Bit(24))) {
    add(wide.edx & Bit(25), kCpuAmxInt8);
    add(wide.edx & Bit(22), kCpuAmxBf16);
  }
  return found;
}

#else

CpuFeatures DetectCpuFeatures() { return 0; }

#endif

std::string CpuFeatureNames(CpuFeatures features) {
  std::string names;
  for (size_t i = 0; i < sizeof(kNames) / sizeof(kNames[0]); ++i) {
    if (!(features >> i & 1)) continue;
    if (!names.empty()) names += ' ';
    names += kNames[i];
  }
  return names;
}

absl::Status CheckCpuBaseline(CpuFeatures required, CpuFeatures present) {
  const CpuFeatures missing = required & ~present;
  if (missing == 0) return absl::OkStatus();
  std::string message = "this CPU lacks ";
  message += CpuFeatureNames(missing);
  message += ", which this build of Weir needs; build it for this CPU with cmake -DWEIR_MARCH=x86-64";
  return absl::FailedPreconditionError(message);
}

}  // namespace weir
