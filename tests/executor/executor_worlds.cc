#include "core/gpu/simulated_platform.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "tests/executor/executor_worlds_testing.h"
#include "tests/gpu/local_session.h"

namespace weir {
namespace {

absl::StatusOr<GpuPlatform> NoGpus(std::shared_ptr<SimulatedGpu>*) { return SimulatedPlatform(0); }

absl::StatusOr<GpuPlatform> SimulatedGpus(std::shared_ptr<SimulatedGpu>* simulated) {
  *simulated = std::make_shared<SimulatedGpu>(SimulatedGpu::Options{.seed = 7});
  return SimulatedPlatform({*simulated});
}

// A thread for each stream.
absl::StatusOr<GpuPlatform> ThreadedGpus(std::shared_ptr<SimulatedGpu>* simulated) {
  *simulated = std::make_shared<SimulatedGpu>(SimulatedGpu::Options{.schedule = SimulatedGpu::Schedule::kThreads});
  return SimulatedPlatform({*simulated});
}

absl::StatusOr<GpuPlatform> CudaGpus(std::shared_ptr<SimulatedGpu>*) { return MachineGpusOrReason(); }

}  // namespace

std::vector<ExecutorWorld> ExecutorWorlds() {
  return {{.name = "Cpu", .device = "/device:CPU:0", .gpus = NoGpus},
          {.name = "SimulatedGpu", .device = "/device:GPU:0", .gpus = SimulatedGpus},
          {.name = "SimulatedGpuCaptured", .device = "/device:GPU:0", .captures = true, .gpus = SimulatedGpus},
          {.name = "ThreadedGpuCaptured", .device = "/device:GPU:0", .captures = true, .gpus = ThreadedGpus},
          {.name = "SimulatedGpuFused", .device = "/device:GPU:0", .fuses = true, .gpus = SimulatedGpus},
          {.name = "SimulatedGpuFusedCaptured",
           .device = "/device:GPU:0",
           .captures = true,
           .fuses = true,
           .gpus = SimulatedGpus},
          {.name = "ThreadedGpuFusedCaptured",
           .device = "/device:GPU:0",
           .captures = true,
           .fuses = true,
           .gpus = ThreadedGpus},
          {.name = "Cuda", .device = "/device:GPU:0", .gpus = CudaGpus},
          {.name = "CudaCaptured", .device = "/device:GPU:0", .captures = true, .gpus = CudaGpus},
          {.name = "CudaFused", .device = "/device:GPU:0", .fuses = true, .gpus = CudaGpus},
          {.name = "CudaFusedCaptured", .device = "/device:GPU:0", .captures = true, .fuses = true, .gpus = CudaGpus}};
}

ExecutorConformance::~ExecutorConformance() {
  session_.reset();
  if (simulated_ == nullptr) return;
  EXPECT_THAT(simulated_->Races(), testing::IsEmpty());
}

void ExecutorConformance::SetUp() {
  absl::StatusOr<GpuPlatform> gpus = GetParam().gpus(&simulated_);
  if (absl::IsUnavailable(gpus.status())) GTEST_SKIP() << gpus.status().message();
  ASSERT_THAT(gpus, IsOk());
  gpus_ = *std::move(gpus);
}

absl::StatusOr<std::unique_ptr<Session>> ExecutorConformance::Open() {
  SessionOptions options;
  options.config->set_allow_soft_placement(true);
  if (GetParam().captures) CaptureGraphs(warm_ups_, &*options.config);
  if (GetParam().fuses) FuseElementwise(&*options.config);
  return LocalSessionOn(gpus_, scope_, std::move(options));
}

void ExecutorConformance::ExpectReplays(int64_t at_least, int64_t before) const {
  if (simulated_ == nullptr) return;
  if (GetParam().captures) {
    EXPECT_GE(Replays() - before, at_least);
  } else {
    EXPECT_EQ(Replays(), 0);
  }
}

}  // namespace weir
