#include "examples/gpt/program.h"

#include <map>

#include "absl/strings/match.h"
#include "graph/graph.h"
#include "weir/ops.h"
#include "weir/optimizer.h"
#include "weir/strategy/mesh_program.h"
#include "weir/strategy/zero.h"

namespace weir::gpt {
namespace {

const std::map<std::string, std::vector<Mesh::Axis>>& Forms() {
  static const auto* const forms = new std::map<std::string, std::vector<Mesh::Axis>>{
      {"none", {}},
      {"data", {{"data", 2}}},
      {"zero", {{"data", 2}}},
      {"tensor", {{"model", 2}}},
      {"pipeline", {{"pipeline", 2}}},
      {"data-tensor", {{"data", 2}, {"model", 2}}},
      {"zero-tensor", {{"data", 2}, {"model", 2}}},
      {"data-pipeline", {{"pipeline", 2}, {"data", 2}}},
      {"tensor-pipeline", {{"pipeline", 2}, {"model", 2}}},
  };
  return *forms;
}

class Builder {
 public:
  explicit Builder(const ProgramOptions& options)
      : options_(options), scope_(Scope::NewRoot()), program_{scope_, scope_} {}

  absl::StatusOr<Program> Run() {
    if (options_.model.width % options_.model.heads != 0) {
      return errors::InvalidArgument("The width ", options_.model.width, " is not a multiple of the ",
                                     options_.model.heads, " heads");
    }
    const std::vector<Mesh::Axis>& axes = Forms().at(options_.parallel);
    ASSIGN_OR_RETURN(
        mesh_, options_.in_cluster ? ClusterMesh(axes, "worker") : TaskMesh(axes, "/job:localhost/replica:0/task:0"));
    program_.num_devices = mesh_.size();
    program_.description = axes.empty() ? "one device" : mesh_.AxesText();
    const PartialTensorShape shape = TensorShape({options_.batch, options_.model.context});
    program_.tokens = ops::Placeholder(scope_.WithName("tokens"), DT_INT32, {.shape = shape});
    program_.labels = ops::Placeholder(scope_.WithName("labels"), DT_INT32, {.shape = shape});
    RETURN_IF_ERROR(Has("pipeline") ? BuildStages() : BuildWhole());
    program_.initialize = InitializeAll(scope_);
    RETURN_IF_ERROR(scope_.status());
    if (Has("model")) {
      RETURN_IF_ERROR(SetLayouts(scope_, mesh_, TensorLayouts("model")));
    }
    if (absl::StartsWith(options_.parallel, "zero")) {
      RETURN_IF_ERROR(SplitOptimizerState(scope_, mesh_, "data").status());
    }
    const bool is_plain = axes.empty() || (Has("pipeline") && axes.size() == 1);
    if (!is_plain) {
      ASSIGN_OR_RETURN(program_.scope, BuildMeshProgram(scope_, {.fetches = {program_.loss}}));
      program_.description += Collectives();
    }
    return program_;
  }

 private:
  bool Has(const std::string& axis) const { return mesh_.FindAxis(axis) >= 0; }

  absl::Status BuildWhole() {
    if (Has("data")) {
      RETURN_IF_ERROR(SplitBatch(mesh_, "data", {program_.tokens, program_.labels}));
    }
    program_.loss = BuildChain(scope_, Model(options_.model), program_.tokens, program_.labels);
    program_.train = AdamOptimizer(options_.learning_rate)->Minimize(scope_, program_.loss, GlobalStep(scope_));
    return scope_.status();
  }

  absl::Status BuildStages() {
    PipelineOptions pipeline;
    pipeline.micro_batches = options_.micro_batches;
    pipeline.schedule = options_.schedule == "gpipe" ? PipelineSchedule::kGPipe : PipelineSchedule::k1F1B;
    if (Has("data")) pipeline.batch_axis = "data";
    for (int s = 0; s < mesh_.axes()[mesh_.FindAxis("pipeline")].size; ++s) {
      ASSIGN_OR_RETURN(Mesh stage, mesh_.Slice("pipeline", s));
      pipeline.stages.push_back(std::move(stage));
    }
    ASSIGN_OR_RETURN(const Pipeline built,
                     BuildPipeline(scope_, Model(options_.model), program_.tokens, program_.labels, pipeline));
    program_.loss = built.loss;
    program_.train = AdamOptimizer(options_.learning_rate)->ApplyGradients(scope_, built.gradients, GlobalStep(scope_));
    return scope_.status();
  }

  // The number of collectives on each device.
  std::string Collectives() const {
    std::map<std::string, int> counts;
    for (const Node* node : program_.scope.graph()->nodes()) {
      if (absl::StartsWith(node->op(), "Collective")) ++counts[node->op()];
    }
    std::string text;
    for (const auto& [op, count] : counts) absl::StrAppend(&text, ", ", count / mesh_.size(), " ", op);
    return text;
  }

  const ProgramOptions& options_;
  const Scope scope_;
  Program program_;
  Mesh mesh_;
};

}  // namespace

std::vector<std::string> ParallelForms() {
  std::vector<std::string> names;
  for (const auto& [name, axes] : Forms()) names.push_back(name);
  return names;
}

absl::StatusOr<Program> BuildProgram(const ProgramOptions& options) { return Builder(options).Run(); }

}  // namespace weir::gpt
