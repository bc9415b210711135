// Graphs that mean harm: a clear error of the session or of the step, and the server goes on.
#include <google/protobuf/text_format.h>

#include "tensorflow/core/protobuf/master.pb.h"
#include "tests/hostile/hostile_server.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

using HostileGraph = HostileServer;

std::string Attr(const std::string& name, const std::string& value) {
  return absl::StrCat(" attr { key: \"", name, "\" value { ", value, " } }");
}

std::string Node(const std::string& name, const std::string& op, const std::vector<std::string>& inputs,
                 const std::string& attrs) {
  std::string text = absl::StrCat("node { name: \"", name, "\" op: \"", op, "\"");
  for (const std::string& input : inputs) absl::StrAppend(&text, " input: \"", input, "\"");
  return absl::StrCat(text, attrs, " }\n");
}

const std::string kFloat = Attr("T", "type: DT_FLOAT");

std::string Constant(const std::string& name, const std::string& dtype, const std::string& tensor) {
  return Node(
      name, "Const", {},
      Attr("dtype", "type: " + dtype) + Attr("value", absl::StrCat("tensor { dtype: ", dtype, " ", tensor, "}")));
}

const std::string kOne = Constant("a", "DT_FLOAT", "tensor_shape {} float_val: 1");

std::string Neg(const std::vector<std::string>& inputs, const std::string& attrs = kFloat) {
  return Node("bad", "Neg", inputs, attrs);
}

TEST_F(HostileGraph, TensorsThatContradictTheirShapes) {
  const std::string huge = "dim { size: 2147483648 } dim { size: 2147483648 } dim { size: 2147483648 }";
  for (const char* dtype : {"DT_FLOAT", "DT_INT8", "DT_BOOL", "DT_COMPLEX128", "DT_STRING", "DT_BFLOAT16", "DT_HALF",
                            "DT_RESOURCE", "DT_VARIANT", "DT_QINT8", "DT_UINT64", "DT_FLOAT_REF", "DT_INVALID"}) {
    for (const std::string& tensor :
         {std::string("tensor_shape { dim { size: -1 } }"),
          std::string("tensor_shape { dim { size: -5 } dim { size: 2 } }"), "tensor_shape { " + huge + " }",
          std::string("tensor_shape { dim { size: 4611686018427387904 } }"),
          std::string("tensor_shape { unknown_rank: true }"),
          std::string("tensor_shape { dim { size: 7 } } tensor_content: 'abc'"),
          std::string(
              "tensor_shape { dim { size: 2 } } tensor_content: '\\377\\377\\377\\377\\377\\377\\377\\377\\177'")}) {
      EXPECT_THAT(RunGraph(Constant("bad", dtype, tensor), "bad:0"), IsClearError()) << dtype << " " << tensor;
    }
  }
  std::string dims;
  for (int i = 0; i < 300; ++i) dims += "dim { size: 1 } ";
  EXPECT_THAT(RunGraph(Constant("bad", "DT_FLOAT", "tensor_shape { " + dims + "} float_val: 1"), "bad:0"),
              IsClearError());
  EXPECT_THAT(RunGraph(Constant("bad", "DT_FLOAT", "tensor_shape { dim { size: 2 } } float_val: [1, 2, 3]"), "bad:0"),
              IsClearError());
  EXPECT_THAT(
      RunGraph(Constant("bad", "DT_STRING", "tensor_shape { dim { size: 1 } } string_val: ['a', 'b']"), "bad:0"),
      IsClearError());
}

TEST_F(HostileGraph, NamesAndInputs) {
  for (const char* name : {"", "^", "^a", "a:0", "a b", "-a", "\\303\\251", "a\\000b"}) {
    const std::string graph = Constant(name, "DT_FLOAT", "tensor_shape {} float_val: 1");
    EXPECT_THAT(RunGraph(graph, absl::StrCat(name, ":0")), IsClearError()) << name;
  }
  const std::vector<std::vector<std::string>> inputs = {{},
                                                        {""},
                                                        {"^"},
                                                        {"nowhere"},
                                                        {"a:7"},
                                                        {"a:-1"},
                                                        {"a:99999999999999999999"},
                                                        {"a", "a"},
                                                        {"^a", "a"},
                                                        {"bad"},
                                                        {"a:0:0"},
                                                        {"a:"},
                                                        {":0"},
                                                        {"a:x"},
                                                        {"^a:0"},
                                                        {"^nowhere", "a"},
                                                        std::vector<std::string>(1000, "a")};
  for (const auto& list : inputs) {
    EXPECT_THAT(RunGraph(kOne + Neg(list), "bad:0"), IsClearError()) << ::testing::PrintToString(list);
  }
  EXPECT_THAT(RunGraph(Constant("bad", "DT_FLOAT", "tensor_shape {} float_val: 1") + Neg({"bad"}), "bad:0"),
              IsClearError());
  for (int length : {2, 3, 1000}) {
    std::string cycle;
    for (int i = 0; i < length; ++i) {
      const auto name = [&](int k) { return k % length == 0 ? std::string("bad") : absl::StrCat("n", k % length); };
      cycle += Node(name(i), "Neg", {name(i + 1)}, kFloat);
    }
    EXPECT_THAT(RunGraph(cycle, "bad:0"), IsClearError()) << length;
  }
}

TEST_F(HostileGraph, AttributesDevicesAndVersions) {
  for (const std::string& attrs : {std::string(), Attr("T", "type: DT_STRING"), Attr("T", "type: DT_FLOAT_REF"),
                                   Attr("T", "i: 1"), Attr("T", "s: 'DT_FLOAT'"), Attr("T", "list { type: DT_FLOAT }"),
                                   Attr("T", "func { name: 'F' }"), Attr("T", "placeholder: 'T'")}) {
    EXPECT_THAT(RunGraph(kOne + Neg({"a"}, attrs), "bad:0"), IsClearError()) << attrs;
  }
  // A newer producer may know more attributes.
  EXPECT_THAT(RunGraph(kOne + Neg({"a"}, kFloat + Attr("unknown", "i: 1")), "bad:0"), IsOk());
  for (const char* device :
       {"/job:", "/cpu:99", "/job:worker/task:99", "junk", "/device:CPU:-1", "/task:99999999999999999999",
        "/job:worker/replica:0/task:0/device:CPU:0/extra", "/device:"}) {
    EXPECT_THAT(RunGraph(kOne + Neg({"a"}, absl::StrCat(kFloat, " device: '", device, "'")), "bad:0"), IsClearError())
        << device;
  }
  for (const char* versions :
       {"producer: 1882 min_consumer: 1000000000", "producer: -1", "producer: 5 bad_consumers: 1882"}) {
    RunGraph(absl::StrCat("versions { ", versions, " }\n", kOne), "a:0").IgnoreError();
  }
}

TEST_F(HostileGraph, OpsWithNothing) {
  for (const char* op : {"",
                         "NoSuch",
                         "_Recv",
                         "_Send",
                         "_Arg",
                         "_Retval",
                         "Const",
                         "Placeholder",
                         "NextIteration",
                         "Exit",
                         "Enter",
                         "Merge",
                         "Switch",
                         "LoopCond",
                         "StackPopV2",
                         "TensorArrayReadV3",
                         "PartitionedCall",
                         "If",
                         "While",
                         "Case",
                         "SymbolicGradient",
                         "RemoteCall",
                         "Assert",
                         "IteratorGetNext",
                         "QueueDequeueV2",
                         "VarHandleOp",
                         "ReadVariableOp",
                         "SaveV2",
                         "RestoreV2",
                         "_HostRecv",
                         "_SwitchN"}) {
    EXPECT_THAT(RunGraph(Node("bad", op, {}, ""), "bad:0"), IsClearError()) << op;
  }
}

std::string Function(const std::string& body, const std::string& ret) {
  return absl::StrCat("library { function { signature { name: 'F' input_arg { name: 'x' type: DT_FLOAT } ",
                      "output_arg { name: 'y' type: DT_FLOAT } } ", body, " ", ret, " } }\n");
}

TEST_F(HostileGraph, FunctionsThatDoNotHoldTogether) {
  const std::string neg = "node_def { name: 'n' op: 'Neg' input: 'x' " + kFloat + " } ";
  const std::string ret = "ret { key: 'y' value: 'n:y:0' }";
  const std::string types = Attr("Tin", "list { type: DT_FLOAT }") + Attr("Tout", "list { type: DT_FLOAT }");
  const std::string call = Node("bad", "PartitionedCall", {"a"}, Attr("f", "func { name: 'F' }") + types);
  ASSERT_THAT(RunGraph(kOne + Function(neg, ret) + call, "bad:0"), IsOk());
  const auto with_input = [](const char* input) {
    return absl::StrCat("node_def { name: 'n' op: 'Neg' input: '", input, "' ", kFloat, " } ");
  };
  const std::vector<std::pair<std::string, std::string>> functions = {
      {neg, ""},
      {neg, "ret { key: 'y' value: 'zz:y:0' }"},
      {neg, "ret { key: 'y' value: 'n:y:7' }"},
      {neg, "ret { key: 'y' value: 'n:q:0' }"},
      {neg + neg, ret},
      {with_input("zzz"), ret},
      {with_input("n:y:0"), ret},
      {with_input("a"), ret},
      {"node_def { name: 'n' op: 'F' input: 'x' } ", ret},
      {"node_def { name: 'n' op: 'Neg' input: 'x' " + Attr("T", "type: DT_INT32") + " } ", ret},
      {"node_def { name: 'n' op: 'Nope' input: 'x' } ", ret},
      {"node_def { name: 'n' op: '_Recv' } ", "ret { key: 'y' value: 'n:tensor:0' }"},
      {"node_def { name: '' op: 'Neg' input: 'x' " + kFloat + " } ", "ret { key: 'y' value: ':y:0' }"}};
  for (const auto& [body, returned] : functions) {
    EXPECT_THAT(RunGraph(kOne + Function(body, returned) + call, "bad:0"), IsClearError()) << body << returned;
    EXPECT_THAT(RunGraph(kOne + Function(body, returned) + Node("bad", "F", {"a"}, ""), "bad:0"), IsClearError())
        << body << returned;
  }
}

// In the master's words, which tell its deadline from that of the test's call.
testing::Matcher<absl::Status> EndedByItsLimit() {
  return StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("Timed out waiting for notification"));
}

// The functions run no kernel that could notice.
TEST_F(HostileGraph, AnEndlessLoopOfFunctionsEndsWithItsStep) {
  tensorflow::CreateSessionRequest create;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      absl::StrCat("versions { producer: 1882 }", Constant("a", "DT_BOOL", "tensor_shape {} bool_val: true"),
                   "library { function { signature { name: 'Same' input_arg { name: 'x' type: DT_BOOL } ",
                   "output_arg { name: 'y' type: DT_BOOL } } ret { key: 'y' value: 'x' } } }\n",
                   Node("bad", "While", {"a"},
                        Attr("cond", "func { name: 'Same' }") + Attr("body", "func { name: 'Same' }") +
                            Attr("T", "list { type: DT_BOOL }"))),
      create.mutable_graph_def()));
  tensorflow::CreateSessionResponse session;
  ASSERT_THAT(Master("CreateSession", create, &session), IsOk());
  tensorflow::RunStepRequest run;
  run.set_session_handle(session.session_handle());
  run.add_fetch("bad:0");
  run.mutable_options()->set_timeout_in_ms(100);
  EXPECT_THAT(Master("RunStep", run), EndedByItsLimit());
  tensorflow::CloseSessionRequest close;
  close.set_session_handle(session.session_handle());
  EXPECT_THAT(Master("CloseSession", close), IsOk());
}

// A step with a limit of a second ends soon after it.
class HostileFunctions : public HostileServer {
 protected:
  HostileFunctions() { patience_ = absl::Minutes(1); }
  absl::Status RunForASecond(const tensorflow::GraphDef& graph) {
    tensorflow::CreateSessionRequest create;
    *create.mutable_graph_def() = graph;
    create.mutable_graph_def()->mutable_versions()->set_producer(1882);
    tensorflow::CreateSessionResponse session;
    RETURN_IF_ERROR(Master("CreateSession", create, &session));
    tensorflow::RunStepRequest run;
    run.set_session_handle(session.session_handle());
    run.add_fetch("bad:0");
    run.mutable_options()->set_timeout_in_ms(1000);
    const absl::Status status = Master("RunStep", run);
    tensorflow::CloseSessionRequest close;
    close.set_session_handle(session.session_handle());
    EXPECT_THAT(Master("CloseSession", close), IsOk());
    return status;
  }
  // Adds function `name`, which calls the callees one after the other.
  static void AddFunction(const std::string& name, const std::vector<std::string>& callees,
                          tensorflow::GraphDef* graph) {
    tensorflow::FunctionDef& function = *graph->mutable_library()->add_function();
    function.mutable_signature()->set_name(name);
    const auto add_arg = [](const std::string& arg_name, tensorflow::OpDef::ArgDef* arg) {
      arg->set_name(arg_name);
      arg->set_type(tensorflow::DT_FLOAT);
    };
    add_arg("x", function.mutable_signature()->add_input_arg());
    add_arg("y", function.mutable_signature()->add_output_arg());
    std::string value = "x";
    for (size_t i = 0; i < callees.size(); ++i) {
      tensorflow::NodeDef& node = *function.add_node_def();
      node.set_name(absl::StrCat("n", i));
      node.set_op(callees[i]);
      node.add_input(value);
      if (callees[i] == "Neg") (*node.mutable_attr())["T"].set_type(tensorflow::DT_FLOAT);
      value = absl::StrCat("n", i, ":y:0");
    }
    (*function.mutable_ret())["y"] = value;
  }
  // "bad" calls the function with 1.
  static void AddCall(const std::string& function, tensorflow::GraphDef* graph) {
    tensorflow::GraphDef one;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(kOne, &one));
    graph->MergeFrom(one);
    tensorflow::NodeDef& call = *graph->add_node();
    call.set_name("bad");
    call.set_op(function);
    call.add_input("a");
  }
};

TEST_F(HostileFunctions, ThatDoubleFortyTimesEndWithTheirStep) {
  tensorflow::GraphDef graph;
  AddFunction("F0", {"Neg", "Neg"}, &graph);
  for (int i = 1; i < 40; ++i) {
    const std::string callee = absl::StrCat("F", i - 1);
    AddFunction(absl::StrCat("F", i), {callee, callee}, &graph);
  }
  AddCall("F39", &graph);
  EXPECT_THAT(RunForASecond(graph), EndedByItsLimit());
  EXPECT_LT(ResidentBytes(), int64_t{2} << 30);
}

TEST_F(HostileFunctions, InAChainOfAHundredThousandEndWithTheirStep) {
  tensorflow::GraphDef graph;
  AddFunction("F0", {"Neg"}, &graph);
  for (int i = 1; i < 100'000; ++i) AddFunction(absl::StrCat("F", i), {absl::StrCat("F", i - 1)}, &graph);
  AddCall("F99999", &graph);
  EXPECT_THAT(RunForASecond(graph), EndedByItsLimit());
  EXPECT_LT(ResidentBytes(), int64_t{2} << 30);
}

TEST_F(HostileFunctions, AGraphOfNineHundredThousandNodesIsPreparedWithinItsStep) {
  tensorflow::GraphDef graph;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(kOne, &graph));
  for (int i = 0; i < 900'000; ++i) {
    tensorflow::NodeDef& node = *graph.add_node();
    node.set_name(i == 899'999 ? "bad" : absl::StrCat("n", i));
    node.set_op("Neg");
    node.add_input(i == 0 ? "a" : absl::StrCat("n", i - 1));
    (*node.mutable_attr())["T"].set_type(tensorflow::DT_FLOAT);
  }
  EXPECT_THAT(RunForASecond(graph), EndedByItsLimit());
}

}  // namespace
}  // namespace weir
