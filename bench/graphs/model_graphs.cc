// Small models as SavedModels, which both sides load and call with one row.
#include "absl/strings/str_cat.h"
#include "bench/graphs/graphs.h"
#include "bench/step_spec.h"
#include "client/estimator/saved_model.h"
#include "client/initializers.h"
#include "client/layers.h"
#include "client/ops.h"
#include "client/saver.h"
#include "client/session.h"
#include "core/files/file_system.h"

namespace weir::bench {
namespace {

constexpr int kTables = 20;
constexpr int64_t kKeys = 1000, kWidth = 16;

struct ModelGraph {
  ModelSignature signature;
  StepSpec spec;
};

Output Dense(const Scope& scope, const Output& input, int64_t inputs, int64_t outputs, bool relu) {
  const layers::LayerOptions options{.weights = initializers::GlorotUniform(outputs)};
  const layers::Dense dense(scope.WithName("dense"), inputs, outputs,
                            relu ? layers::Activation::kRelu : layers::Activation::kNone, options);
  return dense(scope, input);
}

Output Rows(const Scope& scope, const std::string& name, int64_t width, ModelGraph* graph) {
  const Output rows =
      ops::Placeholder(scope.WithName(name), DT_FLOAT, {.shape = *PartialTensorShape::Build({-1, width})});
  graph->signature.inputs[name] = rows;
  graph->spec.feeds.push_back({name, "float", {1, width}});
  return rows;
}

Output Linear(const Scope& scope, ModelGraph* graph) { return Dense(scope, Rows(scope, "x", 8, graph), 8, 1, false); }

Output Mlp(const Scope& scope, ModelGraph* graph) {
  const Output hidden = Dense(scope, Rows(scope, "x", 784, graph), 784, 64, true);
  return ops::Softmax(scope, Dense(scope, hidden, 64, 10, false));
}

// A row of each table, by its key.
Output Wide(const Scope& scope, ModelGraph* graph) {
  std::vector<Input> parts;
  for (int i = 0; i < kTables; ++i) {
    const std::string name = absl::StrCat("key_", i);
    const Output keys = ops::Placeholder(scope.WithName(name), DT_INT32, {.shape = *PartialTensorShape::Build({-1})});
    const ResourceVariable table =
        ResourceVariable::Make(scope.WithName(absl::StrCat("table_", i)), TensorShape({kKeys, kWidth}), DT_FLOAT,
                               initializers::RandomNormal(0, 0.05, i + 1));
    parts.emplace_back(ops::ResourceGather(scope, table.handle(), keys, DT_FLOAT));
    graph->signature.inputs[name] = keys;
    graph->spec.feeds.push_back({name, "int32", {1}});
  }
  const Output hidden = Dense(scope, ops::ConcatV2(scope, parts, 1), kTables * kWidth, 64, true);
  return ops::Sigmoid(scope, Dense(scope, hidden, 64, 1, false));
}

absl::Status WriteModel(const std::string& path, Output (*build)(const Scope&, ModelGraph*)) {
  const Scope scope = Scope::NewRoot();
  ModelGraph graph;
  const Output y = build(scope, &graph);
  graph.signature.outputs["y"] = y;
  graph.spec.fetches.push_back(y.op().name());
  graph.spec.saved_model = true;
  const Saver saver(scope);
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Local(scope));
  RETURN_IF_ERROR(session->RunTargets({InitializeAll(scope)}));
  const std::string checkpoint = path + ".checkpoint/model";
  RETURN_IF_ERROR(saver.SaveTo(*session, checkpoint));
  ASSIGN_OR_RETURN(const std::string written, WriteSavedModel(scope, graph.signature, checkpoint, path + ".versions"));
  const std::unique_ptr<FileSystem> files = NewPosixFileSystem();
  RETURN_IF_ERROR(files->Rename(written, path));
  return WriteStringToFile(files.get(), path + ".spec", graph.spec.ToText());
}

}  // namespace

absl::Status WriteModels(const std::string& folder) {
  RETURN_IF_ERROR(WriteModel(folder + "/model_linear", Linear));
  RETURN_IF_ERROR(WriteModel(folder + "/model_mlp", Mlp));
  return WriteModel(folder + "/model_wide", Wide);
}

}  // namespace weir::bench
