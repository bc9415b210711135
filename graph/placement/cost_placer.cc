#include "graph/placement/cost_placer.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/placement/baselines.h"
#include "graph/placement/improvement.h"
#include "graph/placement/list_scheduler.h"

namespace weir {
namespace {

constexpr int kImprovedStarts = 2;
constexpr int kNamedUnits = 3;

bool IsStateless(const PlacementGroup& group) {
  return std::all_of(group.members.begin(), group.members.end(), [](const Node* node) {
    const bool by_ref = std::any_of(node->output_types().begin(), node->output_types().end(), IsRefType);
    return !node->IsStateful() && !by_ref && !node->op().starts_with("_");
  });
}

// Puts the devices of a graph back unless the placement succeeds.
class DeviceRestorer {
 public:
  explicit DeviceRestorer(Graph* graph) : graph_(graph), devices_(graph->num_node_ids()) {
    for (const Node* node : graph->nodes()) devices_[node->id()] = node->assigned_device();
  }
  ~DeviceRestorer() {
    if (!restores_) return;
    for (Node* node : graph_->nodes()) node->set_assigned_device(devices_[node->id()]);
  }
  DeviceRestorer(const DeviceRestorer&) = delete;
  void Release() { restores_ = false; }
  const std::vector<std::string>& devices() const { return devices_; }

 private:
  Graph* const graph_;
  std::vector<std::string> devices_;
  bool restores_ = true;
};

class CostPlacer {
 public:
  CostPlacer(const CostPlacerOptions& options, Graph* graph)
      : options_(options), costs_(*options.costs), graph_(graph) {}

  absl::StatusOr<CostPlacement> Run() {
    DeviceRestorer restorer(graph_);
    given_ = restorer.devices();
    PlaceFirst();
    if (options_.reopens_stateless) Reopen();
    result_.groups = ColocateNodes(*graph_, options_.placement.allow_soft_placement);
    result_.units =
        FindUnits({.kernels = options_.placement.kernels, .costs = &costs_}, *graph_, result_.groups, given_);
    ASSIGN_OR_RETURN(result_.model, BuildStepModel(options_.model, *graph_, costs_, result_.groups, result_.units));
    RETURN_IF_ERROR(Choose());
    RETURN_IF_ERROR(CheckMemory());
    Assign();
    restorer.Release();
    return std::move(result_);
  }

 private:
  // On a copy, so that open nodes stay open.
  void PlaceFirst() {
    const std::unique_ptr<Graph> copy = graph_->Clone();
    result_.unplaced = PlaceGraph(options_.placement, copy.get());
    for (const Node* node : copy->nodes()) given_[node->id()] = node->assigned_device();
  }

  void Reopen() {
    const PlacementGroups groups = ColocateNodes(*graph_, options_.placement.allow_soft_placement);
    for (const PlacementGroup& group : groups.groups) {
      if (!IsStateless(group)) continue;
      for (Node* node : group.members) node->set_assigned_device("");
    }
  }

  bool HasChoice() const {
    return !result_.model.kernels.empty() && std::any_of(result_.units.units.begin(), result_.units.units.end(),
                                                         [](const PlacementUnit& unit) { return unit.is_open; });
  }

  PlacementScore Score(const SimulatedPlacement& placement) const { return ScoreOf(placement.step, costs_); }
  SimulatedPlacement Simulated(std::string name, UnitPlacement devices) {
    StepPrediction step = Simulator(result_.model, costs_).Run(devices);
    return {std::move(name), std::move(devices), std::move(step)};
  }
  const SimulatedPlacement& Best(const std::vector<SimulatedPlacement>& placements) const {
    return *std::min_element(
        placements.begin(), placements.end(),
        [&](const SimulatedPlacement& a, const SimulatedPlacement& b) { return Score(a) < Score(b); });
  }

  // The best over all devices that may be `make`'s.
  template <typename Make>
  SimulatedPlacement BestOver(const std::string& name, Make make) {
    std::vector<SimulatedPlacement> placements;
    for (int device = 0; device < costs_.num_devices(); ++device) {
      placements.push_back(Simulated(name, make(device)));
    }
    return Best(placements);
  }

  void AddOthers() {
    const StepModel& model = result_.model;
    result_.others.push_back(Simulated("first fit", FirstFit(model)));
    result_.others.push_back(BestOver("single device", [&](int device) { return OnDevice(model, device); }));
    result_.others.push_back(
        BestOver("round-robin", [&](int worker) { return SpreadVariablesOf(model, SpreadBy::kTurns, worker); }));
    result_.others.push_back(
        BestOver("greedy", [&](int worker) { return SpreadVariablesOf(model, SpreadBy::kBytes, worker); }));
  }

  absl::Status Choose() {
    AddOthers();
    if (!HasChoice()) {
      result_.chosen = result_.others.front();
      result_.chosen.name = "by cost";
      return absl::OkStatus();
    }
    std::vector<SimulatedPlacement> starts = result_.others;
    starts.push_back(Simulated("list schedule", ScheduleByRank(result_.model, costs_)));
    std::stable_sort(starts.begin(), starts.end(),
                     [&](const SimulatedPlacement& a, const SimulatedPlacement& b) { return Score(a) < Score(b); });
    starts.erase(
        std::unique(starts.begin(), starts.end(),
                    [](const SimulatedPlacement& a, const SimulatedPlacement& b) { return a.devices == b.devices; }),
        starts.end());
    const ImprovementOptions improvement{.most_kernels = options_.most_kernels / kImprovedStarts,
                                         .check = options_.check};
    std::vector<SimulatedPlacement> improved = starts;
    for (int i = 0; i < std::min<int>(kImprovedStarts, static_cast<int>(starts.size())); ++i) {
      ASSIGN_OR_RETURN(UnitPlacement devices, Improve(improvement, result_.model, costs_, starts[i].devices));
      improved.push_back(Simulated("by cost", std::move(devices)));
    }
    result_.chosen = Best(improved);
    result_.chosen.name = "by cost";
    return absl::OkStatus();
  }

  int64_t StateOn(int device) const {
    int64_t state = 0;
    for (size_t i = 0; i < result_.model.units.size(); ++i) {
      if (result_.chosen.devices[i] == device) state += result_.model.units[i].state;
    }
    return state;
  }

  absl::Status CheckMemory() const {
    for (int device = 0; device < costs_.num_devices(); ++device) {
      const int64_t limit = costs_.device(device).memory_bytes, state = StateOn(device);
      const int64_t needed = options_.counts_live_tensors ? result_.chosen.step.peak_bytes[device] : state;
      if (limit == 0 || needed <= limit) continue;
      std::vector<const StepModel::Unit*> units;
      for (size_t i = 0; i < result_.model.units.size(); ++i) {
        if (result_.chosen.devices[i] == device) units.push_back(&result_.model.units[i]);
      }
      std::stable_sort(units.begin(), units.end(),
                       [](const StepModel::Unit* a, const StepModel::Unit* b) { return a->state > b->state; });
      units.resize(std::min<size_t>(units.size(), kNamedUnits));
      return errors::ResourceExhausted("Placement by cost found no placement that fits into the devices' memory: ",
                                       costs_.device(device).name.ToString(), " has ", limit, " bytes, but needs ",
                                       needed, ": ", state, " for variables and constants, ", needed - state,
                                       " for other tensors. Largest there: ",
                                       absl::StrJoin(units, ", ",
                                                     [](std::string* out, const StepModel::Unit* unit) {
                                                       absl::StrAppend(out, unit->name, " (", unit->state, " bytes)");
                                                     }),
                                       ". Add devices or memory, or split large variables");
    }
    return absl::OkStatus();
  }

  void Assign() {
    for (size_t i = 0; i < result_.groups.groups.size(); ++i) {
      const int unit = result_.units.unit_of_group[i];
      for (Node* node : result_.groups.groups[i].members) {
        node->set_assigned_device(unit < 0 ? given_[node->id()]
                                           : costs_.device(result_.chosen.devices[unit]).name.ToString());
      }
    }
  }

  const CostPlacerOptions& options_;
  const ClusterCosts& costs_;
  Graph* const graph_;
  std::vector<std::string> given_;  // by node id: the device without regard to cost
  CostPlacement result_;
};

}  // namespace

absl::StatusOr<CostPlacement> PlaceByCost(const CostPlacerOptions& options, Graph* graph) {
  return CostPlacer(options, graph).Run();
}

}  // namespace weir
