#include "client/strategy/pipeline.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "client/ops.h"
#include "client/strategy/mesh_program.h"
#include "gmock/gmock.h"
#include "graph/ancestors_testing.h"
#include "graph/shapes/shape_refiner.h"
#include "gtest/gtest.h"
#include "tests/mesh/chain_model.h"

namespace weir {
namespace {

using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

std::vector<Mesh> Stages(int n) {
  const Mesh mesh = *TaskMesh({{"pipeline", n}}, "/job:localhost/task:0");
  std::vector<Mesh> stages;
  for (int s = 0; s < n; ++s) stages.push_back(*mesh.Slice("pipeline", s));
  return stages;
}

absl::StatusOr<SmallProgram> Pipelined(const PipelineOptions& options, const ChainModel& model = SmallModel()) {
  SmallProgram program = WithInputs();
  ASSIGN_OR_RETURN(const Pipeline pipeline,
                   BuildPipeline(program.scope, model, program.input, program.labels, options));
  program.loss = pipeline.loss;
  Train(&program, pipeline.gradients);
  return program;
}

std::vector<float> LossesOfOneDevice() {
  const SmallProgram program = OnOneDevice();
  return *Losses(program, LocalSession(program.scope, 1).get());
}

class PipelineLosses : public ::testing::TestWithParam<std::tuple<PipelineSchedule, int, int>> {};

TEST_P(PipelineLosses, AreThoseOfOneDevice) {
  const auto [schedule, stages, micro_batches] = GetParam();
  const auto program = Pipelined({.stages = Stages(stages), .micro_batches = micro_batches, .schedule = schedule});
  ASSERT_TRUE(program.ok()) << program.status();
  const auto losses = Losses(*program, LocalSession(program->scope, stages).get());
  ASSERT_TRUE(losses.ok()) << losses.status();
  EXPECT_THAT(*losses, Pointwise(FloatNear(1e-4), LossesOfOneDevice()));
}

INSTANTIATE_TEST_SUITE_P(Schedules, PipelineLosses,
                         ::testing::Combine(::testing::Values(PipelineSchedule::kGPipe, PipelineSchedule::k1F1B),
                                            ::testing::Values(1, 2, 4), ::testing::Values(1, 2, 8)));

TEST(PipelineGraph, LetsNoMoreMicroBatchesGoForwardThanThereAreStages) {
  constexpr int kStages = 3, kMicroBatches = 8;
  const auto program = Pipelined({.stages = Stages(kStages), .micro_batches = kMicroBatches});
  ASSERT_TRUE(program.ok()) << program.status();
  const Graph& graph = *program->scope.graph();
  for (int s = 0; s < kStages; ++s) {
    for (int m = 0; m < kMicroBatches; ++m) {
      const Node* const forward = graph.FindNode(absl::StrCat("stage_", s, "/micro_batch_", m, "/input"));
      ASSERT_NE(forward, nullptr);
      // Micro-batch m - (stages - s) must have come back before.
      const int back = m - (kStages - s);
      const Node* const barrier =
          graph.FindNode(absl::StrCat("pipeline/stage_", s, "/after_backward_", std::max(back, 0)));
      ASSERT_NE(barrier, nullptr);
      EXPECT_EQ(Ancestors(forward).contains(barrier), back >= 0) << "stage " << s << ", micro-batch " << m;
    }
  }
}

TEST(PipelineGraph, GPipeGoesForwardWithoutWaiting) {
  const auto program = Pipelined({.stages = Stages(2), .micro_batches = 4, .schedule = PipelineSchedule::kGPipe});
  const Graph& graph = *program->scope.graph();
  const auto before = Ancestors(graph.FindNode("stage_0/micro_batch_3/input"));
  EXPECT_TRUE(std::none_of(before.begin(), before.end(),
                           [](const Node* node) { return absl::StrContains(node->name(), "/backward"); }));
}

TEST(PipelineGraph, HasNoCycles) {
  const auto program = Pipelined({.stages = Stages(4), .micro_batches = 8});
  const Graph& graph = *program->scope.graph();
  EXPECT_EQ(TopologicalOrder(graph).size(), graph.num_nodes());
}

TEST(Pipeline, RefusesWhatDoesNotFit) {
  const auto too_many = Pipelined({.stages = Stages(6), .micro_batches = 2});
  EXPECT_EQ(too_many.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(too_many.status().message(), HasSubstr("tokens, one, two, three, head"));
  EXPECT_THAT(too_many.status().message(), HasSubstr("use at most 5 stages"));
  const auto uneven = Pipelined({.stages = Stages(2), .micro_batches = 3});
  EXPECT_THAT(uneven.status().message(), HasSubstr("The batch 'input:0' of 8 does not divide into 3 micro-batches"));
  EXPECT_FALSE(Pipelined({.stages = Stages(2), .micro_batches = 0}).ok());
  EXPECT_FALSE(Pipelined({.stages = {}, .micro_batches = 1}).ok());
  EXPECT_THAT(Pipelined({.stages = {Mesh()}, .micro_batches = 1}).status().message(),
              HasSubstr("Stage 0 of the pipeline has no device"));
}

TEST(Pipeline, NamesALayerThatBreaksTheChain) {
  ChainModel model = SmallModel();
  model.layers[3].make = [](const Scope&) -> LayerFunction {
    return [](const Scope& s, const Output& x) { return ops::ZerosLike(s, x); };
  };
  model.layers[3].name = "cut";
  model.layers[3].cost = 5;
  const auto program = Pipelined({.stages = Stages(2), .micro_batches = 2}, model);
  EXPECT_THAT(program.status().message(), HasSubstr("No gradient flows through layer 'cut'"));
}

}  // namespace
}  // namespace weir
