// Rows of single operations.
#include "bench/gpu/rows.h"
#include "client/initializers.h"
#include "client/ops.h"
#include "client/variables.h"
#include "core/clock.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "worker/capture/capture_segments.h"

namespace weir::bench {
namespace {

constexpr char kGpu[] = "/device:GPU:0";
constexpr char kCpu[] = "/device:CPU:0";

// A variable initialised on the device that reads it.
ResourceVariable Filled(const Scope& scope, const std::string& device, const TensorShape& shape, DataType type) {
  return ResourceVariable::Make(scope.WithDevice(device), shape, type, initializers::Ones());
}

// The time in seconds of one run of `target`, after initialising variables.
absl::StatusOr<double> Time(const Machine& machine, const Scope& root, const Operation& target, int steps) {
  const Operation initialize = InitializeAll(root);
  ASSIGN_OR_RETURN(const LocalSession local, OpenSession(machine, root, {}));
  RETURN_IF_ERROR(local.session->RunTargets({initialize}));
  ASSIGN_OR_RETURN(const auto step, local.session->MakeCallable({}, {}, {target}));
  return SecondsPerStep(*step, machine.is_small ? 1 : 10, machine.is_small ? 2 : steps);
}

// Bytes per second from one device to another: many copies per step, which share the bus.
absl::StatusOr<std::vector<Figure>> Copies(const Machine& machine, const std::string& from, const std::string& to) {
  constexpr int kCopies = 8;
  const int64_t bytes = machine.is_small ? 1 << 16 : 256 << 20;
  const Scope root = Scope::NewRoot();
  std::vector<Operation> arrived;
  for (int i = 0; i < kCopies; ++i) {
    const ResourceVariable source = Filled(root, from, TensorShape({bytes / 4}), DT_FLOAT);
    arrived.push_back(ops::Identity(root.WithDevice(to), source.value()).op());
  }
  const Operation all = ops::NoOp(root.WithDevice(to).WithControlDependencies(arrived));
  ASSIGN_OR_RETURN(const double seconds, Time(machine, root, all, 10));
  return std::vector<Figure>{{.value = kCopies * static_cast<double>(bytes) / seconds / 1e9, .unit = "GB/s"}};
}

absl::StatusOr<Figure> SmallKernelsAs(const Machine& machine, bool is_replayed) {
  const int kernels = machine.is_small ? 10 : 1000, warm_ups = machine.is_small ? 3 : 10,
            steps = machine.is_small ? 3 : 100;
  const Scope root = Scope::NewRoot(), scope = root.WithDevice(kGpu);
  const Output x = ops::Placeholder(scope, DT_FLOAT);
  Output y = x;
  for (int i = 0; i < kernels; ++i) y = ops::AddV2(scope, y, x);
  tensorflow::ConfigProto config;
  if (is_replayed) Enable(kGpuGraphsOptimizer, &config);
  ASSIGN_OR_RETURN(const LocalSession local, OpenSession(machine, root, std::move(config)));
  ASSIGN_OR_RETURN(const auto step, local.session->MakeCallable({x}, {y}));
  Tensor one(DT_FLOAT, TensorShape({1}));
  one.flat<float>()[0] = 1;
  absl::Time start;
  for (int i = 0; i < warm_ups + steps; ++i) {
    if (i == warm_ups) start = MonotonicNow();
    ASSIGN_OR_RETURN(const auto out, step->Run({one}));
    if (out[0].flat<float>()[0] != static_cast<float>(kernels + 1))
      return errors::Internal("A step computed a wrong sum");
  }
  return Figure{.form = is_replayed ? "replayed" : "one by one",
                .value = absl::ToDoubleMicroseconds(MonotonicNow() - start) / steps / kernels,
                .unit = "us"};
}

}  // namespace

absl::StatusOr<std::vector<Figure>> SmallKernels(const Machine& machine) {
  ASSIGN_OR_RETURN(Figure one_by_one, SmallKernelsAs(machine, /*is_replayed=*/false));
  ASSIGN_OR_RETURN(Figure replayed, SmallKernelsAs(machine, /*is_replayed=*/true));
  return std::vector<Figure>{std::move(one_by_one), std::move(replayed)};
}

absl::StatusOr<std::vector<Figure>> Products(const Machine& machine) {
  constexpr int kProducts = 8;
  const int64_t size = machine.is_small ? 32 : 8192;
  const Scope root = Scope::NewRoot(), scope = root.WithDevice(kGpu);
  const ResourceVariable a = Filled(root, kGpu, TensorShape({size, size}), DT_BFLOAT16);
  std::vector<Operation> done;
  for (int i = 0; i < kProducts; ++i) {
    const ResourceVariable b = Filled(root, kGpu, TensorShape({size, size}), DT_BFLOAT16);
    done.push_back(ops::MatMul(scope, a.value(), b.value()).op());
  }
  ASSIGN_OR_RETURN(const double seconds, Time(machine, root, ops::NoOp(scope.WithControlDependencies(done)), 20));
  const double operations = 2.0 * kProducts * static_cast<double>(size * size * size);
  return std::vector<Figure>{{.value = operations / seconds / 1e12, .unit = "TFLOP/s"}};
}

absl::StatusOr<std::vector<Figure>> CopiesToDevice(const Machine& machine) { return Copies(machine, kCpu, kGpu); }

absl::StatusOr<std::vector<Figure>> CopiesToHost(const Machine& machine) { return Copies(machine, kGpu, kCpu); }

absl::StatusOr<std::vector<Figure>> AllReduce(const Machine& machine) {
  const int n = machine.num_gpus;
  if (n < 2) return errors::Unimplemented("there is one GPU: an all-reduce has two members or more");
  const int64_t bytes = machine.is_small ? 1 << 16 : 256 << 20;
  const Scope root = Scope::NewRoot();
  std::vector<Operation> done;
  for (int i = 0; i < n; ++i) {
    const std::string gpu = absl::StrCat("/device:GPU:", i);
    const Scope scope = root.WithDevice(gpu);
    const ResourceVariable x = Filled(root, gpu, TensorShape({bytes / 4}), DT_FLOAT);
    done.push_back(ops::CollectiveReduceV2(scope, x.value(), Tensor::Scalar<int32_t>(n), Tensor::Scalar<int32_t>(1),
                                           Tensor::Scalar<int32_t>(1), {}, "Add", "Id")
                       .op());
  }
  ASSIGN_OR_RETURN(const double seconds, Time(machine, root, ops::NoOp(root.WithControlDependencies(done)), 20));
  // All but one member send and receive each element once, in both phases.
  const double on_bus = 2.0 * (n - 1) / n * static_cast<double>(bytes);
  return std::vector<Figure>{{.form = absl::StrCat(n, " GPUs"), .value = on_bus / seconds / 1e9, .unit = "GB/s"}};
}

}  // namespace weir::bench
