#include "client/strategy/mesh_program.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "client/layers.h"
#include "client/ops.h"
#include "client/optimizer.h"
#include "client/saver.h"
#include "client/strategy/tensor_parallel.h"
#include "client/strategy/zero.h"
#include "core/op/attr_value.h"
#include "gmock/gmock.h"
#include "graph/graph.h"
#include "gtest/gtest.h"
#include "tests/mesh/chain_model.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

constexpr char kTask[] = "/job:localhost/task:0";

Mesh Make(std::vector<Mesh::Axis> axes) { return *TaskMesh(std::move(axes), kTask); }

// Two pairs of columns and rows, and a table by rows.
std::vector<LayoutRule> Rules() {
  const std::string all = Mesh::kUnsharded;
  return {{"tokens/*/embeddings", {"model", all}},
          {"one/dense/kernel", {all, "model"}},
          {"one/dense/bias", {"model"}},
          {"two/dense/kernel", {"model", all}},
          {"three/dense/kernel", {all, "model"}}};
}

struct Form {
  std::string name;
  std::vector<Mesh::Axis> axes;
  bool zero = false;
};

class MeshLosses : public ::testing::TestWithParam<Form> {};

TEST_P(MeshLosses, AreThoseOfOneDevice) {
  const Form& form = GetParam();
  const SmallProgram program = OnOneDevice();
  const auto expected = Losses(program, LocalSession(program.scope, 1).get());
  const Mesh mesh = Make(form.axes);
  if (mesh.FindAxis("data") >= 0) {
    ASSERT_TRUE(SplitBatch(mesh, "data", {program.input, program.labels}).ok());
  }
  if (mesh.FindAxis("model") >= 0) {
    const absl::Status status = SetLayouts(program.scope, mesh, Rules());
    ASSERT_TRUE(status.ok()) << status;
  }
  if (form.zero) {
    const auto whole = SplitOptimizerState(program.scope, mesh, "data");
    ASSERT_TRUE(whole.ok()) << whole.status();
  }
  const auto scope = BuildMeshProgram(program.scope, {.fetches = {program.loss}});
  ASSERT_TRUE(scope.ok()) << scope.status();
  const auto losses = Losses(program, LocalSession(*scope, mesh.size()).get());
  ASSERT_TRUE(losses.ok()) << losses.status();
  EXPECT_THAT(*losses, Pointwise(FloatNear(1e-4), *expected));
}

INSTANTIATE_TEST_SUITE_P(Forms, MeshLosses,
                         ::testing::Values(Form{"data", {{"data", 2}}}, Form{"data4", {{"data", 4}}},
                                           Form{"tensor", {{"model", 2}}}, Form{"tensor4", {{"model", 4}}},
                                           Form{"zero", {{"data", 4}}, true},
                                           Form{"hybrid", {{"data", 2}, {"model", 2}}},
                                           Form{"hybrid_zero", {{"model", 2}, {"data", 2}}, true},
                                           Form{"one", {{"data", 1}, {"model", 1}}}),
                         [](const auto& info) { return info.param.name; });

int Count(const Graph& graph, const std::string& op) {
  int count = 0;
  for (const Node* node : graph.nodes()) count += node->op() == op;
  return count;
}

TEST(MeshProgram, APairOfSplitLayersNeedsOneAllReduceForward) {
  const Scope scope = Scope::NewRoot();
  const Output x = ops::Placeholder(scope.WithName("x"), DT_FLOAT, {.shape = TensorShape({4, 6})});
  const layers::Dense up(scope.WithName("up"), 6, 8, layers::Activation::kRelu);
  const layers::Dense down(scope.WithName("down"), 8, 6);
  const Output y = down(scope, up(scope, x));
  const Mesh mesh = Make({{"model", 2}});
  ASSERT_TRUE(SplitColumns(mesh, "model", up).ok());
  ASSERT_TRUE(SplitRows(mesh, "model", down).ok());
  const auto program = BuildMeshProgram(scope, {.fetches = {y}});
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(Count(*program->graph(), "CollectiveReduceV2"), 2);  // on each device
  EXPECT_EQ(Count(*program->graph(), "CollectiveGatherV2"), 0);
}

// Fetches alone must not leave out devices whose collectives the fetched value needs.
TEST(MeshProgram, EvaluatesWithoutTraining) {
  const SmallProgram program = OnOneDevice();
  const Mesh mesh = Make({{"data", 2}, {"model", 2}});
  ASSERT_TRUE(SplitBatch(mesh, "data", {program.input, program.labels}).ok());
  ASSERT_TRUE(SetLayouts(program.scope, mesh, Rules()).ok());
  const auto scope = BuildMeshProgram(program.scope, {.fetches = {program.loss}});
  ASSERT_TRUE(scope.ok()) << scope.status();
  const auto on_mesh = LocalSession(*scope, 4), on_one = LocalSession(program.scope, 1);
  const FeedList feeds = {{program.input, Tensor::Vector<int32_t>({0, 1, 2, 3, 4, 5, 6, 7})},
                          {program.labels, Tensor::Vector<int32_t>({0, 1, 2, 3, 3, 2, 1, 0})}};
  ASSERT_TRUE(on_mesh->RunTargets({program.initialize}).ok());
  ASSERT_TRUE(on_one->RunTargets({program.initialize}).ok());
  const auto loss = on_mesh->Run(feeds, {program.loss}), expected = on_one->Run(feeds, {program.loss});
  ASSERT_TRUE(loss.ok()) << loss.status();
  EXPECT_NEAR((*loss)[0].scalar<float>(), (*expected)[0].scalar<float>(), 1e-4);
}

TEST(MeshProgram, SplitOptimizerStateScattersGradientsAndGathersParameters) {
  const SmallProgram program = OnOneDevice();
  const Mesh mesh = Make({{"data", 2}});
  ASSERT_TRUE(SplitBatch(mesh, "data", {program.input, program.labels}).ok());
  ASSERT_TRUE(SplitOptimizerState(program.scope, mesh, "data").ok());
  const auto scope = BuildMeshProgram(program.scope, {.fetches = {program.loss}});
  ASSERT_TRUE(scope.ok()) << scope.status();
  EXPECT_GT(Count(*scope->graph(), "CollectiveReduceScatterV2"), 0);
  const Node* const slot = scope->graph()->FindNode("one/dense/kernel/Adam/m/handle/device_1");
  ASSERT_NE(slot, nullptr);
  PartialTensorShape shape;
  ASSERT_TRUE(GetNodeAttr(slot->def(), "shape", &shape).ok());
  EXPECT_EQ(shape.ToString(), "[4,8]");
}

TEST(MeshProgram, CheckpointsFitAnyMesh) {
  const std::string prefix = absl::StrCat(::testing::TempDir(), "/mesh_program_test_", getpid());
  const SmallProgram split = OnOneDevice();
  Saver split_saver(split.scope);
  const Mesh mesh = Make({{"model", 2}, {"data", 2}});
  ASSERT_TRUE(SetLayouts(split.scope, mesh, Rules()).ok());
  ASSERT_TRUE(SplitOptimizerState(split.scope, mesh, "data").ok());
  const auto scope = BuildMeshProgram(split.scope, {.fetches = {split.loss}});
  ASSERT_TRUE(scope.ok()) << scope.status();
  const auto on_mesh = LocalSession(*scope, 4);
  ASSERT_TRUE(Losses(split, on_mesh.get()).ok());
  const auto path = split_saver.Save(*on_mesh, prefix, 4);
  ASSERT_TRUE(path.ok()) << path.status();

  const SmallProgram one = OnOneDevice();
  Saver one_saver(one.scope);
  const auto on_one = LocalSession(one.scope, 1);
  ASSERT_TRUE(one_saver.Restore(*on_one, *path).ok());
  const std::string name = split.scope.variables()[1].value().name();
  const auto restored = on_one->RunNamed({}, {name});
  ASSERT_TRUE(Losses(one, on_one.get()).ok());  // from the beginning: the same four steps
  const auto trained = on_one->RunNamed({}, {name});
  ASSERT_TRUE(restored.ok() && trained.ok());
  EXPECT_THAT((*restored)[0].flat<float>(), Pointwise(FloatNear(1e-3), (*trained)[0].flat<float>()));
}

// The message with which a program is refused, after `change` was made to it.
std::string Refusal(const std::function<absl::Status(const SmallProgram&)>& change) {
  const SmallProgram program = OnOneDevice();
  if (absl::Status status = change(program); !status.ok()) return std::string(status.message());
  const auto scope = BuildMeshProgram(program.scope, {.fetches = {program.loss}});
  return scope.ok() ? "" : std::string(scope.status().message());
}

ResourceVariable Find(const SmallProgram& program, const std::string& name) {
  for (const ResourceVariable& variable : program.scope.variables()) {
    if (variable.name() == name) return variable;
  }
  return ResourceVariable();
}

TEST(MeshProgram, RefusesAnAxisThatDoesNotDivide) {
  EXPECT_THAT(
      Refusal([](const SmallProgram& program) {
        return SetLayout(Find(program, "one/dense/kernel").handle(), Make({{"model", 3}}), {Mesh::kUnsharded, "model"});
      }),
      AllOf(HasSubstr("Node 'one/dense/kernel/handle'"),
            HasSubstr("Dimension 1 of shape [8,8] does not divide by mesh axis 'model' of size 3")));
}

TEST(MeshProgram, RefusesAnUnknownAxis) {
  EXPECT_THAT(Refusal([](const SmallProgram& program) {
                return SplitBatch(Make({{"data", 2}}), "date", {program.input});
              }),
              AllOf(HasSubstr("'input:0'"), HasSubstr("The mesh data=2 has no axis 'date'")));
}

TEST(MeshProgram, RefusesLayoutsThatContradictEachOther) {
  EXPECT_THAT(Refusal([](const SmallProgram& program) -> absl::Status {
                const Mesh mesh = Make({{"model", 2}});
                RETURN_IF_ERROR(SetLayout(Find(program, "one/dense/kernel").handle(), mesh, {"model", "unsharded"}));
                return SetLayout(Find(program, "one/dense/kernel/Adam/m").handle(), mesh, {"unsharded", "model"});
              }),
              AllOf(HasSubstr("ResourceApplyAdam"), HasSubstr("conflicting layouts"), HasSubstr("give them the same")));
}

TEST(MeshProgram, RefusesALayoutOfAnotherRank) {
  EXPECT_THAT(
      Refusal([](const SmallProgram& program) {
        return SetLayout(Find(program, "one/dense/bias").handle(), Make({{"model", 2}}), {"model", Mesh::kUnsharded});
      }),
      HasSubstr("Node 'one/dense/bias/handle' (VarHandleOp): The layout has 2 dimensions"));
}

TEST(MeshProgram, RefusesAxesThatAreUsedTwice) {
  EXPECT_THAT(Refusal([](const SmallProgram& program) {
                return SetLayout(Find(program, "one/dense/kernel").handle(), Make({{"model", 2}}), {"model", "model"});
              }),
              HasSubstr("Mesh axis 'model' splits two dimensions of one tensor"));
}

TEST(TensorParallel, NamesARuleThatFitsNothing) {
  const SmallProgram program = OnOneDevice();
  const absl::Status status = SetLayouts(program.scope, Make({{"model", 2}}), {{"nothing/*", {"model"}}});
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("nothing/*"));
}

TEST(Zero, SaysWhatStaysWhole) {
  const SmallProgram program = OnOneDevice();
  const auto whole = SplitOptimizerState(program.scope, Make({{"data", 8}}), "data");
  ASSERT_TRUE(whole.ok());
  EXPECT_THAT(*whole, ElementsAre("head/dense/bias"));
  EXPECT_EQ(SplitOptimizerState(program.scope, Make({{"data", 2}}), "model").status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace weir
