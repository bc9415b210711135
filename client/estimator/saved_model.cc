#include "client/estimator/saved_model.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
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

absl::StatusOr<tensorflow::SavedModel> Describe(const Scope& scope, const ModelSignature& signature,
                                                const Saver& saver) {
  ASSIGN_OR_RETURN(const ShapeRefiner shapes, InferShapes(*scope.graph(), {.strict = false}));
  tensorflow::SavedModel model;
  model.set_saved_model_schema_version(kSchemaVersion);
  tensorflow::MetaGraphDef* graph = model.add_meta_graphs();
  graph->mutable_meta_info_def()->add_tags(kServe);
  *graph->mutable_graph_def() = scope.ToGraphDef();
  tensorflow::SaverDef* restore = graph->mutable_saver_def();
  restore->set_filename_tensor_name(saver.prefix().name());
  restore->set_save_tensor_name(saver.prefix().name());
  restore->set_restore_op_name(saver.restore().name());
  restore->set_version(tensorflow::SaverDef::V2);
  tensorflow::SignatureDef& serving = (*graph->mutable_signature_def())[kDefaultSignature];
  serving.set_method_name(kPredict);
  RETURN_IF_ERROR(Describe(signature.inputs, shapes, serving.mutable_inputs()));
  RETURN_IF_ERROR(Describe(signature.outputs, shapes, serving.mutable_outputs()));
  return model;
}

absl::Status WriteInto(const Scope& scope, const ModelSignature& signature, const std::string& checkpoint,
                       const std::string& dir, FileSystem* files) {
  const Saver saver(scope);
  RETURN_IF_ERROR(scope.status());
  ASSIGN_OR_RETURN(const tensorflow::SavedModel model, Describe(scope, signature, saver));
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Local(scope));
  RETURN_IF_ERROR(saver.Restore(*session, checkpoint));
  RETURN_IF_ERROR(saver.SaveTo(*session, JoinPath(dir, "variables/variables")));
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
  // Servers that look for the newest model ignore names with this prefix.
  const std::string temporary = JoinPath(base, absl::StrCat("temp-", version));
  if (files->Exists(temporary)) RETURN_IF_ERROR(files->DeleteRecursively(temporary));
  RETURN_IF_ERROR(files->CreateDir(temporary));
  absl::Status written = WriteInto(scope, signature, checkpoint, temporary, files);
  if (written.ok()) written = files->Rename(temporary, dir);
  if (!written.ok()) {
    files->DeleteRecursively(temporary).IgnoreError();
    return written;
  }
  return dir;
}

}  // namespace weir
