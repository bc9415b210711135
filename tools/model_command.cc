#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/models/frozen_graph.h"
#include "client/models/npy_file.h"
#include "client/models/saved_model_file.h"
#include "client/models/saved_model_loader.h"
#include "client/models/tensor_json.h"
#include "core/files/file_system.h"
#include "core/op/op_registry.h"
#include "kernels/library.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"
#include "tensorflow/core/protobuf/saved_model.pb.h"
#include "tools/commands.h"
#include "tools/proto_file.h"

namespace weir {
namespace {

constexpr absl::string_view kNpy = ".npy";

bool IsFolder(FileSystem* files, const std::string& path) {
  const absl::StatusOr<FileStat> stat = files->Stat(path);
  return stat.ok() && stat->is_directory;
}

void PrintTensors(absl::string_view title, const std::vector<SignatureTensor>& tensors, std::ostream& out) {
  for (const SignatureTensor& tensor : tensors) {
    out << "    " << title << " " << tensor.name << ": " << DataTypeName(tensor.dtype) << tensor.shape.ToString()
        << (tensor.has_default ? ", has a default" : "") << " (" << tensor.tensor << ")\n";
  }
}

void PrintOpsOf(const tensorflow::GraphDef& graph, const OpRegistry& ops, std::ostream& out) {
  const auto unknown = UnknownOps(graph, ops);
  out << "  ops that this build lacks: " << (unknown.empty() ? "none" : "") << "\n";
  for (const auto& [op, node] : unknown) out << "    " << op << " (node " << node << ")\n";
}

absl::Status PrintMetaGraph(const tensorflow::MetaGraphDef& graph, const OpRegistry& ops, std::ostream& out) {
  if (const std::string& version = graph.meta_info_def().tensorflow_version(); !version.empty()) {
    out << "  written by TensorFlow " << version << "\n";
  }
  out << "  nodes: " << graph.graph_def().node_size() << ", functions: " << graph.graph_def().library().function_size()
      << "\n";
  ASSIGN_OR_RETURN(const std::vector<SignatureInfo> signatures, SignaturesOf(graph));
  for (const SignatureInfo& signature : signatures) {
    out << "  signature " << signature.name << (signature.method.empty() ? "" : ", method ") << signature.method
        << "\n";
    PrintTensors("input", signature.inputs, out);
    PrintTensors("output", signature.outputs, out);
  }
  const std::vector<ModelVariable> variables = VariablesOf(graph.graph_def());
  out << "  variables: " << variables.size() << "\n";
  for (const ModelVariable& variable : variables) {
    out << "    " << variable.name << ": " << DataTypeName(variable.dtype) << variable.shape.ToString() << "\n";
  }
  const std::vector<ModelAsset> assets = AssetsOf(graph);
  out << "  assets: " << assets.size() << "\n";
  for (const ModelAsset& asset : assets) out << "    " << asset.file << " (" << asset.tensor << ")\n";
  PrintOpsOf(graph.graph_def(), ops, out);
  return absl::OkStatus();
}

absl::Status ShowFrozenGraph(const std::string& path, const OpRegistry& ops, std::ostream& out) {
  tensorflow::GraphDef graph;
  RETURN_IF_ERROR(ReadProtoFile(path, &graph));
  out << "frozen graph\n  nodes: " << graph.node_size() << ", functions: " << graph.library().function_size() << "\n";
  if (UnknownOps(graph, ops).empty()) {
    ASSIGN_OR_RETURN(const SignatureInfo signature, DescribeFrozenGraph(path));
    PrintTensors("input", signature.inputs, out);
    PrintTensors("output", signature.outputs, out);
  }
  PrintOpsOf(graph, ops, out);
  return absl::OkStatus();
}

// "x=value" as a pair; "x" as one with an empty value.
std::pair<std::string, std::string> SplitAssignment(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) return {text, ""};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

absl::StatusOr<std::unique_ptr<LoadedModel>> LoadAny(const FileSystemRegistry& registry, const ModelCommand& command) {
  ASSIGN_OR_RETURN(FileSystem* const files, registry.Find(command.path));
  const LoadOptions options{.tags = command.tags, .target = command.target};
  if (IsFolder(files, command.path)) return LoadSavedModel(command.path, options);
  FrozenGraphOptions graph{.init_op = command.init_op};
  for (const std::string& input : command.inputs) graph.inputs.push_back(SplitAssignment(input).first);
  for (const std::string& output : command.outputs) graph.outputs.push_back(SplitAssignment(output).first);
  return LoadFrozenGraph(command.path, graph, options);
}

absl::StatusOr<Tensor> ReadNpyAt(const FileSystemRegistry& registry, const std::string& path) {
  ASSIGN_OR_RETURN(FileSystem* const files, registry.Find(path));
  return ReadNpyFile(files, path);
}

// The values of --input, by name. Those without a place in the signature are left to its check.
absl::StatusOr<TensorMap> ReadInputs(const FileSystemRegistry& registry, const ModelCommand& command,
                                     const SignatureInfo& signature) {
  TensorMap values;
  for (const std::string& input : command.inputs) {
    const auto [name, text] = SplitAssignment(input);
    const auto is_it = [&name = name](const SignatureTensor& tensor) { return tensor.name == name; };
    const auto tensor = std::find_if(signature.inputs.begin(), signature.inputs.end(), is_it);
    if (tensor == signature.inputs.end()) {
      return errors::InvalidArgument("There is no input '", name, "'; the signature is ", signature.ToString());
    }
    absl::StatusOr<Tensor> value =
        absl::EndsWith(text, kNpy) ? ReadNpyAt(registry, text) : TensorFromJson(text, tensor->dtype);
    if (!value.ok()) return Annotate(value.status(), absl::StrCat("Input '", name, "'"));
    if (!values.emplace(name, *std::move(value)).second)
      return errors::InvalidArgument("Input '", name, "' is there twice");
  }
  return values;
}

absl::Status WriteOutputs(const FileSystemRegistry& registry, const ModelCommand& command, TensorMap results,
                          std::ostream& out) {
  std::vector<std::string> printed;
  for (const std::string& output : command.outputs) {
    const auto [name, file] = SplitAssignment(output);
    const auto result = results.find(name);
    if (result == results.end()) return errors::InvalidArgument("There is no output '", name, "'");
    if (file.empty()) {
      printed.push_back(name);
    } else {
      ASSIGN_OR_RETURN(FileSystem* const files, registry.Find(file));
      RETURN_IF_ERROR(WriteNpyFile(files, file, result->second));
    }
  }
  for (const auto& [name, value] : results) {
    if (command.outputs.empty()) printed.push_back(name);
  }
  if (printed.empty()) return absl::OkStatus();
  std::vector<std::string> lines;
  for (const std::string& name : printed) {
    ASSIGN_OR_RETURN(const std::string text, TensorToJson(results[name]));
    lines.push_back(absl::StrCat(JsonString(name), ": ", text));
  }
  out << "{" << absl::StrJoin(lines, ",\n ") << "}\n";
  return absl::OkStatus();
}

}  // namespace

absl::Status ShowModel(const std::string& path, std::ostream& out) {
  const std::shared_ptr<FileSystemRegistry> registry = FileSystemRegistry::Default();
  ASSIGN_OR_RETURN(FileSystem* const files, registry->Find(path));
  OpRegistry ops;
  RETURN_IF_ERROR(RegisterAllOps(ops));
  if (files->Exists(path) && !IsFolder(files, path)) return ShowFrozenGraph(path, ops, out);
  ASSIGN_OR_RETURN(const std::unique_ptr<tensorflow::SavedModel> model, ReadSavedModelFile(files, path));
  const std::vector<std::string> tags = TagSets(*model);
  for (int i = 0; i < model->meta_graphs_size(); ++i) {
    out << "tags " << tags[i] << "\n";
    RETURN_IF_ERROR(PrintMetaGraph(model->meta_graphs(i), ops, out));
  }
  return absl::OkStatus();
}

absl::Status RunModel(const ModelCommand& command, std::ostream& out) {
  const std::shared_ptr<FileSystemRegistry> registry = FileSystemRegistry::Default();
  ASSIGN_OR_RETURN(const std::unique_ptr<LoadedModel> model, LoadAny(*registry, command));
  ASSIGN_OR_RETURN(const auto signature, model->Signature(command.signature));
  ASSIGN_OR_RETURN(const TensorMap inputs, ReadInputs(*registry, command, signature->info()));
  ASSIGN_OR_RETURN(TensorMap results, signature->RunNamed(inputs));
  return WriteOutputs(*registry, command, std::move(results), out);
}

absl::Status FreezeModelTo(const ModelCommand& command, const std::string& file, std::ostream& out) {
  const std::shared_ptr<FileSystemRegistry> registry = FileSystemRegistry::Default();
  ASSIGN_OR_RETURN(const std::unique_ptr<LoadedModel> model, LoadAny(*registry, command));
  ASSIGN_OR_RETURN(const FrozenModel frozen, FreezeModel(*model, command.signature, file));
  out << file << ": " << frozen.nodes << " nodes; " << frozen.variables << " variables became constants\n";
  PrintTensors("input", frozen.signature.inputs, out);
  PrintTensors("output", frozen.signature.outputs, out);
  if (!frozen.init_op.empty()) out << "    init op " << frozen.init_op << ", which fills tables\n";
  return absl::OkStatus();
}

}  // namespace weir
