// What the host needs for each small kernel of a step on a GPU, launched one by one and replayed as a graph. On the
// machine's first GPU; ends with 3, and says why, where there is none. `--simulated` shows that it runs, and no figure
// of interest.
#include <chrono>
#include <cstdio>
#include <cstring>

#include "client/ops.h"
#include "core/gpu/simulated_platform.h"
#include "kernels/cuda/machine_gpus.h"
#include "tests/gpu/local_session.h"

namespace weir {
namespace {

constexpr int kKernels = 1000;
constexpr int kWarmUps = 10, kSteps = 100;

// Microseconds for each kernel of a step.
absl::StatusOr<double> Measure(const GpuPlatform& gpus, bool captures) {
  const Scope root = Scope::NewRoot(), scope = root.WithDevice("/device:GPU:0");
  const Output x = ops::Placeholder(scope, DT_FLOAT);
  Output y = x;
  for (int i = 0; i < kKernels; ++i) y = ops::AddV2(scope, y, x);
  RETURN_IF_ERROR(root.status());
  SessionOptions options;
  if (captures) CaptureGraphs(2, &options.config);
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, LocalSessionOn(gpus, root, std::move(options)));
  ASSIGN_OR_RETURN(const auto step, session->MakeCallable({x}, {y}));
  Tensor one(DT_FLOAT, TensorShape({1}));
  one.flat<float>()[0] = 1;
  std::chrono::steady_clock::time_point start;
  for (int i = 0; i < kWarmUps + kSteps; ++i) {
    if (i == kWarmUps) start = std::chrono::steady_clock::now();
    ASSIGN_OR_RETURN(const auto out, step->Run({one}));
    if (out[0].flat<float>()[0] != kKernels + 1) return errors::Internal("A step gave a wrong result");
  }
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / kSteps /
         kKernels;
}

int Main(bool is_simulated) {
  const GpuPlatform gpus = is_simulated ? SimulatedPlatform(1) : MachineGpus();
  if (const absl::StatusOr<int> count = gpus.count(); !count.ok() || *count == 0) {
    std::printf("no GPU: %s\n", count.ok() ? "there is none" : std::string(count.status().message()).c_str());
    return 3;
  }
  for (const bool captures : {false, true}) {
    const absl::StatusOr<double> micros = Measure(gpus, captures);
    if (!micros.ok()) {
      std::printf("%s\n", micros.status().ToString().c_str());
      return 1;
    }
    std::printf("1,000 small kernels a step, %s: %.2f us each\n", captures ? "replayed" : "launched one by one",
                *micros);
  }
  return 0;
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) { return weir::Main(argc > 1 && std::strcmp(argv[1], "--simulated") == 0); }
