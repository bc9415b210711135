#include "client/strategy/mesh_program.h"

#include <algorithm>

#include "client/graph_evaluator.h"
#include "core/device/device_name.h"
#include "core/op/attr_value.h"
#include "graph/graph_import.h"
#include "graph/passes/pass_manager.h"
#include "tensorflow/core/framework/attr_value.pb.h"

namespace weir {
namespace {

int64_t SizeOf(const std::vector<Mesh::Axis>& axes) {
  int64_t size = 1;
  for (const Mesh::Axis& axis : axes) size *= std::clamp(axis.size, 0, 1 << 10);
  return std::min<int64_t>(size, 1 << 16);
}

// Gradient ops compute with shapes: constant folding of known shapes makes more shapes known.
PassManager Passes() {
  PassManager passes;
  passes.Add(MakeInlinePass());
  for (int round = 0; round < 2; ++round) {
    passes.Add(MakeShapeMaterializationPass());
    passes.Add(MakeConstantFoldingPass());
  }
  passes.Add(MakePrunePass());
  passes.Add(MakeSpmdPass());
  passes.Add(MakePrunePass());
  return passes;
}

PassContext ContextOf(const Graph& graph, const MeshProgramOptions& options) {
  PassContext context;
  for (const Output& output : options.fetches) context.fetches.push_back(output.name());
  for (const Output& output : options.feeds) context.feeds.push_back(output.name());
  for (const Node* node : graph.nodes()) {
    if (node->out_edges().empty()) context.targets.push_back(node->name());
  }
  return context;
}

absl::Status CheckBuilt(const std::vector<Output>& outputs) {
  for (const Output& output : outputs) {
    if (!output.valid()) return errors::InvalidArgument("A fetch or feed of a mesh program was never built");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Mesh> TaskMesh(std::vector<Mesh::Axis> axes, const std::string& task) {
  std::vector<std::string> devices;
  ASSIGN_OR_RETURN(DeviceName name, DeviceName::Parse(task));
  name.replica = name.replica.value_or(0);
  name.type = "CPU";
  for (int64_t i = 0; i < SizeOf(axes); ++i) {
    name.id = static_cast<int>(i);
    devices.push_back(name.ToString());
  }
  return Mesh::Create(std::move(axes), std::move(devices));
}

absl::StatusOr<Mesh> ClusterMesh(std::vector<Mesh::Axis> axes, const std::string& job) {
  std::vector<std::string> devices;
  for (int64_t i = 0; i < SizeOf(axes); ++i) {
    devices.push_back(absl::StrCat("/job:", job, "/replica:0/task:", i, "/device:CPU:0"));
  }
  return Mesh::Create(std::move(axes), std::move(devices));
}

absl::Status SetLayout(const Output& tensor, const Mesh& mesh, std::vector<std::string> specs) {
  if (!tensor.valid()) return errors::InvalidArgument("A layout was given to a tensor that was never built");
  absl::StatusOr<Layout> layout = Layout::Create(std::move(specs), mesh);
  if (!layout.ok()) return Annotate(layout.status(), absl::StrCat("Layout of '", tensor.name(), "'"));
  std::vector<std::string> layouts(tensor.node()->num_outputs());
  if (const auto* attr = FindAttr(tensor.node()->def(), kLayoutAttr); attr != nullptr) {
    for (int i = 0; i < attr->list().s_size() && i < static_cast<int>(layouts.size()); ++i) {
      layouts[i] = attr->list().s(i);
    }
  }
  layouts[tensor.index()] = layout->ToString();
  SetNodeAttr(kLayoutAttr, layouts, tensor.node()->mutable_def());
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Layout>> GetLayout(const Output& tensor) {
  if (!tensor.valid()) return std::optional<Layout>();
  const auto* attr = FindAttr(tensor.node()->def(), kLayoutAttr);
  if (attr == nullptr || attr->list().s_size() <= tensor.index() || attr->list().s(tensor.index()).empty()) {
    return std::optional<Layout>();
  }
  ASSIGN_OR_RETURN(Layout layout, Layout::Parse(attr->list().s(tensor.index())));
  return std::optional<Layout>(std::move(layout));
}

absl::StatusOr<Mesh> MeshOfStage(const Output& tensor, const Mesh& mesh) {
  const auto* attr = tensor.valid() ? FindAttr(tensor.node()->def(), kMeshAttr) : nullptr;
  return attr == nullptr ? mesh : Mesh::Parse(attr->s());
}

absl::Status SplitBatch(const Mesh& mesh, const std::string& axis, const std::vector<Output>& tensors) {
  for (const Output& tensor : tensors) {
    if (!tensor.valid()) return errors::InvalidArgument("A batch to split was never built");
    PartialTensorShape shape;
    if (!GetNodeAttr(tensor.node()->def(), "shape", &shape).ok() || shape.dims() < 1) {
      return errors::InvalidArgument("The batch '", tensor.name(),
                                     "' is not a placeholder of known rank; set its attribute shape");
    }
    std::vector<std::string> specs(shape.dims(), Mesh::kUnsharded);
    specs[0] = axis;
    RETURN_IF_ERROR(SetLayout(tensor, mesh, std::move(specs)));
  }
  return absl::OkStatus();
}

absl::StatusOr<Scope> BuildMeshProgram(const Scope& scope, const MeshProgramOptions& options) {
  RETURN_IF_ERROR(scope.status());
  RETURN_IF_ERROR(CheckBuilt(options.fetches));
  RETURN_IF_ERROR(CheckBuilt(options.feeds));
  std::unique_ptr<Graph> graph = scope.graph()->Clone();
  PassContext context = ContextOf(*graph, options);

  ASSIGN_OR_RETURN(const std::unique_ptr<GraphEvaluator> evaluator, GraphEvaluator::Create(&graph->ops()));
  context.evaluate = evaluator->evaluator();
  RETURN_IF_ERROR(Passes().Run(context, graph.get()).status());

  const Scope program = Scope::NewRoot();
  RETURN_IF_ERROR(ImportGraphDef({.allow_internal_ops = true}, graph->ToGraphDef(), program.graph()));
  return program;
}

}  // namespace weir
