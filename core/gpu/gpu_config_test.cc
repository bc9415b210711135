#include "core/gpu/gpu_config.h"

#include "core/testing.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr size_t kMiB = size_t{1} << 20;

TEST(VisibleDevicesTest, AllInOrderUnlessListed) {
  EXPECT_THAT(*ParseVisibleDevices("", 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(*ParseVisibleDevices("2,0", 3), ElementsAre(2, 0));
  EXPECT_THAT(*ParseVisibleDevices("", 0), IsEmpty());
}

TEST(VisibleDevicesTest, ErrorsAreTensorFlows) {
  const auto expect = [](const char* list, const char* message) {
    EXPECT_THAT(ParseVisibleDevices(list, 2), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  };
  expect("0,abc", "Could not parse entry in 'visible_device_list': 'abc'. visible_device_list = 0,abc");
  expect("0,", "Could not parse entry in 'visible_device_list': ''");
  expect("99999999999", "Could not parse entry");
  expect("0,8", "'visible_device_list' listed an invalid Device id '8' but visible device count is 2");
  expect("-1", "'visible_device_list' listed an invalid Device id '-1'");
  expect("0,0", "visible_device_list contained a duplicate entry: 0,0");
  expect("0,0,x", "Could not parse entry in 'visible_device_list': 'x'");
}

class ConfigureGpusTest : public testing::Test {
 protected:
  absl::StatusOr<std::vector<GpuDeviceConfig>> Configure() { return ConfigureGpus(config_, physical_); }
  std::vector<int> PhysicalIds() {
    std::vector<int> ids;
    const auto devices = Configure();
    EXPECT_THAT(devices, IsOk());
    for (const GpuDeviceConfig& device : devices.value_or(std::vector<GpuDeviceConfig>()))
      ids.push_back(device.physical_id);
    return ids;
  }
  void ExpectError(absl::StatusCode code, const char* message) {
    EXPECT_THAT(Configure(), StatusIs(code, HasSubstr(message)));
  }
  tensorflow::GPUOptions& options() { return *config_.mutable_gpu_options(); }
  tensorflow::GPUOptions::Experimental::VirtualDevices& AddVirtual(std::vector<float> limits) {
    auto* parts = options().mutable_experimental()->add_virtual_devices();
    for (float limit : limits) parts->add_memory_limit_mb(limit);
    return *parts;
  }

  tensorflow::ConfigProto config_;
  std::vector<PhysicalGpu> physical_ = std::vector<PhysicalGpu>(
      2, {.properties = {.name = "G", .pci_bus_id = "0000:00:05.0", .compute_major = 9, .compute_minor = 0},
          .memory = {.free = 10000 * kMiB, .total = 16000 * kMiB}});
};

TEST_F(ConfigureGpusTest, EachDeviceTakesWhatIsFreeButForAReserve) {
  ASSERT_OK_AND_ASSIGN(const auto devices, Configure());
  ASSERT_EQ(devices.size(), 2);
  EXPECT_EQ(devices[1].physical_id, 1);
  EXPECT_EQ(devices[0].memory_limit, (10000 - 1800) * kMiB);
  EXPECT_FALSE(devices[0].allow_growth);
}

TEST_F(ConfigureGpusTest, AFractionIsOfAllMemory) {
  options().set_per_process_gpu_memory_fraction(0.25);
  options().set_allow_growth(true);
  EXPECT_EQ(Configure()->at(0).memory_limit, 4000 * kMiB);
  EXPECT_TRUE(Configure()->at(0).allow_growth);
  EXPECT_FALSE(Configure()->at(0).unified_memory);
  options().set_per_process_gpu_memory_fraction(-1);
  ExpectError(absl::StatusCode::kInvalidArgument, "per_process_gpu_memory_fraction is -1");
}

TEST_F(ConfigureGpusTest, MoreThanThereIsIsUnifiedMemory) {
  options().set_per_process_gpu_memory_fraction(1.5);
  EXPECT_EQ(Configure()->at(0).memory_limit, 24000 * kMiB);
  EXPECT_TRUE(Configure()->at(0).unified_memory);
  options().set_per_process_gpu_memory_fraction(1e300);
  ExpectError(absl::StatusCode::kInvalidArgument, "per_process_gpu_memory_fraction is 1e+300");
  options().set_per_process_gpu_memory_fraction(0.25);
  options().mutable_experimental()->set_use_unified_memory(true);
  EXPECT_EQ(Configure()->at(0).memory_limit, 4000 * kMiB);
  EXPECT_TRUE(Configure()->at(0).unified_memory);
  const GpuProperties maxwell{.compute_major = 5, .compute_minor = 2};
  EXPECT_THAT(GpuMemoryLimit(options(), maxwell, {.free = kMiB, .total = kMiB}),
              StatusIs(absl::StatusCode::kInternal, testing::HasSubstr("pre-Pascal")));
}

TEST_F(ConfigureGpusTest, UnifiedMemoryOfVirtualDevices) {
  options().mutable_experimental()->set_use_unified_memory(true);
  options().set_visible_device_list("0");
  auto* const parts = options().mutable_experimental()->add_virtual_devices();
  parts->add_memory_limit_mb(20000);
  parts->add_memory_limit_mb(30000);
  ASSERT_OK_AND_ASSIGN(const auto devices, Configure());
  ASSERT_EQ(devices.size(), 2);
  EXPECT_EQ(devices[1].memory_limit, 30000 * kMiB);
  EXPECT_TRUE(devices[1].unified_memory);
}

TEST_F(ConfigureGpusTest, DeviceCountAndVisibleListChoose) {
  options().set_visible_device_list("1");
  EXPECT_THAT(PhysicalIds(), ElementsAre(1));
  options().set_visible_device_list("1,0");
  (*config_.mutable_device_count())["GPU"] = 1;
  EXPECT_THAT(PhysicalIds(), ElementsAre(1));
  (*config_.mutable_device_count())["GPU"] = 0;
  EXPECT_THAT(PhysicalIds(), IsEmpty());
  (*config_.mutable_device_count())["GPU"] = -3;
  EXPECT_THAT(PhysicalIds(), IsEmpty());
}

TEST_F(ConfigureGpusTest, VirtualDevicesDivideADevice) {
  AddVirtual({1000, 2000.5});
  AddVirtual({});
  ASSERT_OK_AND_ASSIGN(const auto devices, Configure());
  ASSERT_EQ(devices.size(), 3);
  EXPECT_EQ(devices[0].memory_limit, 1000 * kMiB);
  EXPECT_EQ(devices[1].memory_limit, 2000 * kMiB + kMiB / 2);
  EXPECT_EQ(devices[1].physical_id, 0);
  EXPECT_EQ(devices[2].physical_id, 1);
  EXPECT_EQ(devices[2].memory_limit, (10000 - 1800) * kMiB);
}

TEST_F(ConfigureGpusTest, VirtualDevicesErrorsAreTensorFlows) {
  AddVirtual({100});
  options().set_per_process_gpu_memory_fraction(0.1);
  ExpectError(absl::StatusCode::kInvalidArgument, "It's invalid to set per_process_gpu_memory_fraction");
  options().clear_per_process_gpu_memory_fraction();
  options().set_visible_device_list("0,1");
  ExpectError(absl::StatusCode::kInvalidArgument, "The number of GPUs in visible_device_list doesn't match");
  (*config_.mutable_device_count())["GPU"] = 0;
  ExpectError(absl::StatusCode::kUnknown, "Not enough GPUs to create virtual devices.");
  config_.clear_device_count();
  options().clear_visible_device_list();
  ExpectError(absl::StatusCode::kUnknown, "#valid GPUs: 2 virtual_devices.size(): 1");
  options().set_visible_device_list("1");
  options().mutable_experimental()->mutable_virtual_devices(0)->set_memory_limit_mb(0, -5);
  ExpectError(absl::StatusCode::kInvalidArgument, "memory_limit_mb of virtual device 0 on GPU# 1 is -5");
  options().mutable_experimental()->mutable_virtual_devices(0)->set_memory_limit_mb(0, 1e30f);
  ExpectError(absl::StatusCode::kInvalidArgument, "memory_limit_mb of virtual device 0 on GPU# 1 is 1e+30");
  options().mutable_experimental()->mutable_virtual_devices(0)->set_memory_limit_mb(0, 20000);
  EXPECT_EQ(Configure()->at(0).memory_limit, 20000 * kMiB);  // more than there is: a limit, not a reservation
}

TEST_F(ConfigureGpusTest, PrioritiesAndOrdinalsAreCheckedAndNotSupported) {
  AddVirtual({100});
  auto& second = AddVirtual({100, 100});
  second.add_priority(0);
  ExpectError(absl::StatusCode::kInvalidArgument, "Priority must be set for all virtual devices or none.");
  options().mutable_experimental()->mutable_virtual_devices(0)->add_priority(0);
  ExpectError(absl::StatusCode::kInvalidArgument, "GPU# 1 memory_limit_mb size: 2 and priority size: 1");
  second.add_priority(0);
  EXPECT_THAT(Configure(), IsOk());
  second.set_priority(1, -1);
  ExpectError(absl::StatusCode::kUnimplemented, "Priorities of virtual devices on GPU# 1");
  second.set_priority(1, 0);
  second.add_device_ordinal(0);
  ExpectError(absl::StatusCode::kUnimplemented, "device_ordinal of virtual devices on GPU# 1");
  options().mutable_experimental()->clear_virtual_devices();
  options().mutable_experimental()->set_num_virtual_devices_per_gpu(2);
  ExpectError(absl::StatusCode::kUnimplemented, "num_virtual_devices_per_gpu");
}

TEST_F(ConfigureGpusTest, TheReserveCanBeSet) {
  options().mutable_experimental()->set_gpu_system_memory_size_in_mb(300);
  EXPECT_EQ(Configure()->at(0).memory_limit, (10000 - 300) * kMiB);
  options().mutable_experimental()->set_gpu_system_memory_size_in_mb(10001);  // more than there is: treated as unset
  EXPECT_EQ(Configure()->at(0).memory_limit, (10000 - 1800) * kMiB);
}

TEST(ReservedGpuMemoryTest, FollowsTheGenerationAndTheSize) {
  EXPECT_EQ(ReservedGpuMemory(2047 * kMiB, 9), 225 * kMiB);
  EXPECT_EQ(ReservedGpuMemory(2048 * kMiB, 6), 500 * kMiB);
  EXPECT_EQ(ReservedGpuMemory(2048 * kMiB, 7), 1050 * kMiB);
  EXPECT_EQ(ReservedGpuMemory(2048 * kMiB, 8), 1536 * kMiB);
  EXPECT_EQ(ReservedGpuMemory(2048 * kMiB, 9), 1800 * kMiB);
}

TEST_F(ConfigureGpusTest, NoDevices) {
  physical_.clear();
  EXPECT_THAT(PhysicalIds(), IsEmpty());
  AddVirtual({100});
  ExpectError(absl::StatusCode::kUnknown, "num_gpus_to_use: 0 #virtual_devices: 1");
}

TEST_F(ConfigureGpusTest, TheDescriptionIsTensorFlows) {
  EXPECT_EQ(PhysicalGpuDescription(1, physical_[1].properties),
            "device: 1, name: G, pci bus id: 0000:00:05.0, compute capability: 9.0");
}

}  // namespace
}  // namespace weir
