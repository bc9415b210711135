#include "client/models/saved_model_loader.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_join.h"
#include "client/models/model_parts.h"
#include "client/models/needed_nodes.h"
#include "client/models/saved_model_file.h"
#include "core/checkpoint/bundle_reader.h"
#include "core/op/attr_value.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"
#include "tensorflow/core/protobuf/saved_model.pb.h"

namespace weir {
namespace {

using tensorflow::MetaGraphDef;
using tensorflow::NodeDef;

constexpr char kVariables[] = "variables/variables";
constexpr char kAssets[] = "assets";

// Points the graph to the files of `assets`: constants get a file's path as their value, other tensors are to be fed.
absl::Status PlaceAssets(FileSystem* files, const std::string& dir, const std::vector<ModelAsset>& assets,
                         ModelSource* source) {
  absl::flat_hash_map<std::string, NodeDef*> constants;
  if (!assets.empty()) {
    for (NodeDef& node : *source->graph.mutable_node()) {
      if (node.op() == "Const") constants.emplace(node.name(), &node);
    }
  }
  for (const ModelAsset& asset : assets) {
    const std::string path = JoinPath(JoinPath(dir, kAssets), asset.file);
    if (!files->Exists(path)) return errors::NotFound("The model's asset ", path, " does not exist");
    const Tensor value = Tensor::Scalar<tstring>(path);
    const auto constant = constants.find(NodeOfTensor(asset.tensor));
    if (constant != constants.end()) {
      SetNodeAttr("value", value, constant->second);
    } else {
      source->init_feeds.emplace_back(asset.tensor, value);
    }
  }
  return absl::OkStatus();
}

// Checks the files of the variables, so that damage is found before a session is opened.
absl::Status CheckVariables(FileSystem* files, const std::string& prefix) {
  absl::StatusOr<std::unique_ptr<BundleReader>> reader = BundleReader::Open(files, prefix);
  RETURN_IF_ERROR(Annotate(reader.status(), "The model's variables"));
  return Annotate((*reader)->CheckComplete(), "The model's variables");
}

absl::Status PlanRestore(FileSystem* files, const std::string& dir, const MetaGraphDef& graph, ModelSource* source) {
  const std::string prefix = JoinPath(dir, kVariables);
  const bool has_files = files->Exists(BundleIndexPath(prefix));
  if (graph.saver_def().restore_op_name().empty()) return absl::OkStatus();
  if (!has_files) {
    const std::vector<ModelVariable> variables = VariablesOf(graph.graph_def());
    if (variables.empty()) return absl::OkStatus();
    return errors::NotFound(BundleIndexPath(prefix), " does not exist, but the model has ", variables.size(),
                            " variables, such as '", variables[0].name, "'; only part of it was written or copied");
  }
  RETURN_IF_ERROR(CheckVariables(files, prefix));
  source->restore_op = graph.saver_def().restore_op_name();
  source->restore_feeds.emplace_back(graph.saver_def().filename_tensor_name(), Tensor::Scalar<tstring>(prefix));
  return absl::OkStatus();
}

absl::StatusOr<ModelSource> ReadSource(FileSystem* files, const std::string& dir,
                                       const std::vector<std::string>& tags) {
  ASSIGN_OR_RETURN(const std::unique_ptr<tensorflow::SavedModel> model, ReadSavedModelFile(files, dir));
  ASSIGN_OR_RETURN(const MetaGraphDef* const graph, FindMetaGraph(*model, tags));
  ModelSource source;
  ASSIGN_OR_RETURN(source.signatures, SignaturesOf(*graph));
  for (const SignatureInfo& signature : source.signatures) {
    ASSIGN_OR_RETURN(source.defaults[signature.name], SignatureDefaults(*graph, signature.name));
  }
  RETURN_IF_ERROR(PlanRestore(files, dir, *graph, &source));
  ASSIGN_OR_RETURN(source.init_op, InitOpOf(*graph));
  source.graph = graph->graph_def();
  RETURN_IF_ERROR(PlaceAssets(files, dir, AssetsOf(*graph), &source));
  return source;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LoadedModel>> LoadSavedModel(const std::string& dir, const LoadOptions& options) {
  const std::shared_ptr<FileSystemRegistry> registry = FileSystemRegistry::Default();
  ASSIGN_OR_RETURN(FileSystem * files, registry->Find(dir));
  absl::StatusOr<ModelSource> source = ReadSource(files, dir, options.tags);
  RETURN_IF_ERROR(source.status());
  absl::StatusOr<std::unique_ptr<LoadedModel>> loaded = LoadedModel::Load(*std::move(source), options);
  if (!loaded.ok()) return Annotate(loaded.status(), dir);
  return loaded;
}

}  // namespace weir
