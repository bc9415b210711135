// NVRTC compiles what is generated, for GPUs of several generations; no GPU is needed.
#include "core/testing.h"
#include "kernels/fusion/fused_source.h"
#include "kernels/fusion/nvrtc_compiler.h"

namespace weir {
namespace {

using testing::HasSubstr;
using testing::Not;
using Access = FusedPattern::Access;

class NvrtcTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    auto compiler = NvrtcCompiler::Create(GetParam());
    if (absl::IsUnavailable(compiler.status())) GTEST_SKIP() << compiler.status().message();
    ASSERT_THAT(compiler, IsOk());
    compiler_.emplace(*std::move(compiler));
  }

  void Begin(DataTypeVector inputs) { expression_ = {.inputs = std::move(inputs)}; }
  int Add(const std::string& text) {
    DataTypeVector values = expression_.inputs;
    for (const FusedStep& step : expression_.steps) values.push_back(step.type);
    absl::StatusOr<FusedStep> step = ParseFusedStep(text, values);
    EXPECT_THAT(step, IsOk()) << text;
    expression_.steps.push_back(*std::move(step));
    expression_.outputs = {expression_.num_values() - 1};
    return expression_.outputs[0];
  }
  FusedPattern Dense() const {
    return {.accesses = std::vector<Access>(expression_.inputs.size() + expression_.outputs.size(), Access::kDense),
            .missing = std::vector<unsigned>(expression_.outputs.size(), 0)};
  }
  void Compiles(const FusedPattern& pattern) {
    const std::string source = SourceOfFused(expression_, pattern);
    const absl::StatusOr<std::string> code = compiler_->Compile(source);
    ASSERT_THAT(code, IsOk()) << source;
    EXPECT_THAT(*code, HasSubstr(kFusedKernelName));
  }

  std::optional<NvrtcCompiler> compiler_;
  FusedExpression expression_;
};

TEST_P(NvrtcTest, EveryOpOfEveryType) {
  for (const DataType type : {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT64, DT_BOOL}) {
    Begin({type, type});
    int last = 0;
    const auto ops = ScalarOps();
    for (size_t i = 0; i < ops.size(); ++i) {
      if (!ops[i].Takes(type)) continue;
      int value = Add(absl::StrCat(
          ops[i].name, ops[i].operands == 1 ? absl::StrCat("(", last, ")") : absl::StrCat("(1, ", last, ")")));
      if (ops[i].gives_bool && type != DT_BOOL) value = Add(absl::StrCat("SelectV2(", value, ", 0, ", last, ")"));
      last = value;
      if (expression_.steps.size() < FusedExpression::kMostSteps - 1 && i + 1 < ops.size()) continue;
      Compiles(Dense());
      Begin({type, type});
      last = 0;
    }
    if (!expression_.steps.empty()) Compiles(Dense());
  }
}

TEST_P(NvrtcTest, EveryCast) {
  constexpr DataType kTypes[] = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT32, DT_INT64, DT_BOOL};
  for (const DataType from : kTypes) {
    Begin({from});
    std::vector<int> outputs;
    for (const DataType to : kTypes) {
      if (to != from) outputs.push_back(Add(absl::StrCat("Cast:", DataTypeName(to), "(0)")));
    }
    expression_.outputs.assign(outputs.begin(), outputs.begin() + 3);
    Compiles(Dense());
    expression_.outputs.assign(outputs.begin() + 3, outputs.end());
    Compiles(Dense());
  }
}

TEST_P(NvrtcTest, EveryPattern) {
  Begin({DT_FLOAT, DT_HALF, DT_BOOL});
  Add("Cast:half(0)");
  Add("BiasAdd:NCHW(3, 1)");
  Add("SelectV2(2, 4, 3)");
  Add("AddN(3, 4, 5)");
  expression_.outputs = {6, 4};
  FusedPattern pattern = Dense();
  for (const bool wide : {false, true}) {
    pattern.wide = wide;
    for (int rank = 1; rank <= kMaxFusedRank; ++rank) {
      pattern.rank = rank;
      pattern.accesses = {Access::kDense, Access::kBroadcast, Access::kScalar, Access::kDense, Access::kBroadcast};
      pattern.missing = {0, (1U << rank) - 1};
      Compiles(pattern);
    }
  }
}

TEST_P(NvrtcTest, EveryReduction) {
  for (const DataType type : {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT64}) {
    for (const char* op : {"Sum", "Mean", "Max", "Min"}) {
      if (!FoldTakes(op, type)) continue;
      Begin({type});
      Add("Neg(0)");
      expression_.fold = op;
      FusedPattern pattern = Dense();
      pattern.folds = true;
      Compiles(pattern);
    }
  }
}

// Steps do not melt into one another: the bits are those of single kernels.
TEST_P(NvrtcTest, NothingIsContracted) {
  Begin({DT_FLOAT, DT_FLOAT, DT_FLOAT});
  Add("Mul(0, 1)");
  Add("Add(3, 2)");
  Add("TanhGrad(4, 0)");
  ASSERT_OK_AND_ASSIGN(const std::string ptx, compiler_->CompileToPtx(SourceOfFused(expression_, Dense())));
  EXPECT_THAT(ptx, Not(HasSubstr("fma")));
  EXPECT_THAT(ptx, HasSubstr("mul.rn.f32"));
  EXPECT_THAT(ptx, HasSubstr("add.rn.f32"));
}

TEST_P(NvrtcTest, SourceThatIsNoneIsToldWithTheCompilersWords) {
  EXPECT_THAT(compiler_->Compile("no source"),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("NVRTC: a fused kernel: weir_fused.cu(1): error")));
}

INSTANTIATE_TEST_SUITE_P(Cuda, NvrtcTest, testing::Values(75, 80, 90, 100),
                         [](const auto& info) { return absl::StrCat("Sm", info.param); });

TEST(NvrtcCompilerTest, NewerDevicesGetPtx) {
  const auto compiler = NvrtcCompiler::Create(999);
  if (absl::IsUnavailable(compiler.status())) GTEST_SKIP() << compiler.status().message();
  EXPECT_THAT(compiler->identity(), HasSubstr("compute_"));
  const auto code = compiler->Compile("extern \"C\" __global__ void weir_fused() {}");
  ASSERT_THAT(code, IsOk());
  EXPECT_THAT(*code, HasSubstr(".entry weir_fused"));
}

}  // namespace
}  // namespace weir
