// What is measured on GPUs. A row is run by this program, and by the peers under the same name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/local_runtime.h"
#include "client/session.h"
#include "core/gpu/gpu_devices.h"

namespace weir::bench {

// One figure of a row: in `unit`, of which more is better but for times.
struct Figure {
  std::string form;  // how it was done, where a row has several ways
  double value = 0;
  std::string unit;
  int64_t peak_bytes = 0;  // the most device memory that tensors took; 0: not asked
};

struct Machine {
  GpuPlatform gpus;
  int num_gpus = 0;
  // A few small steps, to show that everything runs: their figures say nothing.
  bool is_small = false;
};

// A session on the machine's GPUs in this process, and the devices behind it.
struct LocalSession {
  std::shared_ptr<LocalRuntime> runtime;
  std::unique_ptr<Session> session;
};
absl::StatusOr<LocalSession> OpenSession(const Machine& machine, const Scope& scope, tensorflow::ConfigProto config);

// What a session can ask for beyond the graph, by the names of RewriterConfig's custom_optimizers.
void AskFor(const std::string& custom_optimizer, tensorflow::ConfigProto* config);

// Seconds for each step, on average, after `warm_ups` that are not counted.
absl::StatusOr<double> SecondsPerStep(Session::Callable& step, int warm_ups, int steps);

// The most bytes in use on any of the GPUs since they were made.
int64_t PeakBytes(const LocalRuntime& runtime);

using Row = absl::StatusOr<std::vector<Figure>> (*)(const Machine& machine);

// 1,000 additions of one element: microseconds each, launched one by one and replayed as a graph.
absl::StatusOr<std::vector<Figure>> SmallKernels(const Machine& machine);
// bfloat16 [8192,8192] x [8192,8192].
absl::StatusOr<std::vector<Figure>> Products(const Machine& machine);
// 256 MiB from the host to a GPU; from it to the host.
absl::StatusOr<std::vector<Figure>> CopiesToDevice(const Machine& machine);
absl::StatusOr<std::vector<Figure>> CopiesToHost(const Machine& machine);
// Training steps, optimizer included, with inputs that lie on the device.
absl::StatusOr<std::vector<Figure>> ResNet50(const Machine& machine);
absl::StatusOr<std::vector<Figure>> Gpt2(const Machine& machine);
// The sum of 256 MiB of floats from each GPU, on all: bytes of the bus a second, as nccl-tests count them.
// UNIMPLEMENTED with fewer than two GPUs.
absl::StatusOr<std::vector<Figure>> AllReduce(const Machine& machine);

}  // namespace weir::bench
