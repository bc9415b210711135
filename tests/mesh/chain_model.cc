#include "tests/mesh/chain_model.h"

#include <cstdio>
#include <cstdlib>

#include "client/layers.h"
#include "client/ops.h"
#include "client/optimizer.h"
#include "core/status.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace weir {
namespace {

constexpr int64_t kBatch = 8;
constexpr int kSteps = 4;

layers::LayerOptions WithSeed(int64_t seed) {
  layers::LayerOptions options;
  options.weights = initializers::RandomNormal(0, 0.5, seed);
  return options;
}

ChainLayer DenseLayer(const std::string& name, int64_t units, layers::Activation activation, int64_t seed) {
  return {name, [=](const Scope& scope) -> LayerFunction {
            const layers::Dense dense(scope.WithName("dense"), 8, units, activation, WithSeed(seed));
            return [dense](const Scope& s, const Output& x) { return dense(s, x); };
          }};
}

}  // namespace

ChainModel SmallModel() {
  ChainModel model;
  model.layers.push_back({"tokens", [](const Scope& scope) -> LayerFunction {
                            const layers::Embedding table(scope, 8, 8, WithSeed(1));
                            return [table](const Scope& s, const Output& x) { return table(s, x); };
                          }});
  model.layers.push_back(DenseLayer("one", 8, layers::Activation::kTanh, 2));
  model.layers.push_back(DenseLayer("two", 8, layers::Activation::kRelu, 3));
  model.layers.push_back(DenseLayer("three", 8, layers::Activation::kSigmoid, 4));
  model.layers.push_back(DenseLayer("head", 4, layers::Activation::kNone, 5));
  model.loss = [](const Scope& scope, const Output& logits, const Output& labels) {
    return layers::SparseSoftmaxLoss(scope, logits, labels);
  };
  return model;
}

SmallProgram WithInputs() {
  SmallProgram program;
  const PartialTensorShape shape = TensorShape({kBatch});
  program.input = ops::Placeholder(program.scope.WithName("input"), DT_INT32, {.shape = shape});
  program.labels = ops::Placeholder(program.scope.WithName("labels"), DT_INT32, {.shape = shape});
  return program;
}

void Train(SmallProgram* program, const std::vector<GradientAndVariable>& gradients) {
  program->train = AdamOptimizer(0.05)->ApplyGradients(program->scope, gradients, GlobalStep(program->scope));
  program->initialize = InitializeAll(program->scope);
}

SmallProgram OnOneDevice() {
  SmallProgram program = WithInputs();
  program.loss = BuildChain(program.scope, SmallModel(), program.input, program.labels);
  Train(&program, AdamOptimizer(0.05)->ComputeGradients(program.scope, program.loss));
  return program;
}

std::unique_ptr<Session> LocalSession(const Scope& scope, int devices) {
  SessionOptions options;
  (*options.config->mutable_device_count())["CPU"] = devices;
  auto session = Session::Local(scope, options);
  if (session.ok()) return *std::move(session);
  std::fprintf(stderr, "%s\n", session.status().ToString().c_str());
  std::abort();
}

absl::StatusOr<std::vector<float>> Losses(const SmallProgram& program, Session* session) {
  RETURN_IF_ERROR(session->RunTargets({program.initialize}));
  std::vector<float> losses;
  for (int step = 0; step < kSteps; ++step) {
    Tensor input(DT_INT32, TensorShape({kBatch})), labels(DT_INT32, TensorShape({kBatch}));
    for (int i = 0; i < kBatch; ++i) {
      input.data<int32_t>()[i] = (i * 3 + step) % 8;
      labels.data<int32_t>()[i] = (i + step) % 4;
    }
    const auto fetched =
        session->Run({{program.input, input}, {program.labels, labels}}, {program.loss}, {program.train});
    if (!fetched.ok()) {
      const std::optional<ErrorOrigin> origin = OriginOf(fetched.status());
      return Annotate(fetched.status(), origin ? origin->node : "unknown");
    }
    losses.push_back((*fetched)[0].scalar<float>());
  }
  return losses;
}

}  // namespace weir
