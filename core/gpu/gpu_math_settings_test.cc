#include "core/gpu/gpu_math_settings.h"

#include <map>

#include "core/testing.h"

namespace weir {
namespace {

absl::StatusOr<GpuMathSettings> Of(const std::map<std::string, std::string>& variables) {
  return GpuMathSettings::FromEnvironment([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(GpuMathSettingsTest, AreTensorFlowsWhereNothingIsSet) {
  ASSERT_OK_AND_ASSIGN(const GpuMathSettings settings, Of({}));
  EXPECT_TRUE(settings.autotune);
  EXPECT_FALSE(settings.deterministic);
  EXPECT_FALSE(settings.allow_tf32);
  EXPECT_EQ(settings.workspace_limit, size_t{4} << 30);
  EXPECT_EQ(settings.plan_cache, "");
}

TEST(GpuMathSettingsTest, AreReadAsTensorFlowReadsThem) {
  ASSERT_OK_AND_ASSIGN(const GpuMathSettings settings, Of({{"TF_CUDNN_USE_AUTOTUNE", "False"},
                                                           {"TF_CUDNN_WORKSPACE_LIMIT_IN_MB", "16"},
                                                           {"TF_DETERMINISTIC_OPS", "1"},
                                                           {"NVIDIA_TF32_OVERRIDE", "1"},
                                                           {"WEIR_GPU_PLAN_CACHE", "/var/cache/weir"}}));
  EXPECT_FALSE(settings.autotune);
  EXPECT_TRUE(settings.deterministic);
  EXPECT_TRUE(settings.allow_tf32);
  EXPECT_EQ(settings.workspace_limit, size_t{16} << 20);
  EXPECT_EQ(settings.plan_cache, "/var/cache/weir");
  ASSERT_OK_AND_ASSIGN(const GpuMathSettings other, Of({{"TF_CUDNN_DETERMINISTIC", "true"}}));
  EXPECT_TRUE(other.deterministic);
}

TEST(GpuMathSettingsTest, ValuesThatAreNoneAreQuoted) {
  EXPECT_THAT(Of({{"TF_CUDNN_USE_AUTOTUNE", "yes"}}),
              StatusIs(absl::StatusCode::kInvalidArgument, testing::HasSubstr("TF_CUDNN_USE_AUTOTUNE is 'yes'")));
  for (const char* megabytes : {"many", "-1", "99999999999999"}) {
    EXPECT_THAT(Of({{"TF_CUDNN_WORKSPACE_LIMIT_IN_MB", megabytes}}),
                StatusIs(absl::StatusCode::kInvalidArgument, testing::HasSubstr(megabytes)));
  }
}

}  // namespace
}  // namespace weir
