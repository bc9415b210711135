#include "client/models/frozen_graph.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "client/models/model_parts.h"
#include "client/models/needed_nodes.h"
#include "client/models/saved_model_file.h"
#include "client/models/variable_freezer.h"
#include "core/files/file_system.h"
#include "core/op/attr_value.h"
#include "core/proto_text.h"
#include "graph/graph.h"
#include "graph/graph_import.h"
#include "graph/shapes/shape_refiner.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace weir {
namespace {

using tensorflow::GraphDef;
using tensorflow::NodeDef;

constexpr char kSignature[] = "serving_default";

absl::StatusOr<GraphDef> ReadGraphDef(FileSystem* files, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFileToString(files, path, std::numeric_limits<int>::max()));
  GraphDef graph;
  if (graph.ParseFromString(bytes) && !graph.node().empty()) return graph;
  if (ParseProtoText(bytes, &graph).ok() && !graph.node().empty()) return graph;
  return errors::DataLoss(path, " is truncated, or is not a GraphDef");
}

// The tensor as callers of the signature see it.
SignatureTensor Describe(const Output& output, const ShapeRefiner& shapes) {
  return {.name = output.index() == 0 ? output.op().name() : output.name(),
          .tensor = output.name(),
          .dtype = output.type(),
          .shape = shapes.shape(*output.node(), output.index())};
}

bool IsResult(const Node& node) {
  if (node.num_outputs() == 0) return false;
  return std::all_of(node.out_edges().begin(), node.out_edges().end(), [](const Edge* e) { return e->is_control(); });
}

absl::StatusOr<SignatureInfo> DescribeGraph(const GraphDef& def, const FrozenGraphOptions& options) {
  const Scope scope = Scope::NewRoot();
  RETURN_IF_ERROR(scope.status());
  RETURN_IF_ERROR(CheckModelOps(def, scope.graph()->ops()));
  RETURN_IF_ERROR(ImportGraphDef({.from_any_producer = true}, def, scope.graph()));
  const Graph& graph = *scope.graph();
  ASSIGN_OR_RETURN(const ShapeRefiner shapes, InferShapes(graph, {.strict = false}));
  SignatureInfo info{.name = kSignature};
  const auto describe = [&](const std::vector<std::string>& names, const auto& is_one,
                            std::vector<SignatureTensor>* tensors) -> absl::Status {
    for (const std::string& name : names) {
      ASSIGN_OR_RETURN(const Output output, FindOutput(graph, name));
      tensors->push_back(Describe(output, shapes));
    }
    if (!names.empty()) return absl::OkStatus();
    for (Node* node : graph.nodes()) {
      for (int i = 0; is_one(*node) && i < node->num_outputs(); ++i) {
        tensors->push_back(Describe(Output(node, i), shapes));
      }
    }
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(describe(
      options.inputs, [](const Node& n) { return n.op() == "Placeholder"; }, &info.inputs));
  RETURN_IF_ERROR(describe(options.outputs, IsResult, &info.outputs));
  return info;
}

absl::StatusOr<ModelSource> ReadFrozenSource(const std::string& file, const FrozenGraphOptions& options) {
  const std::shared_ptr<FileSystemRegistry> registry = FileSystemRegistry::Default();
  ASSIGN_OR_RETURN(FileSystem * files, registry->Find(file));
  ModelSource source;
  ASSIGN_OR_RETURN(source.graph, ReadGraphDef(files, file));
  if (!options.outputs.empty()) {
    std::vector<std::string> roots;
    for (const auto* tensors : {&options.inputs, &options.outputs}) {
      for (const std::string& tensor : *tensors) roots.push_back(NodeOfTensor(tensor));
    }
    if (!options.init_op.empty()) roots.push_back(options.init_op);
    RETURN_IF_ERROR(KeepNeededNodes(roots, &source.graph));
  }
  ASSIGN_OR_RETURN(SignatureInfo signature, DescribeGraph(source.graph, options));
  source.signatures.push_back(std::move(signature));
  source.init_op = options.init_op;
  return source;
}

bool IsTable(const NodeDef& node) { return absl::StrContains(node.op(), "HashTable"); }

// Adds an op that reads the variable `node` is a handle of, or the node itself if it is a reference variable.
Output ReadOf(const Scope& scope, Node* node) {
  if (node->op() != "VarHandleOp") return Output(node, 0);
  NodeDef read;
  read.set_op("ReadVariableOp");
  (*read.mutable_attr())["dtype"] = node->def().attr().at("dtype");
  return Output(scope.AddOp(std::move(read), {InputList{Output(node, 0)}}), 0);
}

// The present values of the graph's variables, by name.
absl::StatusOr<std::map<std::string, Tensor>> ReadVariables(const ModelParts& parts, const GraphDef& def) {
  std::vector<std::string> names;
  std::vector<Output> reads;
  const Scope scope = parts.scope.Root().SubScope("freeze");
  for (const NodeDef& node : def.node()) {
    if (!IsVariableNode(node)) continue;
    Node* const variable = parts.scope.graph()->FindNode(node.name());
    if (variable == nullptr) return errors::Internal("Variable '", node.name(), "' is not in the model's graph");
    names.push_back(VariableNameOf(node));
    reads.push_back(ReadOf(scope, variable));
  }
  RETURN_IF_ERROR(scope.status());
  ASSIGN_OR_RETURN(std::vector<Tensor> values, parts.session->Run(reads));
  std::map<std::string, Tensor> by_name;
  for (size_t i = 0; i < names.size(); ++i) by_name.emplace(names[i], std::move(values[i]));
  return by_name;
}

// The error, with the file's name unless it has it already.
absl::Status NameFile(const absl::Status& status, const std::string& file) {
  return absl::StrContains(status.message(), file) ? status : Annotate(status, file);
}

std::vector<std::string> NodesOf(const SignatureInfo& signature) {
  std::vector<std::string> nodes;
  for (const auto* tensors : {&signature.inputs, &signature.outputs}) {
    for (const SignatureTensor& tensor : *tensors) nodes.push_back(NodeOfTensor(tensor.tensor));
  }
  return nodes;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LoadedModel>> LoadFrozenGraph(const std::string& file, const FrozenGraphOptions& graph,
                                                             const LoadOptions& options) {
  absl::StatusOr<ModelSource> source = ReadFrozenSource(file, graph);
  if (!source.ok()) return NameFile(source.status(), file);
  absl::StatusOr<std::unique_ptr<LoadedModel>> loaded = LoadedModel::Load(*std::move(source), options);
  if (!loaded.ok()) return NameFile(loaded.status(), file);
  return loaded;
}

absl::StatusOr<SignatureInfo> DescribeFrozenGraph(const std::string& file, const FrozenGraphOptions& graph) {
  absl::StatusOr<ModelSource> source = ReadFrozenSource(file, graph);
  if (!source.ok()) return NameFile(source.status(), file);
  return std::move(source->signatures[0]);
}

absl::StatusOr<FrozenModel> FreezeModel(const LoadedModel& model, const std::string& signature,
                                        const std::string& file) {
  ASSIGN_OR_RETURN(const auto prepared, model.Signature(signature));
  FrozenModel frozen{.signature = prepared->info()};
  const ModelParts& parts = model.parts();
  GraphDef graph = parts.scope.ToGraphDef();
  std::vector<std::string> roots = NodesOf(frozen.signature);
  GraphDef needed = graph;
  RETURN_IF_ERROR(KeepNeededNodes(roots, &needed));
  const bool has_tables = std::any_of(needed.node().begin(), needed.node().end(), IsTable);
  if (has_tables && !parts.init_op.empty() && RemoveVariableWrites(parts.init_op, &graph)) {
    frozen.init_op = parts.init_op;
    roots.push_back(parts.init_op);
  }
  RETURN_IF_ERROR(KeepNeededNodes(roots, &graph));
  ASSIGN_OR_RETURN(const auto values, ReadVariables(parts, graph));
  RETURN_IF_ERROR(FreezeVariables(values, &graph));
  RETURN_IF_ERROR(KeepNeededNodes(roots, &graph));
  frozen.nodes = graph.node_size();
  frozen.variables = static_cast<int>(values.size());
  Graph checked(&parts.scope.graph()->ops());
  RETURN_IF_ERROR(Annotate(ImportGraphDef({.from_any_producer = true}, graph, &checked), "The frozen graph"));
  if (graph.ByteSizeLong() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    return errors::ResourceExhausted("The frozen graph has ", graph.ByteSizeLong(), " bytes; a GraphDef is limited to ",
                                     std::numeric_limits<int>::max());
  }
  const std::shared_ptr<FileSystemRegistry> registry = FileSystemRegistry::Default();
  ASSIGN_OR_RETURN(FileSystem * files, registry->Find(file));
  RETURN_IF_ERROR(WriteStringToFile(files, file, graph.SerializeAsString()));
  return frozen;
}

}  // namespace weir
