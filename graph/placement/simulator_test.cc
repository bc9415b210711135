#include "graph/placement/simulator.h"

#include "core/testing.h"

namespace weir {
namespace {

constexpr double kMs = 1e-3;
constexpr int64_t kMegabyte = 1'000'000;

// Two devices; a megabyte takes 1 ms, and 0.5 ms of latency. Each kernel is a unit of its own.
class SimulatorTest : public ::testing::Test {
 protected:
  SimulatorTest() {
    model_.num_devices = 2;
    costs_.set_links({.latency = 0.5 * kMs, .seconds_per_byte = 1e-9});
  }

  static DeviceCosts Device(int task) {
    DeviceCosts device;
    device.name = *DeviceName::ParseFull(absl::StrCat("/job:worker/replica:0/task:", task, "/device:CPU:0"));
    return device;
  }

  int Kernel(double milliseconds) {
    const int index = static_cast<int>(model_.kernels.size());
    StepModel::Kernel& kernel = model_.kernels.emplace_back();
    kernel.unit = index;
    kernel.seconds = {milliseconds * kMs, milliseconds * kMs};
    model_.units.push_back({.name = "k", .candidates = {0, 1}, .kernels = {index}});
    return index;
  }
  void Tensor(int producer, std::vector<int> consumers, int64_t bytes) {
    const int index = static_cast<int>(model_.tensors.size());
    model_.kernels[producer].outputs.push_back(index);
    for (const int consumer : consumers) model_.kernels[consumer].inputs.push_back(index);
    model_.tensors.push_back(
        {.producer = producer, .bytes = bytes, .memory = bytes, .times = 1, .consumers = std::move(consumers)});
  }
  StepPrediction Run(const UnitPlacement& placement) { return Simulator(model_, costs_).Run(placement); }
  double Milliseconds(const UnitPlacement& placement) { return Run(placement).seconds / kMs; }

  StepModel model_;
  ClusterCosts costs_{{Device(0), Device(1)}};
};

TEST_F(SimulatorTest, ATransferStandsBetweenDevices) {
  Kernel(10);
  Kernel(20);
  Tensor(0, {1}, kMegabyte);
  EXPECT_NEAR(Milliseconds({0, 0}), 30, 1e-9);
  EXPECT_NEAR(Milliseconds({0, 1}), 10 + 1.5 + 20, 1e-9);
}

TEST_F(SimulatorTest, ADeviceRunsOneKernelAtATimeUnlessItSaysMore) {
  Kernel(10);
  Kernel(10);
  EXPECT_NEAR(Milliseconds({0, 0}), 20, 1e-9);
  EXPECT_NEAR(Milliseconds({0, 1}), 10, 1e-9);
  costs_.mutable_device(0)->kernels_at_once = 2;
  EXPECT_NEAR(Milliseconds({0, 0}), 10, 1e-9);
}

// While the tensor travels, the sender goes on: 0 to 10 and 10 to 18 there, 11.5 to 16.5 on the other device.
TEST_F(SimulatorTest, TransfersOverlapWithKernels) {
  Kernel(10);
  Kernel(5);
  Kernel(8);
  Tensor(0, {1, 2}, kMegabyte);
  EXPECT_NEAR(Milliseconds({0, 1, 0}), 18, 1e-9);
}

// The tensors arrive at 11.5 and 12.5, because the link carries one after the other.
TEST_F(SimulatorTest, ALinkCarriesOneTensorAtATime) {
  Kernel(10);
  Kernel(1);
  Kernel(3);
  Tensor(0, {1}, kMegabyte);
  Tensor(0, {2}, kMegabyte);
  EXPECT_NEAR(Milliseconds({0, 1, 1}), 12.5 + 3, 1e-9);
}

TEST_F(SimulatorTest, ATensorIsSentOnceToADevice) {
  Kernel(10);
  Kernel(1);
  Kernel(1);
  Tensor(0, {1, 2}, kMegabyte);
  const StepPrediction step = Run({0, 1, 1});
  EXPECT_NEAR(step.seconds / kMs, 11.5 + 2, 1e-9);
  EXPECT_EQ(step.transfers, 1);
  EXPECT_EQ(step.transferred_bytes, kMegabyte);
}

// Both arrows cross at once.
TEST_F(SimulatorTest, DirectionsAreLinksOfTheirOwn) {
  Kernel(10);
  Kernel(10);
  Kernel(1);
  Kernel(1);
  Tensor(0, {3}, kMegabyte);
  Tensor(1, {2}, kMegabyte);
  EXPECT_NEAR(Milliseconds({0, 1, 0, 1}), 12.5, 1e-9);
}

// Kernel 0 ends at 10. Kernels 1 (costly), 2 and 3 (cheap) become ready: 3, 2, 1. Kernel 4, on the other device, waits
// for 2 and gets its tensor at 10.002 + 0.5.
TEST_F(SimulatorTest, CheapKernelsComeFirstAndTheLastOfThemBeforeAll) {
  Kernel(10);
  Kernel(7);
  Kernel(0.001);
  Kernel(0.001);
  Kernel(1);
  Tensor(0, {1, 2, 3}, 0);
  Tensor(2, {4}, 0);
  EXPECT_NEAR(Milliseconds({0, 0, 0, 0, 1}), 17.002, 1e-9);
  model_.kernels[4].seconds = {20 * kMs, 20 * kMs};
  EXPECT_NEAR(Milliseconds({0, 0, 0, 0, 1}), 10.502 + 20, 1e-9);
}

// The first costly kernel that became ready is the first to run: 1 before 2, so kernel 3 starts at 15.5.
TEST_F(SimulatorTest, CostlyKernelsKeepTheirOrder) {
  Kernel(10);
  Kernel(5);
  Kernel(6);
  Kernel(9);
  Tensor(0, {1, 2}, 0);
  Tensor(1, {3}, 0);
  EXPECT_NEAR(Milliseconds({0, 0, 0, 1}), 15.5 + 9, 1e-9);
}

// Kernel 0's output lives until kernel 1 has ended, on both devices if it is sent.
TEST_F(SimulatorTest, MemoryIsThatOfStateAndLiveTensors) {
  Kernel(10);
  Kernel(10);
  Kernel(10);
  Tensor(0, {1}, 3 * kMegabyte);
  Tensor(1, {2}, 2 * kMegabyte);
  model_.units[1].state = 10 * kMegabyte;
  EXPECT_EQ(Run({0, 0, 0}).peak_bytes, (std::vector<int64_t>{15 * kMegabyte, 0}));
  EXPECT_EQ(Run({0, 1, 0}).peak_bytes, (std::vector<int64_t>{3 * kMegabyte, 15 * kMegabyte}));
}

TEST_F(SimulatorTest, ATensorInALoopTravelsInEachIteration) {
  Kernel(10);
  Kernel(20);
  Tensor(0, {1}, kMegabyte);
  model_.tensors[0].times = 4;
  EXPECT_NEAR(Milliseconds({0, 1}), 10 + 4 * 1.5 + 20, 1e-9);
}

}  // namespace
}  // namespace weir
