#include "client/strategy/pipeline.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_join.h"
#include "client/gradients.h"
#include "client/ops.h"
#include "client/strategy/mesh_program.h"
#include "core/op/attr_value.h"

namespace weir {
namespace {

// The nodes of one task of a stage.
class NodeSet {
 public:
  void Add(const Graph& graph, int from_id) {
    for (int id = from_id; id < graph.num_node_ids(); ++id) {
      if (Node* node = graph.node(id); node != nullptr) nodes_.push_back(node);
    }
    members_.insert(nodes_.begin(), nodes_.end());
  }

  // Nodes without predecessors in the set.
  std::vector<Node*> First() const {
    return Filter([this](const Node& node) {
      return std::none_of(node.in_edges().begin(), node.in_edges().end(),
                          [this](const Edge* edge) { return members_.contains(edge->src); });
    });
  }
  // Nodes without successors in the set.
  std::vector<Node*> Last() const {
    return Filter([this](const Node& node) {
      return std::none_of(node.out_edges().begin(), node.out_edges().end(),
                          [this](const Edge* edge) { return members_.contains(edge->dst); });
    });
  }

 private:
  std::vector<Node*> Filter(const std::function<bool(const Node&)>& keep) const {
    std::vector<Node*> kept;
    std::copy_if(nodes_.begin(), nodes_.end(), std::back_inserter(kept), [&](const Node* node) { return keep(*node); });
    return kept;
  }

  std::vector<Node*> nodes_;
  absl::flat_hash_set<const Node*> members_;
};

// A stage's values for one micro-batch.
struct Work {
  Output input, output;
  NodeSet forward, backward;
};

class PipelineBuilder {
 public:
  PipelineBuilder(const Scope& scope, const ChainModel& model, const PipelineOptions& options)
      : scope_(scope), model_(model), options_(options), stages_(options.stages.size()) {}

  absl::StatusOr<Pipeline> Run(const Output& input, const Output& labels) {
    RETURN_IF_ERROR(scope_.status());
    RETURN_IF_ERROR(CutModel());
    ASSIGN_OR_RETURN(const OutputList inputs, CutBatch(input, 0, "inputs"));
    ASSIGN_OR_RETURN(const OutputList all_labels, CutBatch(labels, num_stages() - 1, "labels"));
    for (int m = 0; m < options_.micro_batches; ++m) {
      Output x = inputs[m];
      for (int s = 0; s < num_stages(); ++s) x = Forward(s, m, x, all_labels[m]);
    }
    RETURN_IF_ERROR(scope_.status());
    for (int m = 0; m < options_.micro_batches; ++m) {
      Output dy;
      for (int s = num_stages() - 1; s >= 0; --s) {
        ASSIGN_OR_RETURN(dy, Backward(s, m, dy));
      }
    }
    Finish();
    for (int s = 0; s < num_stages(); ++s) Order(s);
    RETURN_IF_ERROR(scope_.status());
    return std::move(result_);
  }

 private:
  struct Stage {
    std::vector<LayerFunction> layers;
    std::vector<ResourceVariable> variables;       // trainable
    std::vector<Work> work;                        // by micro-batch
    std::vector<std::vector<Gradient>> gradients;  // by variable, not summed yet
  };

  int num_stages() const { return static_cast<int>(stages_.size()); }
  Scope ScopeOf(int s) const {
    return options_.stages[s].size() == 1 ? scope_.WithDevice(options_.stages[s].devices()[0]) : scope_;
  }

  // Assigns nodes added since to the stage.
  void Claim(int s, int from_id) {
    Graph* const graph = scope_.graph();
    const Mesh& mesh = options_.stages[s];
    for (int id = from_id; id < graph->num_node_ids(); ++id) {
      Node* const node = graph->node(id);
      if (node == nullptr) continue;
      if (mesh.size() > 1) {
        SetNodeAttr(kMeshAttr, mesh.ToString(), node->mutable_def());
      } else if (node->requested_device().empty() && FindAttr(node->def(), "_class") == nullptr) {
        node->mutable_def()->set_device(mesh.devices()[0]);
      }
    }
  }
  int Now() const { return scope_.graph()->num_node_ids(); }

  absl::Status CutModel() {
    std::vector<double> costs;
    std::vector<std::string> names;
    for (const ChainLayer& layer : model_.layers) {
      costs.push_back(layer.cost);
      names.push_back(layer.name);
    }
    for (int s = 0; s < num_stages(); ++s) {
      if (options_.stages[s].size() == 0) return errors::InvalidArgument("Stage ", s, " of the pipeline has no device");
    }
    if (options_.micro_batches < 1) return errors::InvalidArgument("A pipeline needs a micro-batch at least");
    absl::StatusOr<std::vector<int>> first = CutLayers(costs, num_stages());
    if (!first.ok()) return Annotate(first.status(), absl::StrCat("Layers ", absl::StrJoin(names, ", ")));
    result_.first_layers = *std::move(first);
    for (int s = 0; s < num_stages(); ++s) {
      const int begin = result_.first_layers[s];
      const int end = s + 1 < num_stages() ? result_.first_layers[s + 1] : static_cast<int>(costs.size());
      const size_t num_variables = scope_.variables().size();
      const int from_id = Now();
      for (int i = begin; i < end; ++i) {
        stages_[s].layers.push_back(model_.layers[i].make(ScopeOf(s).SubScope(model_.layers[i].name)));
      }
      Claim(s, from_id);
      for (size_t v = num_variables; v < scope_.variables().size(); ++v) {
        if (scope_.variables()[v].trainable()) stages_[s].variables.push_back(scope_.variables()[v]);
      }
      stages_[s].gradients.resize(stages_[s].variables.size());
      stages_[s].work.resize(options_.micro_batches);
    }
    return scope_.status();
  }

  absl::StatusOr<OutputList> CutBatch(const Output& batch, int s, const std::string& what) {
    PartialTensorShape shape;
    const int parts = options_.micro_batches;
    if (batch.valid() && GetNodeAttr(batch.node()->def(), "shape", &shape).ok() && shape.dims() > 0 &&
        shape.dim_size(0) >= 0 && shape.dim_size(0) % parts != 0) {
      return errors::InvalidArgument("The batch '", batch.name(), "' of ", shape.dim_size(0), " does not divide into ",
                                     parts, " micro-batches: change one of them");
    }
    const int from_id = Now();
    const Scope scope = ScopeOf(s).WithName(absl::StrCat("pipeline/", what));
    const OutputList cut = ops::Split(scope, Tensor::Scalar<int32_t>(0), batch, parts);
    Claim(s, from_id);
    RETURN_IF_ERROR(scope_.status());
    if (options_.batch_axis.empty() || shape.dims() < 1) return cut;
    std::vector<std::string> specs(shape.dims(), Mesh::kUnsharded);
    specs[0] = options_.batch_axis;
    for (const Output& part : cut) RETURN_IF_ERROR(SetLayout(part, options_.stages[s], specs));
    return cut;
  }

  Output Forward(int s, int m, const Output& x, const Output& labels) {
    Work& work = stages_[s].work[m];
    const int from_id = Now();
    const Scope scope = ScopeOf(s).SubScope(absl::StrCat("stage_", s, "/micro_batch_", m));
    // The stage boundary, on this side.
    work.input = ops::Identity(scope.WithName("input"), x);
    Output y = work.input;
    for (const LayerFunction& layer : stages_[s].layers) y = layer(scope, y);
    if (s + 1 == num_stages()) y = model_.loss(scope, y, labels);
    work.output = y;
    Claim(s, from_id);
    work.forward.Add(*scope_.graph(), from_id);
    return y;
  }

  // Returns the gradient of the stage's input, for the previous stage.
  absl::StatusOr<Output> Backward(int s, int m, const Output& dy) {
    Stage& stage = stages_[s];
    Work& work = stage.work[m];
    const int from_id = Now();
    const Scope scope = ScopeOf(s).SubScope(absl::StrCat("stage_", s, "/micro_batch_", m, "/backward"));
    GradientOptions options;
    options.name_scope = absl::StrCat(scope.name(), "/gradients");
    options.grad_ys = {dy.valid() ? dy : scope.Constant(1.0 / options_.micro_batches, work.output.type())};
    std::vector<Output> xs = {work.input};
    for (const ResourceVariable& variable : stage.variables) xs.push_back(variable.handle());
    const std::vector<Gradient> gradients = Gradients(scope, {work.output}, xs, options);
    RETURN_IF_ERROR(scope.status());
    Output dx;
    if (s > 0) {
      if (!gradients[0].valid() || gradients[0].is_sparse()) {
        return errors::InvalidArgument("No gradient flows through layer '", model_.layers[result_.first_layers[s]].name,
                                       "' to the one before; the layers of a pipeline make a chain");
      }
      dx = gradients[0].values;
    }
    for (size_t v = 0; v < stage.variables.size(); ++v) Accumulate(scope, gradients[v + 1], &stage.gradients[v]);
    Claim(s, from_id);
    work.backward.Add(*scope_.graph(), from_id);
    return dx;
  }

  // Dense gradients are summed as they arrive; sparse ones are concatenated at the end.
  static void Accumulate(const Scope& scope, const Gradient& gradient, std::vector<Gradient>* sum) {
    if (!gradient.valid()) return;
    if (!sum->empty() && !sum->back().is_sparse() && !gradient.is_sparse()) {
      sum->back() = Gradient(ops::AddV2(scope.WithName("accumulate"), sum->back().values, gradient.values));
    } else {
      sum->push_back(gradient);
    }
  }

  void Finish() {
    for (int s = 0; s < num_stages(); ++s) {
      const int from_id = Now();
      const Scope scope = ScopeOf(s).SubScope(absl::StrCat("pipeline/stage_", s));
      for (size_t v = 0; v < stages_[s].variables.size(); ++v) {
        const std::vector<Gradient>& parts = stages_[s].gradients[v];
        if (parts.empty()) continue;
        result_.gradients.push_back({parts.size() == 1 ? parts[0] : Join(scope, parts), stages_[s].variables[v]});
      }
      if (s + 1 == num_stages()) {
        InputList losses;
        for (const Work& work : stages_[s].work) losses.emplace_back(work.output);
        result_.loss = ops::Mul(scope.WithName("loss"), ops::AddN(scope, losses), 1.0 / options_.micro_batches);
      }
      Claim(s, from_id);
    }
  }

  static Gradient Join(const Scope& scope, const std::vector<Gradient>& parts) {
    InputList values, indices;
    for (const Gradient& part : parts) {
      if (!part.is_sparse()) {
        scope.UpdateStatus(errors::InvalidArgument("A variable has sparse and dense gradients in one stage"));
        return Gradient();
      }
      values.emplace_back(part.values);
      indices.emplace_back(part.indices);
    }
    const Tensor axis = Tensor::Scalar<int32_t>(0);
    return Gradient(ops::ConcatV2(scope, values, axis), ops::ConcatV2(scope, indices, axis), parts[0].dense_shape);
  }

  void Order(int s) {
    const std::vector<PipelineTask> tasks = TasksOfStage(options_.schedule, s, num_stages(), options_.micro_batches);
    const NodeSet* before = nullptr;
    std::string name;
    for (const PipelineTask& task : tasks) {
      const Work& work = stages_[s].work[task.micro_batch];
      const NodeSet& now = task.is_forward ? work.forward : work.backward;
      if (before != nullptr) {
        std::vector<Operation> last;
        for (Node* node : before->Last()) last.emplace_back(node);
        const int from_id = Now();
        const Operation barrier = ops::NoOp(ScopeOf(s).WithControlDependencies(last).WithName(name));
        Claim(s, from_id);
        if (!barrier.valid()) return;
        for (Node* node : now.First()) scope_.graph()->AddControlEdge(barrier.node(), node);
      }
      before = &now;
      name =
          absl::StrCat("pipeline/stage_", s, "/after_", task.is_forward ? "forward_" : "backward_", task.micro_batch);
    }
  }

  const Scope scope_;
  const ChainModel& model_;
  const PipelineOptions& options_;
  std::vector<Stage> stages_;
  Pipeline result_;
};

}  // namespace

Output BuildChain(const Scope& scope, const ChainModel& model, const Output& input, const Output& labels) {
  Output x = input;
  for (const ChainLayer& layer : model.layers) {
    const LayerFunction apply = layer.make(scope.SubScope(layer.name));
    x = apply(scope.SubScope(absl::StrCat(layer.name, "/apply")), x);
  }
  return model.loss(scope.SubScope("loss"), x, labels);
}

absl::StatusOr<Pipeline> BuildPipeline(const Scope& scope, const ChainModel& model, const Output& input,
                                       const Output& labels, const PipelineOptions& options) {
  return PipelineBuilder(scope, model, options).Run(input, labels);
}

}  // namespace weir
