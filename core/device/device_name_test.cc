#include "core/device/device_name.h"

#include "gtest/gtest.h"

namespace weir {
namespace {

DeviceName Name(absl::string_view text) {
  auto name = DeviceName::Parse(text);
  EXPECT_TRUE(name.ok()) << name.status();
  return name.value_or(DeviceName());
}

TEST(DeviceNameTest, ParsesEveryForm) {
  const std::string full = "/job:worker/replica:0/task:3/device:GPU:1";
  EXPECT_EQ(Name(full).ToString(), full);
  EXPECT_EQ(Name("/device:GPU:1/task:3/replica:0/job:worker").ToString(), full);
  EXPECT_EQ(Name("/job:worker/replica:0/task:3/gpu:1").ToString(), full);
  EXPECT_EQ(Name("/job:ps/task:1/cpu:0").ToString(), "/job:ps/task:1/device:CPU:0");
  EXPECT_EQ(Name("/CPU:*").ToString(), "/device:CPU:*");
  EXPECT_EQ(Name("/device:GPU").ToString(), "/device:GPU:*");
  EXPECT_EQ(Name("/device:gpu:2").type, "GPU");
  EXPECT_EQ(Name("/job:*/replica:*/task:*/device:*:*"), DeviceName());
  EXPECT_EQ(Name(""), DeviceName());
  EXPECT_EQ(Name("/"), DeviceName());
}

TEST(DeviceNameTest, QuotesAMalformedName) {
  for (const char* bad :
       {"job:a", "/job:", "/job:1a", "/task:x", "/task:-1", "/device:CPU:", "/device:", "/job:a/job:b", "/job:a/",
        "/replica:99999999999", "/cpu:0/gpu:0", "//", "/tpu:0", "/job:a b"}) {
    auto name = DeviceName::Parse(bad);
    EXPECT_EQ(name.status().code(), absl::StatusCode::kInvalidArgument) << bad;
    EXPECT_NE(name.status().message().find(absl::StrCat("'", bad, "'")), absl::string_view::npos) << name.status();
  }
}

TEST(DeviceNameTest, ParseFullWantsEveryPart) {
  EXPECT_TRUE(DeviceName::ParseFull("/job:a/replica:0/task:0/device:CPU:0").ok());
  EXPECT_FALSE(DeviceName::ParseFull("/job:a/task:0/device:CPU:0").ok());
  EXPECT_FALSE(DeviceName::ParseFull("/job:a/replica:0/task:0/device:CPU:*").ok());
}

TEST(DeviceNameTest, MatchesItsSpecifications) {
  const DeviceName name = Name("/job:ps/replica:0/task:1/device:CPU:0");
  EXPECT_TRUE(name.Matches(DeviceName()));
  EXPECT_TRUE(name.Matches(Name("/job:ps/device:CPU:*")));
  EXPECT_FALSE(name.Matches(Name("/job:worker")));
  EXPECT_FALSE(Name("/job:ps").Matches(name));
  EXPECT_TRUE(Name("/job:ps").IsCompatibleWith(name));
  EXPECT_FALSE(Name("/device:GPU:0").IsCompatibleWith(name));
}

TEST(DeviceNameTest, InnerScopesOverrideOuterOnes) {
  EXPECT_EQ(Name("/job:ps/task:0").OverriddenBy(Name("/task:2/gpu:1")).ToString(), "/job:ps/task:2/device:GPU:1");
}

TEST(DeviceNameTest, MergesUnlessPartsClash) {
  auto merged = Name("/job:ps/device:GPU:0").MergedWith(Name("/task:1"));
  ASSERT_TRUE(merged.ok());
  EXPECT_EQ(merged->ToString(), "/job:ps/task:1/device:GPU:0");
  EXPECT_EQ(Name("/job:ps").MergedWith(Name("/job:worker"), true).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(Name("/gpu:0").MergedWith(Name("/cpu:0")).ok());
  EXPECT_EQ(Name("/job:a/gpu:0").MergedWith(Name("/cpu:0"), true)->ToString(), "/job:a");
  EXPECT_EQ(Name("/job:a/gpu:0").MergedWith(Name("/gpu:1"), true)->ToString(), "/job:a/device:GPU:*");
}

TEST(DeviceNameTest, NamesTheTask) {
  const DeviceName name = Name("/job:ps/replica:0/task:1/device:CPU:0");
  EXPECT_EQ(name.TaskName(), "/job:ps/replica:0/task:1");
  EXPECT_TRUE(name.SameTask(Name("/job:ps/replica:0/task:1")));
}

}  // namespace
}  // namespace weir
