#include "client/strategy/strategy_choice.h"

#include <array>
#include <utility>

#include "absl/strings/str_join.h"
#include "client/strategy/central_storage_strategy.h"
#include "client/strategy/mirrored_strategy.h"
#include "client/strategy/multi_worker_mirrored_strategy.h"
#include "client/strategy/parameter_server_strategy.h"
#include "client/strategy/training_tasks.h"

namespace weir {
namespace {

constexpr std::array<std::pair<StrategyKind, absl::string_view>, 5> kStrategyNames = {{
    {StrategyKind::kOneDevice, "one_device"},
    {StrategyKind::kMirrored, "mirrored"},
    {StrategyKind::kCentralStorage, "central_storage"},
    {StrategyKind::kParameterServer, "parameter_server"},
    {StrategyKind::kMultiWorkerMirrored, "multi_worker_mirrored"},
}};

}  // namespace

absl::string_view StrategyKindName(StrategyKind kind) {
  for (const auto& [known, name] : kStrategyNames) {
    if (known == kind) return name;
  }
  return "";
}

absl::StatusOr<StrategyKind> ParseStrategyKind(absl::string_view name) {
  std::vector<absl::string_view> names;
  for (const auto& [kind, known] : kStrategyNames) {
    if (known == name) return kind;
    names.push_back(known);
  }
  return errors::InvalidArgument("There is no strategy '", name, "'; expected ", absl::StrJoin(names, ", "));
}

StrategyKind StrategyKindFor(const ClusterSpec& cluster) {
  if (cluster.jobs().contains("ps")) return StrategyKind::kParameterServer;
  return cluster.empty() ? StrategyKind::kMirrored : StrategyKind::kMultiWorkerMirrored;
}

absl::StatusOr<std::unique_ptr<Strategy>> MakeStrategy(StrategyKind kind, const Scope& root, const TfConfig& task,
                                                       const std::vector<std::string>& local_devices) {
  if (kind == StrategyKind::kParameterServer) return ParameterServerStrategy::Create(root, {.cluster = task.cluster});
  if (kind == StrategyKind::kMultiWorkerMirrored) {
    ASSIGN_OR_RETURN(const TrainingTask own, TrainingTaskOf(task));
    return MultiWorkerMirroredStrategy(
        root, {.cluster = task.cluster, .jobs = TrainingJobs(), .worker = own.index, .local_devices = local_devices});
  }
  if (!task.cluster.empty()) {
    return errors::InvalidArgument("The strategy ", StrategyKindName(kind), " is for a single process, but ",
                                   "the cluster has the tasks ", absl::StrJoin(task.cluster.TaskNames(), ", "));
  }
  if (local_devices.empty()) return errors::InvalidArgument(StrategyKindName(kind), " needs at least one device");
  if (kind == StrategyKind::kOneDevice) return OneDeviceStrategy(root, local_devices[0]);
  if (kind == StrategyKind::kMirrored) return MirroredStrategy(root, {.devices = local_devices});
  return CentralStorageStrategy(root, {.devices = local_devices});
}

}  // namespace weir
