#include "client/estimator/saved_model.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
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
constexpr char kModelFile[] = "saved_model.pb";
constexpr int kMostClaims = 100;
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
  return WriteStringToFile(files, JoinPath(dir, kModelFile), model.SerializeAsString());
}

absl::StatusOr<std::vector<std::string>> ListIfExists(const std::string& dir, FileSystem* files) {
  absl::StatusOr<std::vector<std::string>> names = files->List(dir);
  if (absl::IsNotFound(names.status())) return std::vector<std::string>();
  return names;
}

// Seconds since the epoch, increased if `base` has a model with that number, so that later models have larger numbers.
absl::StatusOr<int64_t> NextVersion(const std::string& base, FileSystem* files) {
  int64_t version = absl::ToUnixSeconds(absl::Now());
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListIfExists(base, files));
  for (const std::string& name : names) {
    int64_t taken;
    if (absl::SimpleAtoi(name, &taken)) version = std::max(version, taken + 1);
  }
  return version;
}

// Distinguishes exports of the same second, by this process or others.
std::string UniqueSuffix() {
  static std::atomic<int64_t> count{0};
  return absl::StrCat(getpid(), "-", absl::ToUnixNanos(absl::Now()), "-", count.fetch_add(1));
}

// A version's folder that only this call writes. Of two that put their claims there, at least one sees the other's, and
// takes a later version.
struct ClaimedFolder {
  std::string dir, claim;
};
absl::StatusOr<ClaimedFolder> ClaimVersion(const std::string& base, FileSystem* files) {
  const std::string name = absl::StrCat("writer-", UniqueSuffix());
  ASSIGN_OR_RETURN(int64_t version, NextVersion(base, files));
  for (int attempt = 0; attempt < kMostClaims; ++attempt, ++version) {
    const std::string dir = JoinPath(base, absl::StrCat(version)), claim = JoinPath(dir, name);
    ASSIGN_OR_RETURN(const std::vector<std::string> before, ListIfExists(dir, files));
    if (!before.empty()) continue;
    RETURN_IF_ERROR(WriteStringToFile(files, claim, ""));
    ASSIGN_OR_RETURN(const std::vector<std::string> after, ListIfExists(dir, files));
    if (after == std::vector<std::string>{name}) return ClaimedFolder{.dir = dir, .claim = claim};
    RETURN_IF_ERROR(files->DeleteIfExists(claim));
  }
  return errors::Aborted("Other processes write models to ", base, " at the same time");
}

// Where nothing can be renamed. The model file is written last: a folder that has it is complete.
absl::StatusOr<std::string> WriteInPlace(const Scope& scope, const ModelSignature& signature,
                                         const std::string& checkpoint, const std::string& base,
                                         FileSystemRegistry* registry, FileSystem* files) {
  ASSIGN_OR_RETURN(const ClaimedFolder folder, ClaimVersion(base, files));
  absl::Status written = WriteInto(scope, signature, checkpoint, folder.dir, registry, files);
  if (!written.ok()) {
    files->DeleteRecursively(folder.dir).IgnoreError();
    return written;
  }
  files->DeleteIfExists(folder.claim).IgnoreError();  // only the model file counts
  return folder.dir;
}

// Renames the folder to the next version, which another process may take at the same moment.
absl::StatusOr<std::string> PublishAsNext(const std::string& folder, const std::string& base, FileSystem* files) {
  absl::Status status;
  for (int attempt = 0; attempt < kMostClaims; ++attempt) {
    ASSIGN_OR_RETURN(const int64_t version, NextVersion(base, files));
    const std::string dir = JoinPath(base, absl::StrCat(version));
    status = files->Rename(folder, dir);
    if (status.ok()) return dir;
    if (!files->Exists(dir)) return status;
  }
  return status;
}

// Servers that look for the newest model ignore names with the prefix "temp-".
absl::StatusOr<std::string> WriteAndRename(const Scope& scope, const ModelSignature& signature,
                                           const std::string& checkpoint, const std::string& base,
                                           FileSystemRegistry* registry, FileSystem* files) {
  const std::string temporary = JoinPath(base, absl::StrCat("temp-", UniqueSuffix()));
  RETURN_IF_ERROR(files->CreateDir(temporary));
  const absl::Status written = WriteInto(scope, signature, checkpoint, temporary, registry, files);
  absl::StatusOr<std::string> dir = written.ok() ? PublishAsNext(temporary, base, files) : written;
  if (!dir.ok()) files->DeleteRecursively(temporary).IgnoreError();
  return dir;
}

}  // namespace

absl::StatusOr<std::string> WriteSavedModel(const Scope& scope, const ModelSignature& signature,
                                            const std::string& checkpoint, const std::string& base,
                                            const std::shared_ptr<FileSystemRegistry>& registry) {
  ASSIGN_OR_RETURN(FileSystem * files, registry->Find(base));
  const auto write = files->PublishesOnClose() ? WriteInPlace : WriteAndRename;
  return write(scope, signature, checkpoint, base, registry.get(), files);
}

}  // namespace weir
