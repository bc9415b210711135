#include "graph/placement/model_builder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "graph/control_flow.h"
#include "graph/placement/node_work.h"
#include "graph/shapes/shape_refiner.h"

namespace weir {
namespace {

class Builder {
 public:
  Builder(const ModelOptions& options, const Graph& graph, const ClusterCosts& costs, const PlacementGroups& groups,
          const PlacementUnits& units)
      : options_(options), graph_(graph), costs_(costs), groups_(groups), units_(units) {}

  absl::StatusOr<StepModel> Run() {
    order_ = TopologicalOrder(graph_);
    ASSIGN_OR_RETURN(const ShapeRefiner shapes, InferShapes(graph_, {.strict = false}));
    work_.resize(graph_.num_node_ids());
    for (const Node* node : order_) work_[node->id()] = WorkOf(*node, shapes, options_.unknown_dimension);
    FindIterations();
    Calibrate();
    needed_.assign(graph_.num_node_ids(), !options_.heaviest_step_only);
    if (options_.heaviest_step_only) FindHeaviestStep();
    model_.num_devices = costs_.num_devices();
    AddUnits();
    AddKernels();
    AddTensors();
    return std::move(model_);
  }

 private:
  int UnitOf(const Node& node) const { return units_.unit_of_group[groups_.group_of[node.id()]]; }

  void FindIterations() {
    iterations_.assign(graph_.num_node_ids(), 1);
    const absl::StatusOr<ControlFlowInfo> info = AnalyzeControlFlow(graph_);
    if (!info.ok()) return;
    for (const Node* node : order_) {
      for (int frame = info->frame_of[node->id()]; frame > 0; frame = info->frames[frame].parent) {
        iterations_[node->id()] *= options_.loop_iterations;
      }
    }
  }

  double Estimate(const Node& node, int device) const {
    const DeviceCosts& costs = costs_.device(device);
    const NodeWork& work = work_[node.id()];
    const double seconds =
        std::max(work.flops / costs.flops_per_second, work.bytes / costs.bytes_per_second) + costs.seconds_per_kernel;
    return seconds * iterations_[node.id()];
  }

  // A kernel that may wait, such as a dequeue, was measured with its wait.
  const KernelTimes::Time* Measured(const Node& node) const {
    if (options_.times == nullptr || node.registration() == nullptr || node.registration()->may_block) return nullptr;
    return options_.times->Find(node.name());
  }

  // How much longer than estimated the measured kernels took, by device.
  void Calibrate() {
    const int devices = costs_.num_devices();
    std::vector<double> measured(devices, 0), estimated(devices, 0);
    for (const Node* node : order_) {
      const KernelTimes::Time* const time = Measured(*node);
      if (time == nullptr) continue;
      const auto name = DeviceName::ParseFull(time->device);
      const int device = name.ok() ? costs_.Find(*name) : -1;
      if (device < 0) continue;
      measured[device] += time->seconds;
      estimated[device] += Estimate(*node, device);
    }
    scale_.assign(devices, 1);
    for (int i = 0; i < devices; ++i) {
      double took = measured[i], expected = estimated[i];
      for (int j = 0; j < devices && expected == 0; ++j) {
        if (costs_.device(j).name.type == costs_.device(i).name.type && estimated[j] > 0) {
          took = measured[j];
          expected = estimated[j];
        }
      }
      if (expected > 0) scale_[i] = took / expected;
    }
  }

  double Seconds(const Node& node, int device) const {
    const double estimate = Estimate(node, device) * scale_[device];
    const KernelTimes::Time* const time = Measured(node);
    if (time == nullptr) return estimate;
    const auto name = DeviceName::ParseFull(time->device);
    const int there = name.ok() ? costs_.Find(*name) : -1;
    if (there == device) return time->seconds;
    return there < 0 ? estimate : time->seconds * estimate / (Estimate(node, there) * scale_[there]);
  }

  // Of the nodes that depend on the most expensive one.
  void FindHeaviestStep() {
    const Node* heaviest = nullptr;
    for (const Node* node : order_) {
      if (heaviest == nullptr || Estimate(*node, 0) > Estimate(*heaviest, 0)) heaviest = node;
    }
    std::vector<bool> depends(graph_.num_node_ids(), false);
    if (heaviest != nullptr) depends[heaviest->id()] = true;
    std::vector<const Node*> best;
    double most = -1;
    for (const Node* sink : order_) {
      for (const Edge* edge : sink->in_edges()) {
        if (depends[edge->src->id()]) depends[sink->id()] = true;
      }
      if (!sink->out_edges().empty() || !depends[sink->id()]) continue;
      double seconds = 0;
      std::vector<const Node*> ancestors = {sink};
      std::vector<char> seen(graph_.num_node_ids(), 0);
      seen[sink->id()] = 1;
      for (size_t i = 0; i < ancestors.size(); ++i) {
        seconds += Estimate(*ancestors[i], 0);
        for (const Edge* edge : ancestors[i]->in_edges()) {
          if (std::exchange(seen[edge->src->id()], 1) == 0) ancestors.push_back(edge->src);
        }
      }
      if (seconds <= most) continue;
      most = seconds;
      best = std::move(ancestors);
    }
    for (const Node* node : best) needed_[node->id()] = true;
  }

  void AddUnits() {
    model_.units.resize(units_.units.size());
    for (size_t i = 0; i < units_.units.size(); ++i) {
      StepModel::Unit& unit = model_.units[i];
      unit.candidates = units_.units[i].candidates;
      for (const int group : units_.units[i].groups) {
        for (const Node* node : groups_.groups[group].members) {
          if (unit.name.empty() || (HoldsVariable(*node) && !unit.is_variable)) unit.name = node->name();
          unit.state += work_[node->id()].state;
          unit.is_variable = unit.is_variable || HoldsVariable(*node);
        }
      }
    }
  }

  void AddKernels() {
    kernel_of_.assign(graph_.num_node_ids(), -1);
    for (const Node* node : order_) {
      const int unit = UnitOf(*node);
      if (unit < 0 || !needed_[node->id()]) continue;
      const int index = static_cast<int>(model_.kernels.size());
      kernel_of_[node->id()] = index;
      model_.units[unit].kernels.push_back(index);
      StepModel::Kernel& kernel = model_.kernels.emplace_back();
      kernel.node = node->id();
      kernel.unit = unit;
      for (int device = 0; device < costs_.num_devices(); ++device) kernel.seconds.push_back(Seconds(*node, device));
    }
  }

  void AddTensors() {
    absl::flat_hash_map<std::pair<int, int>, int> tensor_of;  // by kernel and output
    for (const Node* node : order_) {
      const int consumer = kernel_of_[node->id()];
      if (consumer < 0) continue;
      // In order of inputs, then of control sources: edges have no order of their own.
      std::vector<const Edge*> edges(node->in_edges().begin(), node->in_edges().end());
      std::sort(edges.begin(), edges.end(), [](const Edge* a, const Edge* b) {
        return std::make_pair(a->src->id(), a->src_output) < std::make_pair(b->src->id(), b->src_output);
      });
      for (const Edge* edge : edges) {
        const int producer = kernel_of_[edge->src->id()];
        if (producer < 0 || producer >= consumer) continue;  // a loop's back edge
        const auto [found, is_new] =
            tensor_of.try_emplace({producer, edge->src_output}, static_cast<int>(model_.tensors.size()));
        if (is_new) AddTensor(producer, *edge);
        StepModel::Tensor& tensor = model_.tensors[found->second];
        if (!tensor.consumers.empty() && tensor.consumers.back() == consumer) continue;
        tensor.consumers.push_back(consumer);
        model_.kernels[consumer].inputs.push_back(found->second);
      }
    }
  }

  void AddTensor(int producer, const Edge& edge) {
    const NodeWork& work = work_[edge.src->id()];
    model_.kernels[producer].outputs.push_back(static_cast<int>(model_.tensors.size()));
    StepModel::Tensor& tensor = model_.tensors.emplace_back();
    tensor.producer = producer;
    tensor.times = iterations_[edge.dst->id()] < iterations_[edge.src->id()] ? 1 : iterations_[edge.src->id()];
    if (edge.is_control()) return;
    tensor.bytes = work.outputs[edge.src_output];
    tensor.memory = work.outputs_are_shared ? 0 : tensor.bytes;
  }

  const ModelOptions& options_;
  const Graph& graph_;
  const ClusterCosts& costs_;
  const PlacementGroups& groups_;
  const PlacementUnits& units_;
  std::vector<Node*> order_;
  std::vector<NodeWork> work_;      // by node
  std::vector<double> iterations_;  // by node
  std::vector<double> scale_;       // by device
  std::vector<bool> needed_;        // by node
  std::vector<int> kernel_of_;      // by node
  StepModel model_;
};

}  // namespace

absl::StatusOr<StepModel> BuildStepModel(const ModelOptions& options, const Graph& graph, const ClusterCosts& costs,
                                         const PlacementGroups& groups, const PlacementUnits& units) {
  return Builder(options, graph, costs, groups, units).Run();
}

}  // namespace weir
