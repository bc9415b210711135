#include <algorithm>
#include <iterator>
#include <memory>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "core/files/file_system.h"
#include "graph/graph_import.h"
#include "graph/placement/cost_placer.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "tools/commands.h"
#include "tools/proto_file.h"

namespace weir {
namespace {

std::string Milliseconds(double seconds) { return absl::StrFormat("%.4g ms", seconds * 1e3); }

std::string Bytes(int64_t bytes) {
  static constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return absl::StrFormat("%.4g %s", value, kUnits[unit]);
}

// Prints one graph's placement.
class PlacementPrinter {
 public:
  PlacementPrinter(const ClusterCosts& costs, const CostPlacement& placement, std::ostream& out)
      : costs_(costs), placement_(placement), model_(placement.model), out_(out), simulator_(model_, costs) {}

  void PrintSummary(const std::string& file) {
    const StepPrediction& step = placement_.chosen.step;
    out_ << absl::StrFormat("%s: %d kernels in %d units, %s predicted for a step\n", file, model_.kernels.size(),
                            model_.units.size(), Milliseconds(step.seconds));
    for (const SimulatedPlacement& other : placement_.others) {
      out_ << absl::StrFormat("  %-14s %s (%.2f times)\n", other.name + ":", Milliseconds(other.step.seconds),
                              step.seconds > 0 ? other.step.seconds / step.seconds : 1);
    }
    for (int i = 0; i < costs_.num_devices(); ++i) {
      const int64_t limit = costs_.device(i).memory_bytes;
      out_ << absl::StrFormat("  %s: busy for %s, at most %s%s\n", costs_.device(i).name.ToString(),
                              Milliseconds(step.busy[i]), Bytes(step.peak_bytes[i]),
                              limit > 0 ? " of " + Bytes(limit) : "");
    }
    out_ << absl::StrFormat("  %d transfers of %s in all\n", step.transfers, Bytes(step.transferred_bytes));
    for (const auto& [name, status] : placement_.unplaced) {
      out_ << "  not placed: " << name << ": " << status.message() << "\n";
    }
  }

  // Units with the most work first.
  void Explain() {
    std::vector<int> order(model_.units.size());
    std::iota(order.begin(), order.end(), 0);
    std::vector<double> work;
    for (const int unit : order) work.push_back(Seconds(unit, placement_.chosen.devices[unit]));
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return work[a] > work[b]; });
    for (const int unit : order) ExplainUnit(unit);
  }

 private:
  double Seconds(int unit, int device) const {
    double seconds = 0;
    for (const int kernel : model_.units[unit].kernels) seconds += model_.kernels[kernel].seconds[device];
    return seconds;
  }

  // Of the unit's kernels, once for each device that needs them.
  int64_t SentBytes(int unit) const {
    int64_t bytes = 0;
    for (const int kernel : model_.units[unit].kernels) {
      for (const int output : model_.kernels[kernel].outputs) {
        std::vector<int> devices;
        for (const int consumer : model_.tensors[output].consumers) devices.push_back(DeviceOf(consumer));
        bytes += OtherDevices(devices, unit) * model_.tensors[output].bytes;
      }
    }
    return bytes;
  }
  int64_t ReceivedBytes(int unit) const {
    int64_t bytes = 0;
    std::vector<int> received;
    for (const int kernel : model_.units[unit].kernels) {
      for (const int input : model_.kernels[kernel].inputs) {
        if (DeviceOf(model_.tensors[input].producer) != placement_.chosen.devices[unit]) received.push_back(input);
      }
    }
    std::sort(received.begin(), received.end());
    received.erase(std::unique(received.begin(), received.end()), received.end());
    for (const int input : received) bytes += model_.tensors[input].bytes;
    return bytes;
  }
  int64_t OtherDevices(std::vector<int> devices, int unit) const {
    std::sort(devices.begin(), devices.end());
    devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
    return std::count_if(devices.begin(), devices.end(),
                         [&](int device) { return device != placement_.chosen.devices[unit]; });
  }
  int DeviceOf(int kernel) const { return placement_.chosen.devices[model_.kernels[kernel].unit]; }

  void ExplainUnit(int index) {
    const StepModel::Unit& unit = model_.units[index];
    const int device = placement_.chosen.devices[index];
    size_t nodes = 0;
    for (const int group : placement_.units.units[index].groups)
      nodes += placement_.groups.groups[group].members.size();
    out_ << absl::StrFormat("%s (%d nodes) -> %s\n", unit.name, nodes, costs_.device(device).name.ToString());
    out_ << absl::StrFormat("    kernels %s, receives %s, sends %s, keeps %s\n", Milliseconds(Seconds(index, device)),
                            Bytes(ReceivedBytes(index)), Bytes(SentBytes(index)), Bytes(unit.state));
    if (unit.candidates.size() == 1) {
      out_ << "    no other device: its request, its kernels, its state or the client's input allow none\n";
      return;
    }
    UnitPlacement trial = placement_.chosen.devices;
    for (const int other : unit.candidates) {
      if (other == device) continue;
      trial[index] = other;
      const StepPrediction step = simulator_.Run(trial);
      const int64_t limit = costs_.device(other).memory_bytes;
      out_ << absl::StrFormat("    on %s: kernels %s, step %s%s\n", costs_.device(other).name.ToString(),
                              Milliseconds(Seconds(index, other)), Milliseconds(step.seconds),
                              limit > 0 && step.peak_bytes[other] > limit
                                  ? absl::StrCat(", needs ", Bytes(step.peak_bytes[other]), " of ", Bytes(limit))
                                  : "");
    }
  }

  const ClusterCosts& costs_;
  const CostPlacement& placement_;
  const StepModel& model_;
  std::ostream& out_;
  Simulator simulator_;
};

absl::StatusOr<ClusterCosts> ReadCosts(const PlaceCommand& command) {
  std::string text = command.devices;
  if (absl::string_view file = text; absl::ConsumePrefix(&file, "@")) {
    const std::unique_ptr<FileSystem> files = NewPosixFileSystem();
    ASSIGN_OR_RETURN(text, ReadFileToString(files.get(), std::string(file)));
  }
  ASSIGN_OR_RETURN(std::vector<DeviceCosts> devices, ParseDeviceCosts(text));
  ASSIGN_OR_RETURN(const TransferCost link, ParseTransferCost(command.link));
  ClusterCosts costs(std::move(devices));
  costs.set_links(link);
  return costs;
}

absl::Status PlaceOne(const OpRegistries& registries, const PlaceCommand& command, const ClusterCosts& costs,
                      const KernelTimes& times, const std::string& file, std::ostream& out) {
  tensorflow::GraphDef def;
  RETURN_IF_ERROR(ReadProtoFile(file, &def));
  Graph graph(&registries.ops);
  ImportOptions import;
  import.allow_internal_ops = true;
  RETURN_IF_ERROR(ImportGraphDef(import, std::move(def), &graph));
  CostPlacerOptions options{
      .placement = {.devices = costs.names(), .kernels = &registries.kernels},
      .costs = &costs,
      .model = {.times = &times, .unknown_dimension = command.unknown_dimension, .heaviest_step_only = true},
      .most_kernels = int64_t{command.effort} * 1'000'000};
  ASSIGN_OR_RETURN(const CostPlacement placement, PlaceByCost(options, &graph));
  PlacementPrinter printer(costs, placement, out);
  printer.PrintSummary(file);
  if (command.explain) printer.Explain();
  return absl::OkStatus();
}

}  // namespace

absl::Status PlaceGraphFiles(const OpRegistries& registries, const PlaceCommand& command, std::ostream& out) {
  ASSIGN_OR_RETURN(const ClusterCosts costs, ReadCosts(command));
  KernelTimes times;
  if (!command.times.empty()) {
    tensorflow::RunMetadata metadata;
    RETURN_IF_ERROR(ReadProtoFile(command.times, &metadata));
    times.Add(metadata.step_stats());
    if (times.empty()) times.Add(metadata.cost_graph());
    if (times.empty()) {
      return errors::InvalidArgument(command.times, ": this RunMetadata has no times of kernels; run the step with ",
                                     "trace_level: FULL_TRACE");
    }
  }
  for (const std::string& file : command.files) {
    RETURN_IF_ERROR(Annotate(PlaceOne(registries, command, costs, times, file, out), file));
  }
  return absl::OkStatus();
}

}  // namespace weir
