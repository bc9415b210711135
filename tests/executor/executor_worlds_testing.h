// The environments in which a program must give the same results.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "client/session_fixture_testing.h"
#include "core/gpu/gpu_devices.h"
#include "core/gpu/simulated_gpu.h"
#include "core/testing.h"

namespace weir {

struct ExecutorWorld {
  std::string name;
  std::string device;  // "/device:GPU:0"
  bool captures = false;
  bool fuses = false;
  // UNAVAILABLE, with the reason, where there is no such device; an empty platform is the CPU alone. The simulated
  // device behind it, if there is one, is left in `simulated`.
  std::function<absl::StatusOr<GpuPlatform>(std::shared_ptr<SimulatedGpu>* simulated)> gpus;
};
inline void PrintTo(const ExecutorWorld& world, std::ostream* os) { *os << world.name; }

// A CPU, and GPUs that are simulated and real, without captures and with them; with fused ops, too.
std::vector<ExecutorWorld> ExecutorWorlds();

// One graph and one task. Nothing that ran on a simulated device had no order.
class ExecutorConformance : public testing::TestWithParam<ExecutorWorld>, protected SessionFixture {
 protected:
  using SessionFixture::Run;

  ~ExecutorConformance() override;
  void SetUp() override;
  absl::StatusOr<std::unique_ptr<Session>> Open() override;

  Scope On() const { return scope_.WithDevice(GetParam().device); }
  Scope Cpu() const { return scope_.WithDevice("/device:CPU:0"); }
  // Launches of captured graphs, where the device can tell; a world without captures has none.
  int64_t Replays() const { return simulated_ == nullptr ? 0 : simulated_->NumEnqueued("graph"); }
  // That there were some since `before`, in a world that captures.
  void ExpectReplays(int64_t at_least, int64_t before = 0) const;

  int warm_ups_ = 1;
  GpuPlatform gpus_;
  std::shared_ptr<SimulatedGpu> simulated_;
};

}  // namespace weir
