#include "client/models/loaded_model.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_join.h"
#include "client/models/model_parts.h"
#include "client/models/needed_nodes.h"
#include "client/models/saved_model_file.h"
#include "core/mutex.h"
#include "graph/graph.h"
#include "graph/graph_import.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace weir {
namespace {

// The nodes that signatures, restoring and initialisation use.
std::vector<std::string> RootsOf(const ModelSource& source) {
  std::vector<std::string> roots;
  for (const SignatureInfo& signature : source.signatures) {
    for (const auto* tensors : {&signature.inputs, &signature.outputs}) {
      for (const SignatureTensor& tensor : *tensors) roots.push_back(NodeOfTensor(tensor.tensor));
    }
  }
  for (const auto* feeds : {&source.restore_feeds, &source.init_feeds}) {
    for (const auto& [tensor, value] : *feeds) roots.push_back(NodeOfTensor(tensor));
  }
  for (const std::string& op : {source.restore_op, source.init_op}) {
    if (!op.empty()) roots.push_back(op);
  }
  return roots;
}

absl::StatusOr<std::unique_ptr<Session>> OpenSession(const Scope& scope, const LoadOptions& options) {
  SessionOptions session = options.session != nullptr ? *options.session : SessionOptions();
  session.config->set_allow_soft_placement(true);
  // Variables of two models may have one name.
  session.config->set_isolate_session_state(true);
  return options.target.empty() ? Session::Local(scope, std::move(session))
                                : Session::Connect(options.target, scope, std::move(session));
}

std::string Names(const std::vector<SignatureInfo>& signatures) {
  return absl::StrJoin(signatures, ", ",
                       [](std::string* out, const SignatureInfo& info) { absl::StrAppend(out, "'", info.name, "'"); });
}

std::string Names(const std::vector<SignatureTensor>& tensors) {
  return absl::StrJoin(tensors, ", ", [](std::string* out, const auto& tensor) { absl::StrAppend(out, tensor.name); });
}

}  // namespace

absl::StatusOr<Output> FindOutput(const Graph& graph, const std::string& tensor) {
  const std::optional<InputRef> ref = ParseInputRef(tensor);
  if (!ref.has_value() || ref->output == Edge::kControlSlot) {
    return errors::InvalidArgument("'", tensor, "' is not the name of a tensor; expected NODE or NODE:OUTPUT");
  }
  Node* const node = graph.FindNode(ref->node);
  if (node == nullptr) return errors::NotFound("The graph has no node '", ref->node, "'");
  if (ref->output >= node->num_outputs()) {
    return errors::NotFound("Node '", ref->node, "' has ", node->num_outputs(), " outputs, so there is no '", tensor,
                            "'");
  }
  return Output(node, ref->output);
}

// The callable, and where its results go.
struct PreparedSignature::Step {
  std::unique_ptr<Session::Callable> callable;
  // For each output its place among the fetches or, negative, that of an input: ~place. Empty: each output is a fetch.
  std::vector<int> places;
};

PreparedSignature::PreparedSignature(std::shared_ptr<const ModelParts> parts) : parts_(std::move(parts)) {}
PreparedSignature::~PreparedSignature() = default;

absl::Status PreparedSignature::Prepare(const SignatureInfo& info, TensorMap defaults) {
  info_ = info;
  defaults_ = std::move(defaults);
  auto step = std::make_unique<Step>();
  const Graph& graph = *parts_->scope.graph();
  const auto find = [&](const SignatureTensor& tensor) -> absl::StatusOr<Output> {
    ASSIGN_OR_RETURN(const Output output, FindOutput(graph, tensor.tensor));
    if (output.type() == tensor.dtype) return output;
    return errors::InvalidArgument("The signature says that '", tensor.name, "' is ", DataTypeName(tensor.dtype),
                                   ", but ", tensor.tensor, " is ", DataTypeName(output.type()));
  };
  // A tensor can be fed or fetched once only, and not both.
  std::vector<Output> feeds, fetches;
  absl::flat_hash_map<Output, int> fed, fetched;
  for (const SignatureTensor& input : info_.inputs) {
    ASSIGN_OR_RETURN(const Output output, find(input));
    if (!fed.emplace(output, static_cast<int>(fed.size())).second) {
      return errors::InvalidArgument("Two inputs are the tensor ", input.tensor);
    }
    feeds.push_back(output);
  }
  for (const SignatureTensor& tensor : info_.outputs) {
    ASSIGN_OR_RETURN(const Output output, find(tensor));
    if (const auto input = fed.find(output); input != fed.end()) {
      step->places.push_back(~input->second);
      continue;
    }
    const auto [place, is_new] = fetched.emplace(output, static_cast<int>(fetches.size()));
    if (is_new) fetches.push_back(output);
    step->places.push_back(place->second);
  }
  if (fetches.size() == info_.outputs.size()) step->places.clear();
  ASSIGN_OR_RETURN(step->callable, parts_->session->MakeCallable(feeds, fetches));
  step_ = std::move(step);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Tensor>> PreparedSignature::Run(const std::vector<Tensor>& inputs) const {
  if (inputs.size() != info_.inputs.size()) {
    return errors::InvalidArgument("Signature '", info_.name, "' takes ", info_.inputs.size(), " inputs (",
                                   Names(info_.inputs), "), but got ", inputs.size());
  }
  for (size_t i = 0; i < inputs.size(); ++i) RETURN_IF_ERROR(CheckSignatureInput(info_, info_.inputs[i], inputs[i]));
  absl::StatusOr<std::vector<Tensor>> results = step_->callable->Run(inputs);
  if (!results.ok() || step_->places.empty()) return results;
  std::vector<Tensor> outputs;
  for (const int place : step_->places) outputs.push_back(place < 0 ? inputs[~place] : (*results)[place]);
  return outputs;
}

absl::StatusOr<TensorMap> PreparedSignature::RunNamed(const TensorMap& inputs) const {
  std::vector<Tensor> values;
  std::vector<std::string> missing;
  size_t given = 0;
  for (const SignatureTensor& input : info_.inputs) {
    const auto value = inputs.find(input.name);
    const auto fallback = defaults_.find(input.name);
    given += value != inputs.end();
    if (value != inputs.end()) {
      values.push_back(value->second);
    } else if (fallback != defaults_.end()) {
      values.push_back(fallback->second);
    } else {
      missing.push_back(input.name);
    }
  }
  if (!missing.empty()) {
    return errors::InvalidArgument("Signature '", info_.name, "' lacks inputs: ", absl::StrJoin(missing, ", "),
                                   "; it takes ", Names(info_.inputs));
  }
  if (given < inputs.size()) {
    std::vector<std::string> surplus;
    for (const auto& [name, value] : inputs) {
      const auto is_it = [&name = name](const SignatureTensor& input) { return input.name == name; };
      if (std::none_of(info_.inputs.begin(), info_.inputs.end(), is_it)) surplus.push_back(name);
    }
    return errors::InvalidArgument("Signature '", info_.name, "' has no inputs ", absl::StrJoin(surplus, ", "),
                                   "; it takes ", info_.inputs.empty() ? "none" : Names(info_.inputs));
  }
  ASSIGN_OR_RETURN(std::vector<Tensor> outputs, Run(values));
  TensorMap named;
  for (size_t i = 0; i < outputs.size(); ++i) named.emplace(info_.outputs[i].name, std::move(outputs[i]));
  return named;
}

struct LoadedModel::Cache {
  Mutex mu;
  std::map<std::string, std::shared_ptr<const PreparedSignature>> prepared GUARDED_BY(mu);
};

LoadedModel::LoadedModel(std::shared_ptr<const ModelParts> parts)
    : parts_(std::move(parts)), cache_(std::make_unique<Cache>()) {}
LoadedModel::~LoadedModel() = default;

absl::StatusOr<std::unique_ptr<LoadedModel>> LoadedModel::Load(ModelSource source, const LoadOptions& options) {
  RETURN_IF_ERROR(KeepNeededNodes(RootsOf(source), &source.graph));
  if (!options.keep_devices) ClearDevices(&source.graph);
  auto parts = std::make_shared<ModelParts>(ModelParts{.scope = Scope::NewRoot()});
  RETURN_IF_ERROR(parts->scope.status());
  RETURN_IF_ERROR(CheckModelOps(source.graph, parts->scope.graph()->ops()));
  RETURN_IF_ERROR(ImportGraphDef({.from_any_producer = true}, std::move(source.graph), parts->scope.graph()));
  ASSIGN_OR_RETURN(parts->session, OpenSession(parts->scope, options));
  parts->signatures = std::move(source.signatures);
  parts->defaults = std::move(source.defaults);
  parts->restore_feeds = std::move(source.restore_feeds);
  parts->init_feeds = std::move(source.init_feeds);
  parts->restore_op = std::move(source.restore_op);
  parts->init_op = std::move(source.init_op);
  auto model = std::unique_ptr<LoadedModel>(new LoadedModel(std::move(parts)));
  RETURN_IF_ERROR(model->Restore());
  return model;
}

const std::vector<SignatureInfo>& LoadedModel::signatures() const { return parts_->signatures; }

Session& LoadedModel::session() const { return *parts_->session; }

absl::StatusOr<std::shared_ptr<const PreparedSignature>> LoadedModel::Signature(const std::string& name) const {
  MutexLock lock(cache_->mu);
  const auto cached = cache_->prepared.find(name);
  if (cached != cache_->prepared.end()) return cached->second;
  const auto info = std::find_if(parts_->signatures.begin(), parts_->signatures.end(),
                                 [&](const SignatureInfo& signature) { return signature.name == name; });
  if (info == parts_->signatures.end()) {
    return errors::NotFound("The model has no signature '", name, "'; it has ",
                            parts_->signatures.empty() ? "none" : Names(parts_->signatures));
  }
  const auto defaults = parts_->defaults.find(name);
  auto prepared = std::make_shared<PreparedSignature>(parts_);
  RETURN_IF_ERROR(
      Annotate(prepared->Prepare(*info, defaults != parts_->defaults.end() ? defaults->second : TensorMap()),
               absl::StrCat("Signature '", name, "'")));
  return cache_->prepared.emplace(name, std::move(prepared)).first->second;
}

absl::StatusOr<TensorMap> LoadedModel::Run(const std::string& signature, const TensorMap& inputs) const {
  ASSIGN_OR_RETURN(const std::shared_ptr<const PreparedSignature> prepared, Signature(signature));
  return prepared->RunNamed(inputs);
}

absl::Status LoadedModel::Restore() const {
  const auto run = [&](const std::string& op, const NamedFeedList& feeds, absl::string_view what) -> absl::Status {
    if (op.empty()) return absl::OkStatus();
    return Annotate(parts_->session->RunNamed(feeds, {}, {op}).status(), what);
  };
  RETURN_IF_ERROR(run(parts_->restore_op, parts_->restore_feeds, "Restoring the model's variables"));
  return run(parts_->init_op, parts_->init_feeds, "Running the model's init op");
}

}  // namespace weir
