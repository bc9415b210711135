// A session on simulated GPUs.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/session_fixture_testing.h"
#include "core/gpu/gpu_devices.h"
#include "core/gpu/simulated_gpu.h"
#include "core/testing.h"

namespace weir {

// One graph and one task with GPUs. The tests' base.
class GpuSessionTest : public testing::Test, protected SessionFixture {
 protected:
  using SessionFixture::Run;

  // Nothing that ran had no order, unless the test expects it to.
  ~GpuSessionTest() override;

  Scope Gpu(int i = 0) const { return scope_.WithDevice(absl::StrCat("/device:GPU:", i)); }
  Scope Cpu() const { return scope_.WithDevice("/device:CPU:0"); }

  absl::StatusOr<std::unique_ptr<Session>> Open() override;

  int num_gpus_ = 2;
  bool expects_races_ = false;
  SessionOptions options_;  // without soft placement
  std::vector<std::shared_ptr<SimulatedGpu>> gpus_;
  // The GPUs that are used in place of simulated ones.
  std::optional<GpuPlatform> platform_;
  // What the task is given in place of a GPU of gpus_.
  std::function<std::shared_ptr<GpuRuntime>(std::shared_ptr<SimulatedGpu>)> wrap_;
};

}  // namespace weir
