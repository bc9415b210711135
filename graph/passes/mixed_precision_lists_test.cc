#include "graph/passes/mixed_precision_lists.h"

#include <map>

#include "core/testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

constexpr char kPrefix[] = "TF_AUTO_MIXED_PRECISION_GRAPH_REWRITE_";

absl::StatusOr<MixedPrecisionSettings> Read(const std::map<std::string, std::string>& variables) {
  return MixedPrecisionSettings::FromEnvironment([&](const std::string& name) {
    const auto it = variables.find(name.substr(sizeof(kPrefix) - 1));
    return it == variables.end() ? "" : it->second;
  });
}

MixedPrecisionLists Lists(MixedPrecisionMode mode, const std::map<std::string, std::string>& variables = {}) {
  return MixedPrecisionLists::Make(mode, Read(variables).value()).value();
}

TEST(MixedPrecisionLists, DifferByType) {
  const MixedPrecisionLists half = Lists(MixedPrecisionMode::kFloat16OnGpu),
                            brain = Lists(MixedPrecisionMode::kBfloat16OnCpu);
  EXPECT_TRUE(half.allow.contains("MatMul") && brain.allow.contains("MatMul"));
  EXPECT_TRUE(half.deny.contains("Mean"));
  EXPECT_TRUE(brain.infer.contains("Mean"));
  EXPECT_TRUE(half.allow.contains("LSTMBlockCell"));
  EXPECT_FALSE(brain.allow.contains("LSTMBlockCell"));
}

TEST(MixedPrecisionLists, TheEnvironmentChangesThem) {
  const MixedPrecisionLists lists =
      Lists(MixedPrecisionMode::kFloat16OnGpu,
            {{"DENYLIST_REMOVE", "Mean, Sum"}, {"INFERLIST_ADD", "Mean"}, {"WHITELIST_ADD", "A,B"}});
  EXPECT_TRUE(lists.infer.contains("Mean"));
  EXPECT_FALSE(lists.deny.contains("Mean") || lists.deny.contains("Sum"));
  EXPECT_TRUE(lists.allow.contains("A") && lists.allow.contains("B"));
}

TEST(MixedPrecisionLists, LevelsMoveWholeLists) {
  const MixedPrecisionLists strict = Lists(MixedPrecisionMode::kBfloat16OnCpu, {{"LEVEL", "treat_infer_as_deny"}});
  EXPECT_TRUE(strict.deny.contains("Tanh"));
  EXPECT_TRUE(strict.infer.empty());
  const std::map<std::string, std::string> cores = {{"LEVEL", "TENSOR_CORES_ONLY"}};
  EXPECT_TRUE(Lists(MixedPrecisionMode::kFloat16OnGpu, cores).clear.empty());
  EXPECT_FALSE(Lists(MixedPrecisionMode::kBfloat16OnCpu, cores).clear.empty());
}

TEST(MixedPrecisionLists, MayBeMeantForOneTypeAlone) {
  const auto settings = Read({{"ALLOWLIST_ADD", "Sum"}, {"INFERLIST_REMOVE", "Sum"}});
  ASSERT_THAT(settings, IsOk());
  EXPECT_THAT(MixedPrecisionLists::Make(MixedPrecisionMode::kBfloat16OnCpu, *settings), IsOk());
  EXPECT_THAT(MixedPrecisionLists::Make(MixedPrecisionMode::kFloat16OnCpu, *settings).status().message(),
              HasSubstr("op 'Sum' is on two of the lists"));
}

TEST(MixedPrecisionLists, SayWhatIsWrong) {
  EXPECT_THAT(Read({{"LEVEL", "ALL"}}).status().message(), HasSubstr("LEVEL is 'ALL'"));
  EXPECT_THAT(Read({{"CLEARLIST_ADD", "MatMul"}}).status().message(), HasSubstr("op 'MatMul' is on two of the lists"));
  const MixedPrecisionSettings all = Read({{"LEVEL", "UNSAFE_FORCE_ALL"}}).value();
  EXPECT_THAT(MixedPrecisionLists::Make(MixedPrecisionMode::kBfloat16OnCpu, all).status().message(),
              HasSubstr("cannot be UNSAFE_FORCE_ALL"));
}

}  // namespace
}  // namespace weir
