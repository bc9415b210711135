#include "graph/placement/cluster_costs.h"

#include "core/testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

TEST(ClusterCostsTest, DevicesAreParsed) {
  ASSERT_OK_AND_ASSIGN(
      const std::vector<DeviceCosts> devices,
      ParseDeviceCosts("/job:worker/task:0/device:CPU:0=gflops:50,gbs:20,memory:4g; # the first\n"
                       "/job:ps/replica:0/task:1/cpu:0 = gflops:1.5, gbs:2, kernels:3, overhead_us:7"));
  ASSERT_EQ(devices.size(), 2);
  EXPECT_EQ(devices[0].name.ToString(), "/job:worker/replica:0/task:0/device:CPU:0");
  EXPECT_DOUBLE_EQ(devices[0].flops_per_second, 50e9);
  EXPECT_DOUBLE_EQ(devices[0].bytes_per_second, 20e9);
  EXPECT_EQ(devices[0].memory_bytes, int64_t{4} << 30);
  EXPECT_EQ(devices[0].kernels_at_once, 1);
  EXPECT_EQ(devices[1].kernels_at_once, 3);
  EXPECT_DOUBLE_EQ(devices[1].seconds_per_kernel, 7e-6);
}

TEST(ClusterCostsTest, WrongDevicesAreQuoted) {
  const auto error = [](const char* text) { return ParseDeviceCosts(text).status(); };
  EXPECT_THAT(error(""), StatusIs(kInvalid, HasSubstr("there is none")));
  EXPECT_THAT(error("/device:CPU:0=gflops:1,gbs:1"), StatusIs(kInvalid, HasSubstr("full name")));
  EXPECT_THAT(error("/job:a/task:0/cpu:0=gflops:1"), StatusIs(kInvalid, HasSubstr("gflops and gbs are required")));
  EXPECT_THAT(error("/job:a/task:0/cpu:0=gflops:x,gbs:1"), StatusIs(kInvalid, HasSubstr("not \"x\"")));
  EXPECT_THAT(error("/job:a/task:0/cpu:0=gflops:-1,gbs:1"), StatusIs(kInvalid, HasSubstr("positive")));
  EXPECT_THAT(error("/job:a/task:0/cpu:0=speed:1"), StatusIs(kInvalid, HasSubstr("no property \"speed\"")));
  EXPECT_THAT(error("/job:a/task:0/cpu:0=gflops:1,gbs:1,memory:9e9t"), StatusIs(kInvalid, HasSubstr("too large")));
  EXPECT_THAT(error("/job:a/task:0/cpu:0=gflops:1,gbs:1,kernels:0"), StatusIs(kInvalid, HasSubstr("1 to 1024")));
  EXPECT_THAT(error("/job:a/task:0/cpu:0=gflops:1,gbs:1;/job:a/task:0/device:CPU:0=gflops:1,gbs:1"),
              StatusIs(kInvalid, HasSubstr("twice")));
}

TEST(ClusterCostsTest, LinksAreParsed) {
  ASSERT_OK_AND_ASSIGN(const TransferCost link, ParseTransferCost("latency_us=150, gbs=2"));
  EXPECT_DOUBLE_EQ(link.latency, 150e-6);
  EXPECT_DOUBLE_EQ(link.seconds_per_byte, 0.5e-9);
  EXPECT_THAT(ParseTransferCost("gbs=2"), StatusIs(kInvalid, HasSubstr("lacks latency_us or gbs")));
  EXPECT_THAT(ParseTransferCost("speed=2"), StatusIs(kInvalid, HasSubstr("\"speed=2\"")));
  EXPECT_THAT(ParseTransferCost("latency_us=nan,gbs=2"), StatusIs(kInvalid));
}

}  // namespace
}  // namespace weir
