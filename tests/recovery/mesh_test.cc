// Programs for meshes of tasks go on after the loss of a task, and end with the variables of a training without losses.
#include <future>

#include "client/layers.h"
#include "client/strategy/mesh_program.h"
#include "client/strategy/pipeline.h"
#include "client/strategy/tensor_parallel.h"
#include "client/strategy/zero.h"
#include "client/training_loop.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"
#include "tests/mesh/chain_model.h"
#include "tests/recovery/faults.h"

namespace weir {
namespace {

constexpr int kTrainedSteps = 20, kBatch = 8;
const std::map<std::string, int> kTasks = {{"worker", 2}};

enum class Form { kData, kTensor, kZero, kPipeline };
const char* const kFormNames[] = {"Data", "Tensor", "Zero", "Pipeline"};

absl::StatusOr<SmallProgram> MakePipelined() {
  ASSIGN_OR_RETURN(const Mesh mesh, ClusterMesh({{"pipeline", 2}}, "worker"));
  PipelineOptions options{.micro_batches = 2};
  for (int s = 0; s < 2; ++s) {
    ASSIGN_OR_RETURN(Mesh stage, mesh.Slice("pipeline", s));
    options.stages.push_back(std::move(stage));
  }
  SmallProgram program = WithInputs();
  ASSIGN_OR_RETURN(const Pipeline pipeline,
                   BuildPipeline(program.scope, SmallModel(), program.input, program.labels, options));
  program.loss = pipeline.loss;
  Train(&program, pipeline.gradients);
  return program;
}

absl::Status SetLayouts(const SmallProgram& program, Form form) {
  const std::string all = Mesh::kUnsharded;
  if (form == Form::kTensor) {
    ASSIGN_OR_RETURN(const Mesh mesh, ClusterMesh({{"model", 2}}, "worker"));
    return SetLayouts(program.scope, mesh,
                      {{"tokens/*/embeddings", {"model", all}},
                       {"one/dense/kernel", {all, "model"}},
                       {"one/dense/bias", {"model"}},
                       {"two/dense/kernel", {"model", all}}});
  }
  ASSIGN_OR_RETURN(const Mesh mesh, ClusterMesh({{"data", 2}}, "worker"));
  RETURN_IF_ERROR(SplitBatch(mesh, "data", {program.input, program.labels}));
  return form == Form::kZero ? SplitOptimizerState(program.scope, mesh, "data").status() : absl::OkStatus();
}

FeedList FeedsOf(const SmallProgram& program, int64_t step) {
  Tensor input(DT_INT32, TensorShape({kBatch})), labels(DT_INT32, TensorShape({kBatch}));
  for (int i = 0; i < kBatch; ++i) {
    input.data<int32_t>()[i] = static_cast<int32_t>((i * 3 + step) % 8);
    labels.data<int32_t>()[i] = static_cast<int32_t>((i + step) % 4);
  }
  return {{program.input, input}, {program.labels, labels}};
}

struct Outcome {
  int64_t global_step = 0;
  int num_recoveries = 0;
  std::vector<Tensor> variables;
};

absl::StatusOr<Outcome> TrainOnMesh(Form form, Fault fault) {
  const ScratchDirectory directory;
  ASSIGN_OR_RETURN(
      const auto cluster,
      ProcessCluster::Start({.program = WEIR_PROGRAM, .jobs = kTasks, .flags = {"--deterministic"}, .restart = true}));
  absl::StatusOr<SmallProgram> made = form == Form::kPipeline ? MakePipelined() : OnOneDevice();
  RETURN_IF_ERROR(made.status());
  const SmallProgram& program = *made;
  std::vector<Output> reads;
  for (const ResourceVariable& variable : program.scope.variables()) reads.push_back(variable.Read(program.scope));
  const auto hook = std::make_shared<FaultHook>(fault, cluster.get(), kTasks, 6, 12);
  TrainingLoopOptions options;
  options.train = program.train;
  options.global_step = GlobalStep(program.scope);
  options.feeds = [&](int64_t step) { return FeedsOf(program, step); };
  options.hooks = {hook};
  options.max_steps = kTrainedSteps;
  options.checkpoint_dir = directory.Path("checkpoints");
  options.checkpoint_steps = 5;
  options.recovery_timeout = absl::Seconds(60);
  TrainingLoop loop(program.scope, options);
  Scope scope = program.scope;
  if (form != Form::kPipeline) {
    RETURN_IF_ERROR(SetLayouts(program, form));
    std::vector<Output> fetches = reads;
    fetches.push_back(program.loss);
    ASSIGN_OR_RETURN(scope, BuildMeshProgram(program.scope, {.fetches = fetches}));
  }
  ASSIGN_OR_RETURN(const auto session,
                   Session::Connect(cluster->Target("worker", 0), scope, {.call_timeout = absl::Seconds(60)}));
  const absl::StatusOr<int64_t> reached = loop.Run(*session);
  if (!reached.ok()) return Annotate(reached.status(), hook->description());
  ASSIGN_OR_RETURN(std::vector<Tensor> variables, session->Run(reads));
  return Outcome{*reached, hook->num_recoveries(), std::move(variables)};
}

class MeshRecoveryTest : public testing::TestWithParam<std::tuple<Form, Fault>> {};

TEST_P(MeshRecoveryTest, EndsAsATrainingWithoutLosses) {
  const auto [form, fault] = GetParam();
  auto other = std::async(std::launch::async, [form = form] { return TrainOnMesh(form, Fault::kNone); });
  ASSERT_OK_AND_ASSIGN(const Outcome outcome, TrainOnMesh(form, fault));
  ASSERT_OK_AND_ASSIGN(const Outcome undisturbed, other.get());
  EXPECT_GE(outcome.num_recoveries, 1);
  EXPECT_EQ(outcome.global_step, kTrainedSteps);
  ASSERT_EQ(outcome.variables.size(), undisturbed.variables.size());
  for (size_t i = 0; i < outcome.variables.size(); ++i) {
    ExpectTensorEqual(outcome.variables[i], undisturbed.variables[i], absl::StrCat("variable ", i));
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, MeshRecoveryTest,
                         testing::Combine(testing::Values(Form::kData, Form::kTensor, Form::kZero, Form::kPipeline),
                                          testing::Values(Fault::kKill, Fault::kStop, Fault::kKillMaster)),
                         [](const auto& info) {
                           return absl::StrCat(kFormNames[static_cast<int>(std::get<0>(info.param))], "_",
                                               FaultName(std::get<1>(info.param)));
                         });

}  // namespace
}  // namespace weir
