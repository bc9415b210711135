#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "core/api.h"

namespace WEIR_API weir {

// Instruction sets that code paths are selected by; a bit mask.
using CpuFeatures = uint32_t;
constexpr CpuFeatures kCpuSse42 = 1u << 0;
constexpr CpuFeatures kCpuAvx = 1u << 1;
constexpr CpuFeatures kCpuF16c = 1u << 2;
constexpr CpuFeatures kCpuBmi2 = 1u << 3;
constexpr CpuFeatures kCpuAvx2 = 1u << 4;
constexpr CpuFeatures kCpuFma = 1u << 5;
constexpr CpuFeatures kCpuAvx512 = 1u << 6;  // F, BW, CD, DQ and VL: the level x86-64-v4
constexpr CpuFeatures kCpuAvx512Vnni = 1u << 7;
constexpr CpuFeatures kCpuAvx512Bf16 = 1u << 8;
constexpr CpuFeatures kCpuAvx512Fp16 = 1u << 9;
constexpr CpuFeatures kCpuAmxInt8 = 1u << 10;
constexpr CpuFeatures kCpuAmxBf16 = 1u << 11;

// The features that the including file was compiled for; it cannot run without them.
constexpr CpuFeatures kCompiledCpuFeatures = 0
#ifdef __SSE4_2__
                                             | kCpuSse42
#endif
#ifdef __AVX__
                                             | kCpuAvx
#endif
#ifdef __F16C__
                                             | kCpuF16c
#endif
#ifdef __BMI2__
                                             | kCpuBmi2
#endif
#ifdef __AVX2__
                                             | kCpuAvx2
#endif
#ifdef __FMA__
                                             | kCpuFma
#endif
#ifdef __AVX512VL__
                                             | kCpuAvx512
#endif
#ifdef __AVX512VNNI__
                                             | kCpuAvx512Vnni
#endif
#ifdef __AVX512BF16__
                                             | kCpuAvx512Bf16
#endif
#ifdef __AVX512FP16__
                                             | kCpuAvx512Fp16
#endif
    ;

// The features of this CPU that its operating system enables.
CpuFeatures DetectCpuFeatures();

// "AVX2 FMA AVX512", in the order above; empty for none.
std::string CpuFeatureNames(CpuFeatures features);

// main() calls this first: an older CPU then gets an error message instead of SIGILL. FAILED_PRECONDITION lists the
// features that `present` lacks.
absl::Status CheckCpuBaseline(CpuFeatures required = kCompiledCpuFeatures, CpuFeatures present = DetectCpuFeatures());

}  // namespace weir
