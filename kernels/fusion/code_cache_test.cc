#include "kernels/fusion/code_cache.h"

#include "core/testing.h"

namespace weir {
namespace {

using testing::HasSubstr;

constexpr char kCompiler[] = "NVRTC 13.0 sm_90";
constexpr char kSource[] = "void weir_fused() {\n}\n";

class CodeCacheTest : public testing::Test {
 protected:
  void Write(const std::string& content) {
    EXPECT_THAT(files_->CreateDir("codes"), IsOk());
    EXPECT_THAT(WriteStringToFile(files_.get(), cache_.PathOf(kCompiler, kSource), content), IsOk());
  }

  std::shared_ptr<FileSystem> files_ = NewMemoryFileSystem();
  CodeCache cache_{files_, "codes"};
  const std::string code_ = std::string(
      "\x7f"
      "ELF\0\n\n binary",
      15);
};

TEST_F(CodeCacheTest, KeepsCodeBySourceAndCompiler) {
  EXPECT_EQ(cache_.Find(kCompiler, kSource), std::nullopt);
  ASSERT_THAT(cache_.Add(kCompiler, kSource, code_), IsOk());
  EXPECT_EQ(CodeCache(files_, "codes").Find(kCompiler, kSource), code_);
  EXPECT_EQ(cache_.Find("NVRTC 13.1 sm_90", kSource), std::nullopt);
  EXPECT_EQ(cache_.Find(kCompiler, "another"), std::nullopt);
}

TEST_F(CodeCacheTest, LeavesNothingBesideItsFile) {
  ASSERT_THAT(cache_.Add(kCompiler, kSource, code_), IsOk());
  ASSERT_THAT(cache_.Add(kCompiler, kSource, code_), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> names, files_->List("codes"));
  EXPECT_EQ(names.size(), 1);
}

TEST_F(CodeCacheTest, EveryDamageIsFoundAndMended) {
  const std::string whole = FormatCode(kCompiler, kSource, code_);
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x20);
    EXPECT_THAT(ParseCode(damaged, kCompiler, kSource), StatusIs(absl::StatusCode::kDataLoss)) << i;
    EXPECT_THAT(ParseCode(whole.substr(0, i), kCompiler, kSource), StatusIs(absl::StatusCode::kDataLoss)) << i;
  }
  Write("nonsense");
  EXPECT_EQ(cache_.Find(kCompiler, kSource), std::nullopt);
  ASSERT_THAT(cache_.Add(kCompiler, kSource, code_), IsOk());
  EXPECT_EQ(cache_.Find(kCompiler, kSource), code_);
}

TEST_F(CodeCacheTest, AFileOfAnotherKernelIsNotTaken) {
  Write(FormatCode(kCompiler, "another", code_));
  EXPECT_EQ(cache_.Find(kCompiler, kSource), std::nullopt);
  EXPECT_THAT(ParseCode(FormatCode("another", kSource, code_), kCompiler, kSource),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("another compiler: another")));
}

}  // namespace
}  // namespace weir
