// Weir's side: runs steps through the client's Session, in this process or on a cluster.
#include "absl/algorithm/container.h"
#include "bench/runner.h"
#include "client/models/saved_model_loader.h"
#include "client/scope.h"
#include "client/session.h"
#include "graph/graph.h"
#include "graph/graph_import.h"
#include "graph/passes/step_commit.h"

namespace weir::bench {
namespace {

std::string Message(const absl::Status& status) { return status.ok() ? "" : status.ToString(); }

class WeirRunner : public Runner {
 public:
  std::string Open(const std::string& target, const std::string& graph_def, const StepSpec& spec) override {
    return Message(TryOpen(target, graph_def, spec));
  }
  std::string OpenModel(const std::string& folder, const StepSpec& spec) override {
    return Message(TryOpenModel(folder, spec));
  }
  std::string RunTarget(const std::string& node) override {
    return Message(session_->RunNamed({}, {}, {node}).status());
  }
  std::string RunSteps(int count) override { return Run(count, nullptr); }
  std::string FetchSteps(int count, std::vector<float>* values) override { return Run(count, values); }

 private:
  std::string Run(int count, std::vector<float>* values) {
    for (int i = 0; i < count; ++i) {
      auto fetched = signature_ != nullptr ? signature_->Run(feeds_) : step_->Run(feeds_);
      if (!fetched.ok()) return Message(fetched.status());
      if (values != nullptr) values->push_back(fetched->front().scalar<float>());
    }
    return "";
  }

  absl::Status TryOpen(const std::string& target, const std::string& graph_def, const StepSpec& spec) {
    tensorflow::GraphDef def;
    if (!def.ParseFromString(graph_def)) return errors::InvalidArgument("not a GraphDef");
    Scope scope = Scope::NewRoot();
    RETURN_IF_ERROR(ImportGraphDef({}, std::move(def), scope.graph()));
    SessionOptions options;
    (*options.config->mutable_device_count())["CPU"] = spec.cpu_devices;
    if (!spec.optimize) {
      auto* graph_options = options.config->mutable_graph_options();
      graph_options->mutable_optimizer_options()->set_opt_level(tensorflow::OptimizerOptions::L0);
      graph_options->mutable_rewrite_options()->set_disable_meta_optimizer(true);
    }
    if (!spec.commit) {
      options.config->mutable_graph_options()->mutable_rewrite_options()->add_custom_optimizers()->set_name(
          kUncommittedStepsOptimizer);
    }
    ASSIGN_OR_RETURN(session_,
                     target.empty() ? Session::Local(scope, options) : Session::Connect(target, scope, options));
    return PrepareStep(*scope.graph(), spec);
  }

  absl::Status TryOpenModel(const std::string& folder, const StepSpec& spec) {
    ASSIGN_OR_RETURN(const std::unique_ptr<LoadedModel> model, LoadSavedModel(folder));
    ASSIGN_OR_RETURN(signature_, model->Signature("serving_default"));
    for (const SignatureTensor& input : signature_->info().inputs) {
      const auto feed = absl::c_find_if(spec.feeds, [&](const auto& f) { return f.node + ":0" == input.tensor; });
      if (feed == spec.feeds.end()) return errors::NotFound("no feed for ", input.tensor);
      feeds_.push_back(MakeTensor(*feed));
    }
    return absl::OkStatus();
  }

  absl::Status PrepareStep(const Graph& graph, const StepSpec& spec) {
    std::vector<Output> feeds, fetches;
    std::vector<Operation> targets;
    for (const StepSpec::Feed& feed : spec.feeds) {
      ASSIGN_OR_RETURN(Node * node, Find(graph, feed.node));
      feeds.emplace_back(node, 0);
      feeds_.push_back(MakeTensor(feed));
    }
    for (const std::string& name : spec.fetches) {
      ASSIGN_OR_RETURN(Node * node, Find(graph, name));
      fetches.emplace_back(node, 0);
    }
    for (const std::string& name : spec.targets) {
      ASSIGN_OR_RETURN(Node * node, Find(graph, name));
      targets.emplace_back(node);
    }
    ASSIGN_OR_RETURN(step_, session_->MakeCallable(feeds, fetches, targets));
    return absl::OkStatus();
  }

  static absl::StatusOr<Node*> Find(const Graph& graph, const std::string& name) {
    Node* node = graph.FindNode(name);
    if (node == nullptr) return errors::NotFound("no node ", name);
    return node;
  }

  static Tensor MakeTensor(const StepSpec::Feed& feed) {
    Tensor tensor(feed.type == "float" ? DT_FLOAT : DT_INT32, TensorShape(feed.dims));
    if (feed.type == "float") {
      absl::c_copy(feed.Floats(), tensor.data<float>());
    } else {
      absl::c_copy(feed.Ints(), tensor.data<int32_t>());
    }
    return tensor;
  }

  std::unique_ptr<Session> session_;
  std::shared_ptr<const PreparedSignature> signature_;
  std::unique_ptr<Session::Callable> step_;
  std::vector<Tensor> feeds_;
};

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  weir::bench::WeirRunner runner;
  return weir::bench::RunnerMain(argc, argv, runner);
}
