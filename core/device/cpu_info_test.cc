#include "core/device/cpu_info.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(CpuInfoTest, DetectsWhatThisTestWasCompiledFor) {
  EXPECT_EQ(kCompiledCpuFeatures & ~DetectCpuFeatures(), 0u);
  EXPECT_TRUE(CheckCpuBaseline().ok());
}

#ifdef __x86_64__
TEST(CpuInfoTest, AgreesWithTheCompilersRuntime) {
  __builtin_cpu_init();
  const CpuFeatures found = DetectCpuFeatures();
  EXPECT_EQ((found & kCpuAvx2) != 0, __builtin_cpu_supports("avx2") != 0);
  EXPECT_EQ((found & kCpuFma) != 0, __builtin_cpu_supports("fma") != 0);
  EXPECT_EQ((found & kCpuBmi2) != 0, __builtin_cpu_supports("bmi2") != 0);
  EXPECT_EQ((found & kCpuAvx512) != 0, __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                                           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                                           __builtin_cpu_supports("avx512vl"));
  EXPECT_EQ((found & kCpuAvx512Bf16) != 0, __builtin_cpu_supports("avx512bf16") != 0);
}
#endif

TEST(CpuInfoTest, MissingFeaturesAreNamed) {
  const absl::Status status = CheckCpuBaseline(kCpuSse42 | kCpuAvx2 | kCpuFma, kCpuSse42);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("AVX2 FMA"));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("SSE4.2")));
}

TEST(CpuInfoTest, EachFeatureHasAName) {
  EXPECT_EQ(CpuFeatureNames(0), "");
  EXPECT_EQ(CpuFeatureNames(kCpuAvx512 | kCpuAmxBf16), "AVX512 AMX-BF16");
}

}  // namespace
}  // namespace weir
