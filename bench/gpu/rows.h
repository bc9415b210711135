// GPU benchmarks. The peers run rows of the same names.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/local_runtime.h"
#include "client/session.h"
#include "core/gpu/gpu_devices.h"

namespace weir::bench {

// One figure of a row, in `unit`. Higher is better, except for times.
struct Figure {
  std::string form;  // the variant, if a row has several
  double value = 0;
  std::string unit;
  int64_t peak_bytes = 0;  // peak device memory of tensors; 0: not measured
};

struct Machine {
  GpuPlatform gpus;
  int num_gpus = 0;
  // Run only a few small steps to show that everything works: the figures are meaningless.
  bool is_small = false;
};

// A session on the machine's GPUs in this process, with its devices.
struct LocalSession {
  std::shared_ptr<LocalRuntime> runtime;
  std::unique_ptr<Session> session;
};
absl::StatusOr<LocalSession> OpenSession(const Machine& machine, const Scope& scope, tensorflow::ConfigProto config);

// Enables an option by its name in RewriterConfig's custom_optimizers.
void Enable(const std::string& custom_optimizer, tensorflow::ConfigProto* config);

// The average time in seconds of a step, after `warm_ups` steps that are not counted.
absl::StatusOr<double> SecondsPerStep(Session::Callable& step, int warm_ups, int steps);

// The highest number of bytes in use on any of the GPUs since their creation.
int64_t PeakBytes(const LocalRuntime& runtime);

using Row = absl::StatusOr<std::vector<Figure>> (*)(const Machine& machine);

// 1,000 additions of one element: microseconds each, launched one by one and replayed as a graph.
absl::StatusOr<std::vector<Figure>> SmallKernels(const Machine& machine);
// bfloat16 [8192,8192] x [8192,8192].
absl::StatusOr<std::vector<Figure>> Products(const Machine& machine);
// 256 MiB from the host to a GPU, and back.
absl::StatusOr<std::vector<Figure>> CopiesToDevice(const Machine& machine);
absl::StatusOr<std::vector<Figure>> CopiesToHost(const Machine& machine);
// Training steps, including the optimizer, with inputs on the device.
absl::StatusOr<std::vector<Figure>> ResNet50(const Machine& machine);
absl::StatusOr<std::vector<Figure>> Gpt2(const Machine& machine);
// The sum of 256 MiB of floats over all GPUs: bus bandwidth in bytes per second, as nccl-tests define it. UNIMPLEMENTED
// with fewer than two GPUs.
absl::StatusOr<std::vector<Figure>> AllReduce(const Machine& machine);

}  // namespace weir::bench
