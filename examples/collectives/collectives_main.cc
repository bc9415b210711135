// Two workers sum a vector in each step; one is killed, the other gets an error, and both continue when it is back:
// collectives --weir weir --devices gpus              two GPUs of this machine, by NCCL
// collectives --weir weir --devices simulated_gpus    without hardware
// collectives --weir weir --devices cpus
#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdio>
#include <future>
#include <map>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "weir/core/clock.h"
#include "weir/core/device/cpu_info.h"
#include "weir/distribute/cluster/process_cluster.h"
#include "weir/ops.h"
#include "weir/session.h"

namespace weir {
namespace {

constexpr int kWorkers = 2;
constexpr int kGroup = 1, kInstance = 1;
constexpr absl::Duration kToMeetAgain = absl::Minutes(1);

struct Devices {
  std::string type;
  std::vector<std::string> server_flags;
};

// Both servers see the same GPUs; each worker uses the one with its index.
const std::map<std::string, Devices>& DevicesByName() {
  static const auto* const devices = new std::map<std::string, Devices>{
      {"cpus", {"CPU", {}}},
      {"gpus", {"GPU", {"--config", "gpu_options {allow_growth: true}"}}},
      {"simulated_gpus", {"GPU", {"--simulated-gpus", "2"}}},
  };
  return *devices;
}

// One worker's program, with its own graph and a session to its own server.
class Worker {
 public:
  Worker(const std::string& device_type, int index)
      : scope_(Scope::NewRoot().WithDevice(
            absl::StrFormat("/job:worker/task:%d/device:%s:%d", index, device_type, device_type == "CPU" ? 0 : index))),
        x_(ops::Placeholder(scope_, DT_FLOAT)),
        sum_(ops::CollectiveReduceV2(scope_, x_, kWorkers, kGroup, kInstance, {}, "Add", "Id",
                                     {.timeout_seconds = 30})) {}

  absl::Status Connect(const std::string& target) {
    ASSIGN_OR_RETURN(session_, Session::Connect(target, scope_));
    return absl::OkStatus();
  }
  // One step: each worker contributes {3, 4}.
  absl::Status Step() {
    ASSIGN_OR_RETURN(const std::vector<Tensor> sums, session_->Run({{x_, Tensor::Vector<float>({3, 4})}}, {sum_}));
    const float* const sum = sums[0].data<float>();
    if (sum[0] != 3 * kWorkers || sum[1] != 4 * kWorkers) return errors::Internal("The sum is ", sum[0], " ", sum[1]);
    return absl::OkStatus();
  }
  // Runs steps until one fails; `steps` counts the successful ones.
  absl::Status RunUntilError(std::atomic<int>& steps) {
    for (;;) {
      RETURN_IF_ERROR(Step());
      ++steps;
    }
  }
  // Runs steps until one succeeds: the group is formed again when both workers are back.
  absl::Status MeetAgain() {
    absl::Status status;
    for (const absl::Time end = MonotonicNow() + kToMeetAgain; MonotonicNow() < end;) {
      if (status = Step(); status.ok()) break;
    }
    return status;
  }

 private:
  const Scope scope_;
  const Output x_, sum_;
  std::unique_ptr<Session> session_;
};

absl::Status Run(const std::string& program, const Devices& devices) {
  ASSIGN_OR_RETURN(
      const std::unique_ptr<ProcessCluster> cluster,
      ProcessCluster::Start({.program = program, .jobs = {{"worker", kWorkers}}, .flags = devices.server_flags}));
  Worker first(devices.type, 0), second(devices.type, 1);
  RETURN_IF_ERROR(first.Connect(cluster->Target("worker", 0)));
  RETURN_IF_ERROR(second.Connect(cluster->Target("worker", 1)));

  std::atomic<int> steps{0}, ignored{0};
  auto one = std::async(std::launch::async, [&] { return first.RunUntilError(steps); });
  auto other = std::async(std::launch::async, [&] { return second.RunUntilError(ignored); });
  while (steps < 100 && one.wait_for(std::chrono::milliseconds(1)) == std::future_status::timeout) {
  }
  if (steps > 0) absl::PrintF("the sum is 6 8; worker 1 is killed\n");
  cluster->Kill("worker", 1);
  const absl::Status failed = one.get();
  other.get().IgnoreError();
  absl::PrintF("worker 0: %s\n", failed.message());
  if (steps < 100 || !absl::StrContains(failed.message(), "task:1")) return failed;

  RETURN_IF_ERROR(cluster->Restart("worker", 1));
  Worker again(devices.type, 1);
  RETURN_IF_ERROR(again.Connect(cluster->Target("worker", 1)));
  auto met = std::async(std::launch::async, [&] { return again.MeetAgain(); });
  const absl::Status status = first.MeetAgain();
  RETURN_IF_ERROR(met.get());
  RETURN_IF_ERROR(status);
  absl::PrintF("worker 1 is back: the sum is 6 8\n");
  return absl::OkStatus();
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  if (absl::Status cpu = weir::CheckCpuBaseline(); !cpu.ok()) {
    std::fprintf(stderr, "collectives: %s\n", std::string(cpu.message()).c_str());
    return 1;
  }
  std::string program, devices = "cpus";
  CLI::App app("Sums vectors of two workers, one of which is killed and restarted.");
  app.add_option("--weir", program, "path of the weir program")->required();
  app.add_option("--devices", devices, "where the vectors are")->check(CLI::IsMember(&weir::DevicesByName()));
  CLI11_PARSE(app, argc, argv);
  if (absl::Status status = weir::Run(program, weir::DevicesByName().at(devices)); !status.ok()) {
    std::fprintf(stderr, "collectives: %s\n", status.ToString(absl::StatusToStringMode::kWithNoExtraData).c_str());
    return 1;
  }
  return 0;
}
