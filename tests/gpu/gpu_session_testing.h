// A session on simulated GPUs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/ops.h"
#include "client/session.h"
#include "core/gpu/simulated_gpu.h"
#include "core/testing.h"

namespace weir {

// One graph and one task with GPUs. The tests' base.
class GpuSessionTest : public testing::Test {
 protected:
  // Nothing that ran had no order, unless the test expects it to.
  ~GpuSessionTest() override;

  Scope Gpu(int i = 0) const { return scope_.WithDevice(absl::StrCat("/device:GPU:", i)); }
  Scope Cpu() const { return scope_.WithDevice("/device:CPU:0"); }

  // Opens the session, with the graph as it is, at the first call.
  Session& session();
  absl::StatusOr<std::unique_ptr<Session>> Connect();
  std::vector<Tensor> Run(const FeedList& feeds, const OutputList& fetches, const std::vector<Operation>& targets = {});
  Tensor Fetch(const Output& fetch) { return Run({}, {fetch})[0]; }

  int num_gpus_ = 2;
  bool expects_races_ = false;
  SessionOptions options_;  // without soft placement
  Scope scope_ = Scope::NewRoot();
  std::vector<std::shared_ptr<SimulatedGpu>> gpus_;
  // What the task is given in place of a GPU of gpus_.
  std::function<std::shared_ptr<GpuRuntime>(std::shared_ptr<SimulatedGpu>)> wrap_;
  std::unique_ptr<Session> session_;
};

}  // namespace weir
