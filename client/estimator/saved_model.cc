#include "client/estimator/saved_model.h"

#include <algorithm>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "client/estimator/model_assets.h"
#include "client/lookup/static_hash_table.h"
#include "client/saver.h"
#include "client/session.h"
#include "core/files/file_system.h"
#include "graph/shapes/shape_refiner.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"
#include "tensorflow/core/protobuf/saved_model.pb.h"
#include "tensorflow/core/protobuf/saver.pb.h"

namespace weir {
namespace {

constexpr char kPredict[] = "tensorflow/serving/predict";
constexpr char kServe[] = "serve";
constexpr char kDefaultSignature[] = "serving_default";
constexpr char kInitOp[] = "saved_model_main_op";
constexpr int64_t kSchemaVersion = 1;

absl::Status Describe(const std::map<std::string, Output>& outputs, const ShapeRefiner& shapes,
                      google::protobuf::Map<std::string, tensorflow::TensorInfo>* infos) {
  for (const auto& [name, output] : outputs) {
    if (!output.valid()) return errors::InvalidArgument("'", name, "' of a signature was never built");
    tensorflow::TensorInfo& info = (*infos)[name];
    info.set_name(output.name());
    info.set_dtype(static_cast<tensorflow::DataType>(output.type()));
    shapes.shape(*output.node(), output.index()).ToProto(info.mutable_tensor_shape());
  }
  return absl::OkStatus();
}

// The ops that loaders run.
struct LoadSteps {
  std::optional<Saver> saver;  // none without variables
  Operation init;              // invalid if there is nothing to initialise
};

absl::StatusOr<tensorflow::SavedModel> Describe(const Scope& scope, const ModelSignature& signature,
                                                const LoadSteps& steps) {
  ASSIGN_OR_RETURN(const ShapeRefiner shapes, InferShapes(*scope.graph(), {.strict = false}));
  tensorflow::SavedModel model;
  model.set_saved_model_schema_version(kSchemaVersion);
  tensorflow::MetaGraphDef* graph = model.add_meta_graphs();
  graph->mutable_meta_info_def()->add_tags(kServe);
  *graph->mutable_graph_def() = scope.ToGraphDef();
  if (steps.saver.has_value()) {
    tensorflow::SaverDef* restore = graph->mutable_saver_def();
    restore->set_filename_tensor_name(steps.saver->prefix().name());
    restore->set_save_tensor_name(steps.saver->prefix().name());
    restore->set_restore_op_name(steps.saver->restore().name());
    restore->set_version(tensorflow::SaverDef::V2);
  }
  if (steps.init.valid()) {
    (*graph->mutable_collection_def())[kInitOp].mutable_node_list()->add_value(steps.init.name());
  }
  tensorflow::SignatureDef& serving = (*graph->mutable_signature_def())[kDefaultSignature];
  serving.set_method_name(kPredict);
  RETURN_IF_ERROR(Describe(signature.inputs, shapes, serving.mutable_inputs()));
  RETURN_IF_ERROR(Describe(signature.outputs, shapes, serving.mutable_outputs()));
  return model;
}

absl::Status SaveVariables(const Scope& scope, const Saver& saver, const std::string& checkpoint,
                           const std::string& dir) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Local(scope));
  RETURN_IF_ERROR(saver.Restore(*session, checkpoint));
  return saver.SaveTo(*session, JoinPath(dir, "variables/variables"));
}

absl::Status WriteInto(const Scope& scope, const ModelSignature& signature, const std::string& checkpoint,
                       const std::string& dir, FileSystemRegistry* registry, FileSystem* files) {
  LoadSteps steps{.init = InitializeTables(scope)};
  if (!scope.variables().empty()) steps.saver.emplace(scope);
  RETURN_IF_ERROR(scope.status());
  ASSIGN_OR_RETURN(tensorflow::SavedModel model, Describe(scope, signature, steps));
  tensorflow::MetaGraphDef* const graph = model.mutable_meta_graphs(0);
  const std::vector<ModelAssetFile> assets = FindAssets(graph->graph_def());
  DescribeAssets(assets, graph);
  RETURN_IF_ERROR(CopyAssets(assets, registry, dir));
  if (steps.saver.has_value()) RETURN_IF_ERROR(SaveVariables(scope, *steps.saver, checkpoint, dir));
  return WriteStringToFile(files, JoinPath(dir, "saved_model.pb"), model.SerializeAsString());
}

// Seconds since the epoch, increased if `base` has a model with that number, so that later models have larger numbers.
std::string NextVersion(const std::string& base, FileSystem* files) {
  int64_t version = absl::ToUnixSeconds(absl::Now());
  for (const std::string& name : files->List(base).value_or(std::vector<std::string>())) {
    int64_t taken;
    if (absl::SimpleAtoi(name, &taken)) version = std::max(version, taken + 1);
  }
  return absl::StrCat(version);
}

}  // namespace

absl::StatusOr<std::string> WriteSavedModel(const Scope& scope, const ModelSignature& signature,
                                            const std::string& checkpoint, const std::string& base) {
  const std::shared_ptr<FileSystemRegistry> registry = FileSystemRegistry::Default();
  ASSIGN_OR_RETURN(FileSystem * files, registry->Find(base));
  const std::string version = NextVersion(base, files);
  const std::string dir = JoinPath(base, version);
  // The model file, which servers look for, is written last.
  if (files->PublishesOnClose()) {
    absl::Status placed = WriteInto(scope, signature, checkpoint, dir, registry.get(), files);
    if (placed.ok()) return dir;
    files->DeleteRecursively(dir).IgnoreError();
    return placed;
  }
  // Servers that look for the newest model ignore names with this prefix.
  const std::string temporary = JoinPath(base, absl::StrCat("temp-", version));
  ASSIGN_OR_RETURN(const bool is_left_over, files->CheckExists(temporary));
  if (is_left_over) RETURN_IF_ERROR(files->DeleteRecursively(temporary));
  RETURN_IF_ERROR(files->CreateDir(temporary));
  absl::Status written = WriteInto(scope, signature, checkpoint, temporary, registry.get(), files);
  if (written.ok()) written = files->Rename(temporary, dir);
  if (!written.ok()) {
    files->DeleteRecursively(temporary).IgnoreError();
    return written;
  }
  return dir;
}

}  // namespace weir
