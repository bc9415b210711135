#include "client/models/saved_model_file.h"

#include <algorithm>
#include <limits>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "client/models/needed_nodes.h"
#include "core/op/op_registry.h"
#include "core/proto_text.h"
#include "core/tensor/tensor_proto.h"
#include "tensorflow/core/framework/function.pb.h"
#include "tensorflow/core/framework/tensor.pb.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"
#include "tensorflow/core/protobuf/saved_model.pb.h"

namespace weir {
namespace {

using tensorflow::MetaGraphDef;
using tensorflow::NodeDef;
using tensorflow::SignatureDef;
using tensorflow::TensorInfo;

constexpr char kBinary[] = "saved_model.pb";
constexpr char kText[] = "saved_model.pbtxt";
constexpr char kInitSignature[] = "__saved_model_init_op";
constexpr absl::string_view kLoadersSignatures = "__saved_model_";
constexpr char kAssetsCollection[] = "saved_model_assets";  // of TensorFlow 1
constexpr int64_t kSchemaVersion = 1;

absl::Status NoModelIn(FileSystem* files, const std::string& dir) {
  const absl::StatusOr<std::vector<std::string>> names = files->List(dir);
  if (!names.ok()) return Annotate(names.status(), "There is no SavedModel");
  std::vector<std::string> versions;
  for (const std::string& name : *names) {
    if (files->Exists(JoinPath(JoinPath(dir, name), kBinary))) versions.push_back(name);
  }
  const std::string hint =
      versions.empty() ? "" : absl::StrCat("; name one of the models in it: ", absl::StrJoin(versions, ", "));
  return errors::NotFound(dir, " has no ", kBinary, ", so it is no SavedModel, or only part of one", hint);
}

std::string TagText(const std::set<std::string>& tags) { return absl::StrCat("{", absl::StrJoin(tags, ", "), "}"); }

std::set<std::string> TagsOf(const MetaGraphDef& graph) {
  return {graph.meta_info_def().tags().begin(), graph.meta_info_def().tags().end()};
}

absl::StatusOr<PartialTensorShape> ShapeOf(const TensorInfo& info) {
  if (!info.has_tensor_shape()) return PartialTensorShape();
  return PartialTensorShape::FromProto(info.tensor_shape());
}

absl::Status AddTensors(const std::string& name, const TensorInfo& info, std::vector<SignatureTensor>* tensors) {
  if (info.has_coo_sparse()) {
    const auto& sparse = info.coo_sparse();
    tensors->push_back({name + "/dense_shape", sparse.dense_shape_tensor_name(), DT_INT64, {}});
    tensors->push_back({name + "/indices", sparse.indices_tensor_name(), DT_INT64, {}});
    tensors->push_back({name + "/values", sparse.values_tensor_name(), static_cast<DataType>(info.dtype()), {}});
    return absl::OkStatus();
  }
  if (info.has_composite_tensor()) {
    int i = 0;
    for (const TensorInfo& part : info.composite_tensor().components()) {
      if (part.encoding_case() != TensorInfo::kName) {
        return errors::Unimplemented("'", name, "' is a composite tensor of composite tensors");
      }
      RETURN_IF_ERROR(AddTensors(absl::StrCat(name, "/", i++), part, tensors));
    }
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(PartialTensorShape shape, ShapeOf(info));
  tensors->push_back({name, info.name(), static_cast<DataType>(info.dtype()), std::move(shape)});
  return absl::OkStatus();
}

absl::StatusOr<std::vector<SignatureTensor>> TensorsOf(const google::protobuf::Map<std::string, TensorInfo>& infos) {
  std::vector<SignatureTensor> tensors;
  for (const auto& [name, info] : infos) RETURN_IF_ERROR(AddTensors(name, info, &tensors));
  std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return tensors;
}

absl::StatusOr<SignatureInfo> InfoOf(const std::string& name, const SignatureDef& def) {
  SignatureInfo info;
  info.name = name;
  info.method = def.method_name();
  ASSIGN_OR_RETURN(info.inputs, TensorsOf(def.inputs()));
  ASSIGN_OR_RETURN(info.outputs, TensorsOf(def.outputs()));
  for (SignatureTensor& input : info.inputs) input.has_default = def.defaults().contains(input.name);
  return info;
}

// The one node of a collection; "" if there is no such collection, or nothing in it.
absl::StatusOr<std::string> OnlyNodeOf(const MetaGraphDef& graph, const std::string& collection) {
  const auto found = graph.collection_def().find(collection);
  if (found == graph.collection_def().end() || found->second.node_list().value().empty()) return "";
  if (found->second.node_list().value_size() == 1) return found->second.node_list().value(0);
  return errors::InvalidArgument("The collection '", collection, "' of the model has ",
                                 found->second.node_list().value_size(), " nodes; expected one init op");
}

}  // namespace

absl::StatusOr<std::unique_ptr<tensorflow::SavedModel>> ReadSavedModelFile(FileSystem* files, const std::string& dir) {
  const std::string binary = JoinPath(dir, kBinary), text = JoinPath(dir, kText);
  const bool is_text = !files->Exists(binary) && files->Exists(text);
  if (!is_text && !files->Exists(binary)) return NoModelIn(files, dir);
  const std::string& path = is_text ? text : binary;
  ASSIGN_OR_RETURN(const std::string bytes, ReadFileToString(files, path, std::numeric_limits<int>::max()));
  auto model = std::make_unique<tensorflow::SavedModel>();
  const bool parsed = is_text ? ParseProtoText(bytes, model.get()).ok() : model->ParseFromString(bytes);
  if (!parsed) return errors::DataLoss(path, " is truncated, or is not a SavedModel");
  if (model->saved_model_schema_version() > kSchemaVersion) {
    return errors::Unimplemented(path, " has schema version ", model->saved_model_schema_version(),
                                 "; this build reads version ", kSchemaVersion);
  }
  if (model->meta_graphs().empty()) return errors::DataLoss(path, " is empty or truncated: it has no graph");
  return model;
}

std::vector<std::string> TagSets(const tensorflow::SavedModel& model) {
  std::vector<std::string> sets;
  for (const MetaGraphDef& graph : model.meta_graphs()) sets.push_back(TagText(TagsOf(graph)));
  return sets;
}

absl::StatusOr<const MetaGraphDef*> FindMetaGraph(const tensorflow::SavedModel& model,
                                                  const std::vector<std::string>& tags) {
  const std::set<std::string> wanted(tags.begin(), tags.end());
  for (const MetaGraphDef& graph : model.meta_graphs()) {
    if (TagsOf(graph) == wanted) return &graph;
  }
  return errors::NotFound("The model has no graph with tags ", TagText(wanted), "; it has ",
                          absl::StrJoin(TagSets(model), ", "));
}

absl::StatusOr<std::vector<SignatureInfo>> SignaturesOf(const MetaGraphDef& graph) {
  std::vector<SignatureInfo> signatures;
  for (const auto& [name, def] : graph.signature_def()) {
    if (absl::StartsWith(name, kLoadersSignatures)) continue;
    absl::StatusOr<SignatureInfo> info = InfoOf(name, def);
    if (!info.ok()) return Annotate(info.status(), absl::StrCat("Signature '", name, "'"));
    signatures.push_back(*std::move(info));
  }
  std::sort(signatures.begin(), signatures.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return signatures;
}

absl::StatusOr<TensorMap> SignatureDefaults(const MetaGraphDef& graph, const std::string& signature) {
  TensorMap defaults;
  const auto found = graph.signature_def().find(signature);
  if (found == graph.signature_def().end()) return defaults;
  for (const auto& [name, proto] : found->second.defaults()) {
    ASSIGN_OR_RETURN(defaults[name], TensorFromProto(proto));
  }
  return defaults;
}

std::vector<ModelAsset> AssetsOf(const MetaGraphDef& graph) {
  std::vector<ModelAsset> assets;
  const auto add = [&](const tensorflow::AssetFileDef& asset) {
    assets.push_back({asset.tensor_info().name(), asset.filename()});
  };
  for (const auto& asset : graph.asset_file_def()) add(asset);
  const auto collection = graph.collection_def().find(kAssetsCollection);
  if (!assets.empty() || collection == graph.collection_def().end()) return assets;
  for (const google::protobuf::Any& any : collection->second.any_list().value()) {
    if (tensorflow::AssetFileDef asset; any.UnpackTo(&asset)) add(asset);
  }
  return assets;
}

absl::StatusOr<std::string> InitOpOf(const MetaGraphDef& graph) {
  const auto signature = graph.signature_def().find(kInitSignature);
  if (signature != graph.signature_def().end()) {
    const auto output = signature->second.outputs().find(kInitSignature);
    if (output != signature->second.outputs().end()) return NodeOfTensor(output->second.name());
  }
  ASSIGN_OR_RETURN(std::string name, OnlyNodeOf(graph, "saved_model_main_op"));
  if (name.empty()) {
    ASSIGN_OR_RETURN(name, OnlyNodeOf(graph, "legacy_init_op"));
  }
  return NodeOfTensor(name);
}

bool IsVariableNode(const NodeDef& node) {
  return node.op() == "VarHandleOp" || node.op() == "VariableV2" || node.op() == "Variable";
}

std::string VariableNameOf(const NodeDef& node) {
  const auto shared = node.attr().find("shared_name");
  return shared == node.attr().end() || shared->second.s().empty() ? node.name() : shared->second.s();
}

std::vector<ModelVariable> VariablesOf(const tensorflow::GraphDef& graph) {
  std::vector<ModelVariable> variables;
  for (const NodeDef& node : graph.node()) {
    if (!IsVariableNode(node)) continue;
    ModelVariable variable{.name = VariableNameOf(node)};
    if (const auto type = node.attr().find("dtype"); type != node.attr().end()) {
      variable.dtype = static_cast<DataType>(type->second.type());
    }
    if (const auto shape = node.attr().find("shape"); shape != node.attr().end()) {
      variable.shape = PartialTensorShape::FromProto(shape->second.shape()).value_or(PartialTensorShape());
    }
    variables.push_back(std::move(variable));
  }
  std::sort(variables.begin(), variables.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return variables;
}

std::map<std::string, std::string> UnknownOps(const tensorflow::GraphDef& graph, const OpRegistry& ops) {
  std::set<std::string> functions;
  for (const auto& function : graph.library().function()) functions.insert(function.signature().name());
  std::map<std::string, std::string> unknown;
  const auto check = [&](const NodeDef& node, const std::string& function) {
    if (ops.Find(node.op()) != nullptr || functions.count(node.op()) > 0) return;
    unknown.emplace(node.op(), function.empty() ? node.name() : absl::StrCat(node.name(), " in ", function));
  };
  for (const NodeDef& node : graph.node()) check(node, "");
  for (const auto& function : graph.library().function()) {
    for (const NodeDef& node : function.node_def()) check(node, function.signature().name());
  }
  return unknown;
}

absl::Status CheckModelOps(const tensorflow::GraphDef& graph, const OpRegistry& ops) {
  const std::map<std::string, std::string> unknown = UnknownOps(graph, ops);
  if (unknown.empty()) return absl::OkStatus();
  const std::string list = absl::StrJoin(unknown, ", ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.first, " (node ", entry.second, ")");
  });
  return errors::Unimplemented("The model uses ops that this build does not have: ", list);
}

}  // namespace weir
