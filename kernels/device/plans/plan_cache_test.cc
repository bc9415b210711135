#include "kernels/device/plans/plan_cache.h"

#include <thread>

#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"

namespace weir {
namespace {

constexpr char kIdentity[] = "H100, sm_90, driver 13000, cudnn 9.19.0";

CachedPlan Plan(int64_t engine) {
  return {.channels_first = engine % 2 == 0,
          .recipe = {.engine = engine, .knobs = {{2, 1}, {13, 64}}},
          .elapsed = absl::Microseconds(engine + 1)};
}

class PlanCacheTest : public testing::Test {
 protected:
  std::unique_ptr<PlanCache> Open(const std::string& identity = kIdentity) {
    return std::make_unique<PlanCache>(files_, directory_, identity);
  }
  // The file with `content`; the cache that reads it.
  std::unique_ptr<PlanCache> OpenWith(const std::string& content) {
    const std::string path = Open()->path();
    EXPECT_THAT(files_->CreateDir(directory_), IsOk());
    EXPECT_THAT(WriteStringToFile(files_.get(), path, content), IsOk());
    return Open();
  }
  std::shared_ptr<FileSystem> files_ = NewMemoryFileSystem();
  std::string directory_ = "plans";
};

TEST_F(PlanCacheTest, KeepsPlansFromProcessToProcess) {
  const auto cache = Open();
  EXPECT_EQ(cache->Find("a problem"), std::nullopt);
  cache->Add("a problem", Plan(7));
  cache->Add("another", {.recipe = {.engine = 0}});
  cache->Add("one without", CachedPlan::None());
  ASSERT_THAT(cache->Save(), IsOk());
  const auto again = Open();
  EXPECT_EQ(again->Find("a problem"), Plan(7));
  EXPECT_EQ(again->Find("another"), (CachedPlan{.recipe = {.engine = 0}}));
  ASSERT_TRUE(again->Find("one without").has_value());
  EXPECT_TRUE(again->Find("one without")->IsNone());
}

TEST_F(PlanCacheTest, EachIdentityHasItsFile) {
  const auto cache = Open();
  cache->Add("a problem", Plan(7));
  ASSERT_THAT(cache->Save(), IsOk());
  EXPECT_EQ(Open("H100, sm_90, driver 13000, cudnn 9.20.0")->Find("a problem"), std::nullopt);
}

TEST_F(PlanCacheTest, ProcessesThatShareAFileKeepWhatEachAdds) {
  const auto first = Open(), second = Open();
  first->Add("one", Plan(1));
  second->Add("two", Plan(2));
  ASSERT_THAT(first->Save(), IsOk());
  ASSERT_THAT(second->Save(), IsOk());
  const auto all = Open();
  EXPECT_EQ(all->Find("one"), Plan(1));
  EXPECT_EQ(all->Find("two"), Plan(2));
}

// Two devices of a kind, or two processes, learn the same shapes at the same time.
TEST_F(PlanCacheTest, WhoSavesAtTheSameMomentLeavesAWholeFile) {
  const auto save_often = [this](int64_t engine) {
    const auto cache = Open();
    for (int i = 0; i < 50; ++i) {
      cache->Add(absl::StrCat("problem ", engine, " ", i), Plan(engine));
      ASSERT_THAT(cache->Save(), IsOk());
      ASSERT_OK_AND_ASSIGN(const std::string text, ReadFileToString(files_.get(), cache->path(), 1 << 20));
      ASSERT_THAT(ParsePlans(text, kIdentity), IsOk());
    }
  };
  const ScratchDirectory scratch;
  files_ = NewPosixFileSystem();
  directory_ = JoinPath(scratch.path(), "plans");
  std::thread other([&] { save_often(1); });
  save_often(2);
  other.join();
  EXPECT_THAT(*files_->List(directory_), testing::SizeIs(1));
}

TEST_F(PlanCacheTest, ADamagedFileIsLeftOutAndReplaced) {
  const std::string whole = FormatPlans(kIdentity, {{"a problem", Plan(7)}});
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string flipped = whole;
    flipped[at] ^= 1;
    EXPECT_FALSE(ParsePlans(flipped, kIdentity).ok()) << at;
    EXPECT_FALSE(ParsePlans(whole.substr(0, at), kIdentity).ok()) << at;
  }
  const auto cache = OpenWith(whole.substr(0, whole.size() / 2));
  EXPECT_EQ(cache->Find("a problem"), std::nullopt);
  cache->Add("a problem", Plan(8));
  ASSERT_THAT(cache->Save(), IsOk());
  EXPECT_EQ(Open()->Find("a problem"), Plan(8));
}

TEST_F(PlanCacheTest, WhatHasTheRightChecksumMayStillBeNoPlan) {
  for (const char* engine : {"x 1=2", "-1 1=2", "1 2", "1 2=3=4", "1 a=b"}) {
    const std::string line = absl::StrCat("a problem\tnhwc\t", engine, "\t5");
    // As if the line were the identity: the checksum of all is right.
    const std::string forged = FormatPlans(absl::StrCat(kIdentity, "\n", line), {});
    EXPECT_THAT(ParsePlans(forged, kIdentity), StatusIs(absl::StatusCode::kDataLoss)) << engine;
  }
  EXPECT_THAT(ParsePlans(FormatPlans("other", {}), kIdentity),
              StatusIs(absl::StatusCode::kFailedPrecondition, testing::HasSubstr("'other'")));
}

}  // namespace
}  // namespace weir
