#include "graph/functions/function_body.h"

#include <cstring>

#include "absl/strings/str_replace.h"
#include "core/op/attr_value.h"
#include "gmock/gmock.h"
#include "graph/graph_testing.h"
#include "graph/text/graph_text.h"
#include "gtest/gtest.h"
#include "tensorflow/core/framework/function.pb.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

// y = x * x + x, for any T; stateless.
constexpr char kPoly[] = R"(
function {
  signature {
    name: "Poly" input_arg { name: "x" type_attr: "T" } output_arg { name: "y" type_attr: "T" }
    attr { name: "T" type: "type" }
  }
  node_def { name: "sq" op: "Mul" input: "x" input: "x" attr { key: "T" value { placeholder: "T" } } }
  node_def { name: "sum" op: "Add" input: "sq:z:0" input: "x" attr { key: "T" value { placeholder: "T" } } }
  ret { key: "y" value: "sum:z:0" }
}
)";

// Draws a random number as a side effect, unrelated to its argument.
constexpr char kNoisy[] = R"(
function {
  signature {
    name: "Noisy" input_arg { name: "x" type: DT_FLOAT } output_arg { name: "y" type: DT_FLOAT } is_stateful: true
    control_output: "noise"
  }
  node_def {
    name: "shape" op: "Const" device: "/device:CPU:0"
    attr { key: "dtype" value { type: DT_INT32 } }
    attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 0 } } } } }
  }
  node_def {
    name: "noise" op: "RandomUniform" input: "shape:output:0"
    attr { key: "T" value { type: DT_INT32 } } attr { key: "dtype" value { type: DT_FLOAT } }
  }
  node_def { name: "neg" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
  ret { key: "y" value: "neg:y:0" }
  control_ret { key: "noise" value: "noise" }
}
)";

std::unique_ptr<Graph> Parse(const std::string& text) {
  auto graph = std::make_unique<Graph>(&TestOps());
  absl::Status status = ParseGraph(text, {}, graph.get());
  EXPECT_TRUE(status.ok()) << status;
  return graph;
}

std::string Nodes(const Graph& graph) {
  std::string text;
  for (const Node* node : graph.nodes()) absl::StrAppend(&text, PrintNode(*node), "\n");
  return text;
}

absl::StatusOr<FunctionBody> Instantiate(const std::string& text, AttrMap attrs = {}) {
  auto graph = Parse(text);
  const std::string name = graph->functions().Names()[0];
  return InstantiateFunction(*graph->functions().Find(name), attrs, TestOps(), graph->functions());
}

AttrMap TypeAttr(DataType type) {
  AttrMap attrs;
  SetAttrValue(type, &attrs["T"]);
  return attrs;
}

TEST(FunctionBody, PutsTypesIntoTheBody) {
  auto body = Instantiate(kPoly, TypeAttr(DT_INT64));
  ASSERT_TRUE(body.ok()) << body.status();
  EXPECT_EQ(Nodes(*body->graph),
            "%x:i64 = _Arg() {index=0}\n"
            "%sq:i64 = Mul(%x, %x)\n"
            "%sum:i64 = Add(%sq, %x)\n"
            "%y_RetVal = _Retval(%sum) {index=0}\n");
  ASSERT_EQ(body->args.size(), 1u);
  ASSERT_EQ(body->rets.size(), 1u);
  EXPECT_EQ(body->ret_types[0], DT_INT64);
}

TEST(FunctionBody, ListsHaveANodeForEachTensor) {
  auto body = Instantiate(R"(
function {
  signature {
    name: "AddUp" input_arg { name: "xs" type: DT_FLOAT number_attr: "N" } output_arg { name: "y" type: DT_FLOAT }
    attr { name: "N" type: "int" default_value { i: 2 } }
  }
  node_def {
    name: "sum" op: "AddN" input: "xs" input: "xs:1"
    attr { key: "T" value { type: DT_FLOAT } } attr { key: "N" value { i: 3 } }
  }
  ret { key: "y" value: "sum:sum:0" }
})");
  ASSERT_TRUE(body.ok()) << body.status();
  EXPECT_THAT(Nodes(*body->graph), HasSubstr("%sum:f32 = AddN(%xs_0, %xs_1, %xs_1)"));
}

TEST(FunctionBody, NamesFunctionAndNodeInErrors) {
  const std::pair<std::string, std::string> cases[] = {
      {"node_def { name: 'a' op: 'Neg' input: 'nowhere' attr { key: 'T' value { type: DT_FLOAT } } }",
       "Function 'F': Node 'a': input nowhere is not found"},
      {"node_def { name: 'a' op: 'Neg' input: 'x:1' attr { key: 'T' value { type: DT_FLOAT } } }", "input x:1"},
      {"node_def { name: 'a' op: 'Neg' input: 'x' attr { key: 'T' value { placeholder: 'U' } } }",
       "Attr U is not found"},
      {"node_def { name: 'a' op: 'Frob' }", "Op type not registered 'Frob'"},
      {"node_def { name: 'a' op: '_Arg' attr { key: 'T' value { type: DT_FLOAT } } }", "may not have _Arg"},
      {"node_def { name: 'a' op: 'NoOp' input: '^y_RetVal' }", "control input ^y_RetVal is not found"},
      {"control_ret { key: 'c' value: 'nowhere' }", "control output c refers to unknown node 'nowhere'"},
  };
  for (const auto& [extra, message] : cases) {
    auto body = Instantiate(
        "function { signature { name: 'F' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT "
        "} } "
        "ret { key: 'y' value: 'x' } " +
        extra + " }");
    ASSERT_FALSE(body.ok()) << extra;
    EXPECT_THAT(body.status().message(), HasSubstr(message));
  }
  EXPECT_THAT(
      Instantiate("function { signature { name: 'F' output_arg { name: 'y' type: DT_FLOAT } } }").status().message(),
      HasSubstr("Return y missing."));
}

// As in a recursion that doubles its argument with each call.
TEST(FunctionBody, AttributesDoNotGrowWithoutEnd) {
  AttrMap attrs;
  attrs["a"].mutable_func()->set_name(std::string(600'000, 'F'));
  const std::string body =
      "function { signature { name: 'F' attr { name: 'a' type: 'func' } } "
      "node_def { name: 'n' op: 'NoOp' attr { key: '_next' value { func { name: 'F' "
      "attr { key: 'l' value { placeholder: 'a' } } %s } } } } }";
  EXPECT_TRUE(Instantiate(absl::StrReplaceAll(body, {{"%s", ""}}), attrs).ok());
  const absl::Status status =
      Instantiate(absl::StrReplaceAll(body, {{"%s", "attr { key: 'r' value { placeholder: 'a' } }"}}), attrs).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("Node 'n' attr '_next'"));
}

TEST(FunctionBody, AttributesOfAllNodesCount) {
  AttrMap attrs;
  attrs["a"].mutable_func()->set_name(std::string(600'000, 'F'));
  std::string body = "function { signature { name: 'F' attr { name: 'a' type: 'func' } } ";
  for (const char* name : {"n", "m"}) {
    absl::StrAppend(&body, "node_def { name: '", name, "' op: 'NoOp' attr { key: '_next' value { func { name: 'F' ",
                    "attr { key: 'l' value { placeholder: 'a' } } } } } }");
  }
  const absl::Status status = Instantiate(body + " }", attrs).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("Node 'm' attr '_next'"));
}

TEST(Inlining, PutsTheBodyInThePlaceOfTheCall) {
  auto graph = Parse(std::string(kPoly) +
                     "%a:f32 = Placeholder() {dtype=f32}\n"
                     "%call:f32 = PartitionedCall(%a) {f=@Poly{T=f32}} @worker:1/CPU:0\n"
                     "%out:f32 = Neg(%call)\n");
  ASSERT_TRUE(InlineFunctionCalls({}, graph.get()).ok());
  EXPECT_EQ(Nodes(*graph),
            "%a:f32 = Placeholder()\n"
            "%out:f32 = Neg(%call/sum)\n"
            "%call/sq:f32 = Mul(%a, %a) @worker:1/CPU:0\n"
            "%call/sum:f32 = Add(%call/sq, %a) @worker:1/CPU:0\n"
            "%call:f32 = IdentityN(%call/sum) @worker:1/CPU:0\n");
}

TEST(Inlining, KeepsEffectsAndTheirOrder) {
  auto graph = Parse(std::string(kNoisy) +
                     "%a:f32 = Placeholder() {dtype=f32}\n"
                     "%before = NoOp()\n"
                     "%call:f32 = Noisy(%a, ^%before) @worker:1/GPU:0\n"
                     "%out:f32 = Neg(%call)\n"
                     "%after = NoOp(^%call)\n");
  ASSERT_TRUE(InlineFunctionCalls({}, graph.get()).ok());
  const std::string text = Nodes(*graph);
  EXPECT_THAT(text, HasSubstr("%call:f32 = IdentityN(%call/neg, ^%before, ^%call/noise) @worker:1/GPU:0\n"));
  EXPECT_THAT(text, HasSubstr("%out:f32 = Neg(%call)\n"));
  EXPECT_THAT(text, HasSubstr("%after = NoOp(^%call)\n"));
  EXPECT_THAT(text, HasSubstr("%call/inputs = NoOp(^%a, ^%before) @worker:1/GPU:0\n"));
  EXPECT_THAT(text, HasSubstr("%call/neg:f32 = Neg(%a, ^%call/inputs)"));
  EXPECT_THAT(text, HasSubstr("(^%call/inputs)"));
  EXPECT_EQ(graph->FindNode("call/shape")->requested_device(), "/job:worker/replica:0/task:1/device:CPU:0");
}

// Successors of the call wait for the function's declared control outputs; the rest may be pruned.
TEST(Inlining, APartitionedCallHasNoEffectsButControlOutputs) {
  std::string undeclared = kNoisy;
  undeclared.replace(undeclared.find("  control_ret"), undeclared.rfind('}') - undeclared.find("  control_ret"), "");
  undeclared.replace(undeclared.find("    control_output"), std::strlen("    control_output: \"noise\"\n"), "");
  for (const bool declared : {true, false}) {
    auto graph = Parse((declared ? kNoisy : undeclared) +
                       "%a:f32 = Placeholder() {dtype=f32}\n"
                       "%call:f32 = PartitionedCall(%a) {f=@Noisy{}}\n"
                       "%out:f32 = Neg(%call)\n");
    ASSERT_TRUE(InlineFunctionCalls({}, graph.get()).ok());
    const std::string text = Nodes(*graph);
    EXPECT_THAT(text, HasSubstr(declared ? "%out:f32 = Neg(%call)\n" : "%out:f32 = Neg(%call/neg)\n"));
    EXPECT_EQ(graph->FindNode("call/noise")->out_edges().empty(), !declared) << text;
  }
}

// Successors of the call could wait indefinitely, or outside of a frame, for an effect in one of the body's branches.
TEST(Inlining, LeavesConditionalEffectsACall) {
  auto graph = Parse(R"(
function {
  signature { name: "Maybe" input_arg { name: "x" type: DT_FLOAT } input_arg { name: "p" type: DT_BOOL }
              output_arg { name: "y" type: DT_FLOAT } }
  node_def { name: "switch" op: "Switch" input: "x" input: "p" attr { key: "T" value { type: DT_FLOAT } } }
  node_def { name: "noise" op: "RandomUniform" input: "shape:output:0" input: "^switch"
             attr { key: "T" value { type: DT_INT32 } } attr { key: "dtype" value { type: DT_FLOAT } } }
  node_def { name: "shape" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
             attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 0 } } } } } }
  ret { key: "y" value: "x" }
}
%a:f32 = Placeholder() {dtype=f32}
%p:bool = Placeholder() {dtype=bool}
%call:f32 = Maybe(%a, %p)
)");
  ASSERT_TRUE(InlineFunctionCalls({}, graph.get()).ok());
  EXPECT_EQ(graph->FindNode("call")->op(), "Maybe");
}

TEST(Inlining, LeavesDeepRecursionACall) {
  auto graph = Parse(R"(
function {
  signature { name: "Loop" input_arg { name: "x" type: DT_FLOAT } output_arg { name: "y" type: DT_FLOAT } }
  node_def { name: "again" op: "Loop" input: "x" }
  ret { key: "y" value: "again:y:0" }
}
%a:f32 = Placeholder() {dtype=f32}
%call:f32 = Loop(%a)
)");
  InlineOptions options;
  options.max_depth = 3;
  ASSERT_TRUE(InlineFunctionCalls(options, graph.get()).ok());
  EXPECT_EQ(graph->FindNode("call/again/again/again")->op(), "Loop");
}

TEST(Inlining, RefusesCallsOfAnotherType) {
  auto graph = Parse(std::string(kPoly) +
                     "%a:f32 = Placeholder() {dtype=f32}\n"
                     "%call:f32 = PartitionedCall(%a) {f=@Poly{T=i32}}\n");
  const std::string before = PrintGraph(*graph);
  EXPECT_THAT(InlineFunctionCalls({}, graph.get()).message(), HasSubstr("calls with (float) -> (float) a function of"));
  EXPECT_EQ(PrintGraph(*graph), before);
}

}  // namespace
}  // namespace weir
