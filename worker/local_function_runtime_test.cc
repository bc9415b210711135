#include "worker/local_function_runtime.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensorflow/core/framework/function.pb.h"
#include "worker/executor/executor_testing.h"
#include "worker/executor/node_kernel.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

struct NodeSpec {
  std::string name, op;
  std::vector<std::string> inputs;
  std::vector<TestGraph::Attr> attrs;
};

// y = f(x: int64).
tensorflow::FunctionDef Function(const std::string& name, tensorflow::DataType y, const std::string& result,
                                 const std::vector<NodeSpec>& nodes) {
  tensorflow::FunctionDef function;
  function.mutable_signature()->set_name(name);
  tensorflow::OpDef::ArgDef* input = function.mutable_signature()->add_input_arg();
  input->set_name("x");
  input->set_type(tensorflow::DT_INT64);
  tensorflow::OpDef::ArgDef* output = function.mutable_signature()->add_output_arg();
  output->set_name("y");
  output->set_type(y);
  for (const NodeSpec& spec : nodes) {
    tensorflow::NodeDef* node = function.add_node_def();
    node->set_name(spec.name);
    node->set_op(spec.op);
    for (const std::string& from : spec.inputs) node->add_input(from);
    for (const TestGraph::Attr& attr : spec.attrs) (*node->mutable_attr())[attr.first] = attr.second;
  }
  (*function.mutable_ret())["y"] = result;
  return function;
}

std::vector<tensorflow::FunctionDef> Functions() {
  const auto i64 = TestGraph::A("T", DT_INT64);
  const auto constant = [](const std::string& name, int64_t value) {
    return NodeSpec{
        name, "Const", {}, {TestGraph::A("dtype", DT_INT64), TestGraph::A("value", Tensor::Scalar<int64_t>(value))}};
  };
  return {
      Function("Twice", tensorflow::DT_INT64, "sum:z:0", {{"sum", "AddV2", {"x", "x"}, {i64}}}),
      Function("FourTimes", tensorflow::DT_INT64, "b:y:0", {{"a", "Twice", {"x"}, {}}, {"b", "Twice", {"a:y:0"}, {}}}),
      Function("Below", tensorflow::DT_BOOL, "less:z:0",
               {constant("limit", 5000), {"less", "Less", {"x", "limit:output:0"}, {i64}}}),
      Function("Next", tensorflow::DT_INT64, "sum:z:0",
               {constant("one", 1), {"sum", "AddV2", {"x", "one:output:0"}, {i64}}}),
      Function("ForEver", tensorflow::DT_INT64, "again:y:0", {{"again", "ForEver", {"x"}, {}}}),
      Function("Fails", tensorflow::DT_INT64, "inner:output:0",
               {{"inner", "Placeholder", {}, {TestGraph::A("dtype", DT_INT64)}}}),
  };
}

class FunctionTest : public ::testing::Test {
 protected:
  FunctionTest() {
    for (const auto& function : Functions()) EXPECT_TRUE(library_.Add(function).ok());
    const auto kernels = [this](const Node& node, FunctionRuntime* runtime) {
      return CreateNodeKernel(ExecutorTestKernels(), ExecutorTestOps(), node, h_.device(), runtime);
    };
    runtime_ = std::make_unique<LocalFunctionRuntime>(LocalFunctionRuntime::Options{
        .device = h_.device(), .ops = &ExecutorTestOps(), .library = library_, .kernels = kernels});
  }

  static TestGraph::Attr Call(const std::string& attr, const std::string& name) {
    TestGraph::Attr result = TestGraph::A(attr, name);
    result.second.mutable_func()->set_name(name);
    return result;
  }
  static TestGraph::Attr Types(const std::string& attr) {
    TestGraph::Attr result = TestGraph::A(attr, DT_INT64);
    result.second.mutable_list()->add_type(tensorflow::DT_INT64);
    return result;
  }
  absl::StatusOr<int64_t> Run(int64_t arg) {
    Plan::Options options = h_.Options();
    options.kernels = [this](const Node& node) {
      return CreateNodeKernel(ExecutorTestKernels(), ExecutorTestOps(), node, h_.device(), runtime_.get());
    };
    auto plan = Plan::Compile(g_.Take(), options);
    RETURN_IF_ERROR(plan.status());
    StepContext context;
    context.device = h_.device();
    context.functions = runtime_.get();
    CancellationManager cancellation;
    context.cancellation = &cancellation;
    std::vector<Tensor> args = {Tensor::Scalar<int64_t>(arg)}, results;
    RETURN_IF_ERROR(Executor::Create(*plan)->RunSync({.context = &context, .arguments = args, .results = &results}));
    return results[0].scalar<int64_t>();
  }
  Out CallOf(const std::string& function) {
    return g_.Add("PartitionedCall", {g_.Arg(0)}, {Call("f", function), Types("Tin"), Types("Tout")});
  }

  TestGraph g_;
  ExecutorHarness h_;
  FunctionLibrary library_;
  std::unique_ptr<LocalFunctionRuntime> runtime_;
};

TEST_F(FunctionTest, CallsNest) {
  g_.Ret(0, CallOf("FourTimes"));
  EXPECT_EQ(*Run(5), 20);
}

TEST_F(FunctionTest, WhileRunsItsBody) {
  Out loop = g_.Add("While", {g_.Arg(0)}, {Types("T"), Call("cond", "Below"), Call("body", "Next")});
  g_.Ret(0, loop);
  EXPECT_EQ(*Run(3), 5000);
}

TEST_F(FunctionTest, IfTakesABranch) {
  for (const bool taken : {false, true}) {
    g_ = TestGraph();
    g_.Ret(0, g_.Add("If", {g_.Const(Tensor::Scalar(taken)), g_.Arg(0)},
                     {TestGraph::A("Tcond", DT_BOOL), Types("Tin"), Types("Tout"), Call("then_branch", "Twice"),
                      Call("else_branch", "Next")}));
    EXPECT_EQ(*Run(10), taken ? 20 : 11);
  }
}

TEST_F(FunctionTest, CaseOutOfRangeTakesTheLastBranch) {
  for (int32_t index : {0, 1, 7, -1}) {
    g_ = TestGraph();
    TestGraph::Attr branches = TestGraph::A("branches", std::string());
    branches.second.mutable_list()->add_func()->set_name("Twice");
    branches.second.mutable_list()->add_func()->set_name("Next");
    g_.Ret(0, g_.Add("Case", {g_.Const(Tensor::Scalar(index)), g_.Arg(0)}, {Types("Tin"), Types("Tout"), branches}));
    EXPECT_EQ(*Run(10), index == 0 ? 20 : 11);
  }
}

TEST_F(FunctionTest, EndlessRecursionIsAnError) {
  g_.Ret(0, CallOf("ForEver"));
  absl::Status status = Run(1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("ForEver"));
}

// As in a recursion that calls itself with other attributes each time.
TEST_F(FunctionTest, InstancesWithoutEndAreAnError) {
  tensorflow::NameAttrList twice;
  twice.set_name("Twice");
  const auto instantiate = [&](int64_t number) {
    (*twice.mutable_attr())["n"].set_i(number);
    return runtime_->Instantiate(twice).status();
  };
  absl::Status status;
  int64_t number = 0;
  for (; status.ok() && number < 100'000; ++number) status = instantiate(number);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("Twice"));
  EXPECT_TRUE(instantiate(0).ok());  // those that are known still are
}

TEST_F(FunctionTest, ErrorsNameTheNodeInTheFunction) {
  g_.Ret(0, CallOf("Fails"));
  absl::Status status = Run(1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(OriginOf(status)->op, "Placeholder");
}

TEST_F(FunctionTest, UnknownFunctionsAreRejectedWhenCompiled) {
  tensorflow::NameAttrList name;
  name.set_name("Nope");
  EXPECT_EQ(runtime_->Instantiate(name).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace weir
