#include "kernels/fusion/fused_codes.h"

#include "core/testing.h"

namespace weir {
namespace {

// Code is the source behind "code of "; what was loaded is that text.
class FakeCompiler : public KernelCompiler {
 public:
  const std::string& identity() const override { return identity_; }
  absl::StatusOr<std::string> Compile(const std::string& source) override {
    ++compiles;
    if (source == "bad") return errors::Internal("line 1: no");
    return absl::StrCat("code of ", source);
  }
  absl::StatusOr<std::shared_ptr<const void>> Load(const std::string& code) override {
    if (code == "stale") return errors::DataLoss("no kernel image");
    return std::make_shared<const std::string>(code);
  }

  int compiles = 0;

 private:
  const std::string identity_ = "fake";
};

class FusedCodesTest : public testing::Test {
 protected:
  std::string Find(FusedCodes& codes, const std::string& source, bool may_compile = true) {
    const std::shared_ptr<const void> found = codes.Find(source, may_compile);
    return found == nullptr ? "" : *static_cast<const std::string*>(found.get());
  }

  std::shared_ptr<FileSystem> files_ = NewMemoryFileSystem();
  std::shared_ptr<CodeCache> cache_ = std::make_shared<CodeCache>(files_, "codes");
  std::shared_ptr<FakeCompiler> compiler_ = std::make_shared<FakeCompiler>();
};

TEST_F(FusedCodesTest, CompilesEachSourceOnce) {
  FusedCodes codes(compiler_, nullptr);
  EXPECT_EQ(Find(codes, "a"), "code of a");
  EXPECT_EQ(Find(codes, "a"), "code of a");
  EXPECT_EQ(Find(codes, "b"), "code of b");
  EXPECT_EQ(compiler_->compiles, 2);
}

TEST_F(FusedCodesTest, CompilesNothingWhereThatMustNotBe) {
  FusedCodes codes(compiler_, cache_);
  EXPECT_EQ(Find(codes, "a", false), "");
  EXPECT_EQ(compiler_->compiles, 0);
  EXPECT_EQ(Find(codes, "a"), "code of a");
  EXPECT_EQ(Find(codes, "a", false), "code of a");
}

TEST_F(FusedCodesTest, WhatFailedIsNotTriedAgain) {
  FusedCodes codes(compiler_, cache_);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Find(codes, "bad"), "");
  EXPECT_EQ(compiler_->compiles, 1);
  EXPECT_EQ(cache_->Find("fake", "bad"), std::nullopt);
}

TEST_F(FusedCodesTest, WithoutCompilerThereIsNone) {
  FusedCodes codes(nullptr, nullptr);
  EXPECT_EQ(Find(codes, "a"), "");
  EXPECT_THAT(codes.DebugString(), testing::HasSubstr("by nobody"));
}

TEST_F(FusedCodesTest, CodeIsKeptFromProcessToProcess) {
  {
    FusedCodes codes(compiler_, cache_);
    Find(codes, "a");
  }
  FusedCodes again(compiler_, cache_);
  EXPECT_EQ(Find(again, "a"), "code of a");
  EXPECT_EQ(compiler_->compiles, 1);
  EXPECT_EQ(again.stats().compiled, 0);
}

TEST_F(FusedCodesTest, KeptCodeThatCannotBeLoadedIsReplaced) {
  ASSERT_THAT(cache_->Add("fake", "a", "stale"), IsOk());
  FusedCodes codes(compiler_, cache_);
  EXPECT_EQ(Find(codes, "a"), "code of a");
  EXPECT_EQ(cache_->Find("fake", "a"), "code of a");
}

TEST_F(FusedCodesTest, TheOldestAreForgotten) {
  FusedCodes codes(compiler_, nullptr);
  const std::shared_ptr<const void> held = codes.Find("0", true);
  for (size_t i = 1; i <= FusedCodes::kMostKernels; ++i) codes.Find(absl::StrCat(i), true);
  EXPECT_EQ(Find(codes, "0", false), "");
  EXPECT_EQ(*static_cast<const std::string*>(held.get()), "code of 0");
  EXPECT_EQ(Find(codes, "1", false), "code of 1");
}

}  // namespace
}  // namespace weir
