// Learns which points of a square lie in a ring.
//   ring DIR                     in this process
//   ring DIR grpc://HOST:PORT    on that task's cluster, which has jobs ps and worker
// DIR receives checkpoints and, at the end, the model.
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <random>

#include "weir/estimator/saved_model.h"
#include "weir/layers.h"
#include "weir/ops.h"
#include "weir/optimizer.h"
#include "weir/saver.h"
#include "weir/session.h"
#include "weir/training/losses.h"
#include "weir/training_loop.h"

using namespace weir;  // NOLINT

constexpr int64_t kSteps = 10000, kBatch = 64;

// A score for each point of `points` [batch, 2]; its sigmoid is the probability that the point is in the ring.
Output Network(const Scope& scope, const Output& points, const std::string& variable_device) {
  const layers::LayerOptions options{.variable_device = variable_device};
  const layers::Dense first(scope.WithName("first"), 2, 32, layers::Activation::kRelu, options);
  const layers::Dense second(scope.WithName("second"), 32, 32, layers::Activation::kRelu, options);
  const layers::Dense score(scope.WithName("score"), 32, 1, layers::Activation::kNone, options);
  return score(scope, second(scope, first(scope, points)));
}

// The examples of a step: random points, and whether their distance from the middle is between 0.4 and 0.8.
std::pair<Tensor, Tensor> Examples(int64_t step) {
  std::mt19937 random(static_cast<unsigned>(step));
  std::uniform_real_distribution<float> coordinate(-1, 1);
  Tensor points(DT_FLOAT, TensorShape({kBatch, 2})), labels(DT_FLOAT, TensorShape({kBatch, 1}));
  for (int64_t i = 0; i < kBatch; ++i) {
    const float x = coordinate(random), y = coordinate(random), distance = std::hypot(x, y);
    points.data<float>()[2 * i] = x;
    points.data<float>()[2 * i + 1] = y;
    labels.data<float>()[i] = distance > 0.4f && distance < 0.8f ? 1 : 0;
  }
  return {points, labels};
}

// Prints progress, failures and recoveries.
class Report : public TrainingHook {
  absl::Status Begin(Session&, int64_t step) override {
    std::printf("begins at step %lld\n", static_cast<long long>(step));
    return absl::OkStatus();
  }
  absl::StatusOr<bool> AfterStep(Session&, const StepReport& report) override {
    if (report.global_step % 1000 == 0) {
      std::printf("step %lld   loss %.4f\n", static_cast<long long>(report.global_step),
                  report.fetches[0].scalar<float>());
    }
    return false;
  }
  void Failed(const absl::Status& cause, int64_t step) override {
    std::printf("step %lld failed: %s\n", static_cast<long long>(step + 1), std::string(cause.message()).c_str());
  }
  void Recovered(const RecoveryReport& report) override {
    std::printf("recovered after %.1f s: continues at step %lld from %s\n", absl::ToDoubleSeconds(report.duration),
                static_cast<long long>(report.resumed_at),
                report.restored_from.empty() ? "the variables" : report.restored_from.c_str());
  }
};

absl::StatusOr<std::string> Export(const std::string& checkpoints, const std::string& models) {
  Scope scope = Scope::NewRoot();
  const PartialTensorShape shape = PartialTensorShape::Build({-1, 2}).value();
  const Output points = ops::Placeholder(scope.WithName("points"), DT_FLOAT, {.shape = shape});
  const Output inside = ops::Sigmoid(scope.WithName("inside"), Network(scope, points, ""));
  ASSIGN_OR_RETURN(const std::string newest, Saver(scope).Latest(checkpoints));
  return WriteSavedModel(scope, {.inputs = {{"points", points}}, .outputs = {{"inside", inside}}}, newest, models);
}

absl::Status Train(const std::string& dir, const std::string& target) {
  const bool on_cluster = !target.empty();
  const std::string variable_device = on_cluster ? "/job:ps/task:0" : "";
  Scope scope = Scope::NewRoot();
  const Scope worker = on_cluster ? scope.WithDevice("/job:worker/task:0") : scope;

  const Output points = ops::Placeholder(worker.WithName("points"), DT_FLOAT);
  const Output labels = ops::Placeholder(worker.WithName("labels"), DT_FLOAT);
  const Output scores = Network(worker, points, variable_device);
  const Output loss = BinaryCrossentropy(worker, scores, labels, {.from_logits = true});

  TrainingLoopOptions options;
  options.global_step = GlobalStep(scope.WithDevice(variable_device));
  options.train = AdamOptimizer(0.005)->Minimize(worker, loss, options.global_step);
  options.fetches = {loss};
  options.feeds = [&](int64_t step) -> absl::StatusOr<FeedList> {
    auto [batch_points, batch_labels] = Examples(step);
    return FeedList{{points, batch_points}, {labels, batch_labels}};
  };
  options.hooks = {std::make_shared<Report>()};
  options.max_steps = kSteps;
  options.checkpoint_dir = dir + "/checkpoints";
  options.checkpoint_steps = 500;
  TrainingLoop loop(scope, options);

  ASSIGN_OR_RETURN(const auto session, on_cluster ? Session::Connect(target, scope) : Session::Local(scope));
  RETURN_IF_ERROR(loop.Run(*session).status());
  ASSIGN_OR_RETURN(const std::string model, Export(options.checkpoint_dir, dir + "/models"));
  std::printf("model: %s\n", model.c_str());
  return absl::OkStatus();
}

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: ring DIR [grpc://HOST:PORT]\n");
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // whole lines, also into a file
  const std::string dir = std::filesystem::absolute(argv[1]).string();
  const absl::Status status = Train(dir, argc == 3 ? argv[2] : "");
  if (!status.ok()) std::fprintf(stderr, "ring: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
