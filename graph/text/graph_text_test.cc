#include "graph/text/graph_text.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <random>

#include "core/op/attr_value.h"
#include "gmock/gmock.h"
#include "graph/function_library.h"
#include "graph/graph_testing.h"
#include "graph/shapes/shape_refiner.h"
#include "gtest/gtest.h"
#include "tensorflow/core/framework/function.pb.h"

namespace weir {
namespace {

using tensorflow::AttrValue;
using tensorflow::NodeDef;
using ::testing::HasSubstr;

// Compares bytes, because NaN does not equal itself.
std::string Bytes(const Graph& graph) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    graph.ToGraphDef().SerializeToCodedStream(&coded);
  }
  return bytes;
}

bool Same(const Graph& a, const Graph& b) { return Bytes(a) == Bytes(b); }

ImportOptions Internal() {
  ImportOptions options;
  options.allow_internal_ops = true;
  return options;
}

// Prints `graph`, parses the text, and expects the same graph.
void ExpectRoundTrip(const Graph& graph) {
  const std::string text = PrintGraph(graph);
  Graph again(&TestOps());
  absl::Status status = ParseGraph(text, Internal(), &again);
  ASSERT_TRUE(status.ok()) << status << "\n" << text;
  EXPECT_TRUE(Same(graph, again)) << text << "\nbecame\n" << PrintGraph(again);
  EXPECT_EQ(PrintGraph(again), text);
}

constexpr char kLayer[] =
    "%x:f32[?,3] = Placeholder() {dtype=f32, shape=shape[?,3]}\n"
    "%w:f32 = Placeholder() {dtype=f32, shape=shape[4,3]}\n"
    "%init = NoOp()\n"
    "%h:f32 = MatMul(%x, %w, ^%init) {transpose_b=true} @worker:0/CPU:0\n";

TEST(GraphText, PrintsWhatPeopleRead) {
  Graph graph(&TestOps());
  ASSERT_TRUE(ParseGraph(kLayer, {}, &graph).ok());
  auto shapes = InferShapes(graph);
  ASSERT_TRUE(shapes.ok());
  PrintOptions options;
  options.shapes = &*shapes;
  EXPECT_EQ(PrintNode(*graph.FindNode("h"), options),
            "%h:f32[?,4] = MatMul(%x, %w, ^%init) {transpose_b=true} @worker:0/CPU:0");
  EXPECT_EQ(graph.FindNode("h")->requested_device(), "/job:worker/replica:0/task:0/device:CPU:0");
}

TEST(GraphText, RoundTripsWhatItParses) {
  for (const char* text : {
           kLayer,
           "versions {producer=1882, min_consumer=12, bad_consumers=[3, 4]}\n",
           "%a:f32 = Placeholder() {dtype=f32}\n%s:(f32, f32) = Split2(%a)\n%n:f32 = Neg(%s:1)\n",
           "%v:f32& = VariableV2() {dtype=f32, shape=shape[2]}\n%c:f32 = Neg(%v)\n%w:f32& = Assign(%v, %c)\n",
           "%a:f32 = Placeholder() {dtype=f32} @\"/device:GPU:*\"\n%b:f32 = AddN(%a, %a, %a)\n",
           "%m:(f32, i32) = Merge(%a, %n)\n%a:f32 = Placeholder() {dtype=f32}\n%n:f32 = NextIteration(%m)\n",
           "%a:f32 = Placeholder() {dtype=f32}\n%c:(f32, i32) = PartitionedCall(%a, %a) {f=@g{T=f32}}\n",
           "%a:f32 = Placeholder() {dtype=f32, _class=[\"loc:@a\"], _x=@f{a=$T}, _y=unset, _z=[]}\n",
           "gradient \"\" g\n",
       }) {
    Graph graph(&TestOps());
    absl::Status status = ParseGraph(text, {}, &graph);
    ASSERT_TRUE(status.ok()) << status << "\n" << text;
    ExpectRoundTrip(graph);
  }
}

TEST(GraphText, RoundTripsFunctions) {
  Graph graph(&TestOps());
  absl::Status status = ParseGraph(
      "function { signature { name: 'Twice' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: "
      "DT_FLOAT "
      "} } ret { key: 'y' value: '}:z\"{' } }\n"
      "%a = Placeholder() {dtype=f32}\n%t = Twice(%a)\n",
      {}, &graph);
  ASSERT_TRUE(status.ok()) << status;
  ExpectRoundTrip(graph);
}

TEST(GraphText, InfersWhatFollowsFromTypes) {
  Graph graph(&TestOps());
  ASSERT_TRUE(ParseGraph("%a = Placeholder() {dtype=i64}\n%b = Neg(%a)\n%p:i64 = Pack(%b, %b)", {}, &graph).ok());
  EXPECT_EQ(graph.FindNode("p")->def().attr().at("N").i(), 2);
  EXPECT_EQ(graph.FindNode("p")->output_type(0), DT_INT64);
}

TEST(GraphText, SaysWhereTextIsWrong) {
  const std::pair<std::string, std::string> cases[] = {
      {"%a = Placeholder() {dtype=f32}\n%b = Neg(%a", "line 2, column 12: expected ',', found the end"},
      {"%a Neg()", "line 1, column 4: expected '='"},
      {"hello", "expected '%'"},
      {"%a = Placeholder() {dtype=f33}", "expected a type"},
      {"%a = Placeholder() {dtype=f32, dtype=f32}", "twice"},
      {"%a = Placeholder() {dtype=f32, shape=shape[-2]}", "expected a dimension"},
      {"%a = Placeholder() {dtype=f32, shape=shape[99999999999999999999]}", "expected a dimension"},
      {"%\"a = NoOp()", "without closing quote"},
      {"%a = NoOp() @nowhere", "expected a device"},
      {"%a:i32 = Placeholder() {dtype=f32}", "differ from those of its op"},
      {"%a:f32 = Neg(%b)", "Unknown input node 'b'"},
      {"%a = Neg(%a:-1)", "negative output"},
      {"%a = NoOp() {x=tensor{dtype: 1 dtype: }}", "malformed tensor"},
      {"function { signature { name: 3 } }", "malformed function"},
      {"function { ", "not closed"},
      {"%a = NoOp() {x=" + std::string(100'000, '[') + "}", "nested too deeply"},
      {"%a = NoOp() {x=raw\"\\377\"}", "serialised AttrValue"},
  };
  for (const auto& [text, message] : cases) {
    Graph graph(&TestOps());
    absl::Status status = ParseGraph(text, {}, &graph);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text.substr(0, 100);
    EXPECT_THAT(status.message(), HasSubstr(message)) << text.substr(0, 100) << "\n" << status;
    EXPECT_EQ(graph.num_nodes(), 0);
  }
}

TEST(GraphText, SurvivesCutAndChangedText) {
  std::mt19937 random(7);
  const std::string text =
      std::string(kLayer) + "%z = AttrZoo() {s=\"\\001\\\"\", lf=[1.5, -inf], lfunc=[@f{a=[1]}]}\n";
  for (int i = 0; i < 3000; ++i) {
    std::string changed = text.substr(0, random() % (text.size() + 1));
    for (int k = random() % 4; k > 0 && !changed.empty(); --k)
      changed[random() % changed.size()] = "%{}[]\"@:^=\0a1,"[random() % 15];
    Graph graph(&TestOps());
    (void)ParseGraph(changed, {}, &graph);
  }
}

AttrValue RandomAttr(std::mt19937& random, int kind) {
  AttrValue value;
  const auto word = [&] {
    std::string s(random() % 6, ' ');
    for (char& c : s) c = static_cast<char>(random() % 256);
    return s;
  };
  const auto number = [&] {
    const uint32_t bits = random();
    float f;
    std::memcpy(&f, &bits, sizeof(f));
    return f;
  };
  auto& list = *value.mutable_list();
  const int n = random() % 4;
  switch (kind) {
    case 0:
      value.set_s(word());
      break;
    case 1:
      value.set_i(static_cast<int64_t>(uint64_t{random()} * random()));
      break;
    case 2:
      value.set_f(number());
      break;
    case 3:
      for (int i = 0; i < n; ++i) list.add_s(word());
      break;
    case 4:
      for (int i = 0; i < n; ++i) list.add_f(number());
      break;
    case 5:
      for (int i = 0; i < n; ++i) list.add_b(random() % 2 != 0);
      break;
    case 6:
      for (int i = 0; i < n; ++i) list.add_type(static_cast<tensorflow::DataType>(1 + random() % 23));
      break;
    case 7:
      for (int i = 0; i < n; ++i) {
        auto* shape = list.add_shape();
        if (random() % 3 == 0) shape->set_unknown_rank(true);
        if (shape->unknown_rank()) continue;
        for (int d = random() % 3; d > 0; --d) shape->add_dim()->set_size(static_cast<int>(random() % 5) - 1);
        if (shape->dim_size() > 0 && random() % 4 == 0) shape->mutable_dim(0)->set_name("batch");
      }
      break;
    case 8:
      for (int i = 0; i < n; ++i) {
        auto* tensor = list.add_tensor();
        tensor->set_dtype(tensorflow::DT_FLOAT);
        tensor->mutable_tensor_shape()->add_dim()->set_size(1);
        if (random() % 2 != 0)
          tensor->set_tensor_content(std::string(4, static_cast<char>(random() % 256)));
        else
          tensor->add_float_val(1.0f / static_cast<float>(1 + random() % 100));
      }
      break;
    default:
      for (int i = 0; i < n; ++i) {
        auto* function = list.add_func();
        function->set_name(absl::StrCat("f", random() % 3, " "));
        (*function->mutable_attr())["T"] = RandomAttr(random, random() % 8);
      }
  }
  return value;
}

TEST(GraphText, RoundTripsRandomGraphs) {
  std::mt19937 random(42);
  const char* const attrs[] = {"s", "i", "f", "ls", "lf", "lb", "lt", "lshape", "ltensor", "lfunc"};
  for (int round = 0; round < 200; ++round) {
    Graph graph(&TestOps());
    std::vector<Node*> sources;
    auto add = [&](const std::string& op) {
      NodeDef def;
      def.set_name(absl::StrCat(op, "/n-", graph.num_node_ids(), "_."));
      def.set_op(op);
      if (random() % 4 == 0) def.set_device("/job:ps/replica:0/task:1/device:CPU:0");
      if (random() % 8 == 0) def.set_device("/job:ps");
      if (random() % 8 == 0) def.mutable_experimental_debug_info()->add_original_node_names("x");
      if (random() % 8 == 0) (*def.mutable_attr())["_odd name"] = RandomAttr(random, random() % 9);
      return def;
    };
    for (int i = 0; i < 12; ++i) {
      const int kind = sources.empty() ? 0 : random() % 5;
      NodeDef def = add(kind == 0   ? "Placeholder"
                        : kind == 1 ? "Split2"
                        : kind == 2 ? "AddN"
                        : kind == 3 ? "AttrZoo"
                                    : "Shape");
      const int inputs = kind == 2 ? 1 + random() % 3 : kind == 1 || kind == 4 ? 1 : 0;
      if (kind == 0) SetNodeAttr("dtype", DT_FLOAT, &def);
      if (kind == 1 || kind == 2 || kind == 4) SetNodeAttr("T", DT_FLOAT, &def);
      if (kind == 2) SetNodeAttr("N", static_cast<int64_t>(inputs), &def);
      if (kind == 4 && random() % 2 != 0) SetNodeAttr("out_type", DT_INT64, &def);
      if (kind == 3) {
        for (int a = 0; a < 10; ++a) {
          if (random() % 2 != 0) (*def.mutable_attr())[attrs[a]] = RandomAttr(random, a);
        }
      }
      auto node = graph.AddNode(def);
      ASSERT_TRUE(node.ok()) << node.status();
      for (int k = 0; k < inputs; ++k) {
        Node* source = sources[random() % sources.size()];
        ASSERT_TRUE(graph.AddEdge(source, random() % source->num_outputs(), *node, k).ok());
      }
      if (!sources.empty() && random() % 3 == 0) graph.AddControlEdge(sources[random() % sources.size()], *node);
      if (kind <= 2) sources.push_back(*node);
    }
    ExpectRoundTrip(graph);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace weir
