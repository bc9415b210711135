#include "client/models/frozen_graph.h"

#include "client/models/saved_model_loader.h"
#include "client/models/variable_freezer.h"
#include "client/models/written_model_testing.h"
#include "core/files/file_system.h"
#include "tensorflow/core/framework/function.pb.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

constexpr char kServing[] = "serving_default";

Tensor Row() { return AsTensor<float>({1, 1}, {1, 2}); }

TEST(FrozenGraphTest, AFrozenModelGivesTheSameResults) {
  const WrittenModel written;
  const std::unique_ptr<FileSystem> files = NewPosixFileSystem();
  ASSERT_OK_AND_ASSIGN(const auto model, LoadSavedModel(written.path()));
  const std::string file = written.Path("frozen.pb");
  ASSERT_OK_AND_ASSIGN(const FrozenModel frozen, FreezeModel(*model, kServing, file));
  EXPECT_EQ(frozen.variables, 1);
  ASSERT_OK_AND_ASSIGN(const auto loaded, LoadFrozenGraph(file));
  EXPECT_EQ(loaded->signatures()[0].ToString(), "serving_default(x: float[?,2]) -> (y: float[?,2])");
  ASSERT_OK_AND_ASSIGN(const TensorMap result, loaded->Run(kServing, {{"x", Row()}}));
  ExpectTensorEqual(result.at("y"), AsTensor<float>({4, 6}, {1, 2}));
  EXPECT_THAT(LoadFrozenGraph(file, {.outputs = {"z"}}), StatusIs(absl::StatusCode::kNotFound, HasSubstr("'z'")));
  EXPECT_THAT(LoadFrozenGraph(file, {.outputs = {"y:1"}}), StatusIs(absl::StatusCode::kNotFound, HasSubstr("'y:1'")));
  ASSERT_THAT(WriteStringToFile(files.get(), file, "no graph"), IsOk());
  EXPECT_THAT(LoadFrozenGraph(file), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("frozen.pb")));
}

// A graph with a variable "v" and one node that uses it.
tensorflow::GraphDef GraphWith(const std::string& op) {
  tensorflow::GraphDef graph;
  auto* const variable = graph.add_node();
  variable->set_name("v");
  variable->set_op("VarHandleOp");
  auto* const user = graph.add_node();
  user->set_name("user");
  user->set_op(op);
  user->add_input("v");
  return graph;
}

TEST(FrozenGraphTest, WritesToVariablesCannotBeFrozen) {
  const std::map<std::string, Tensor> values = {{"v", AsScalar<float>(1)}};
  tensorflow::GraphDef writes = GraphWith("AssignAddVariableOp");
  EXPECT_THAT(FreezeVariables(values, &writes),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'user', a AssignAddVariableOp")));
  tensorflow::GraphDef reads = GraphWith("ReadVariableOp");
  EXPECT_THAT(FreezeVariables({}, &reads), StatusIs(absl::StatusCode::kNotFound, HasSubstr("'v'")));
  ASSERT_THAT(FreezeVariables(values, &reads), IsOk());
  EXPECT_EQ(reads.node(0).op(), "Const");
  EXPECT_EQ(reads.node(1).op(), "Identity");
}

TEST(FrozenGraphTest, RecursiveFunctionsEnd) {
  tensorflow::GraphDef graph = GraphWith("Again");
  auto* const function = graph.mutable_library()->add_function();
  function->mutable_signature()->set_name("Again");
  auto* const arg = function->mutable_signature()->add_input_arg();
  arg->set_name("x");
  arg->set_type(tensorflow::DT_RESOURCE);
  auto* const call = function->add_node_def();
  call->set_name("call");
  call->set_op("Again");
  call->add_input("x");
  EXPECT_THAT(FreezeVariables({{"v", AsScalar<float>(1)}}, &graph),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("deep")));
}

}  // namespace
}  // namespace weir
