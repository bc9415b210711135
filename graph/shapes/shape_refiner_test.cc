#include "graph/shapes/shape_refiner.h"

#include "gmock/gmock.h"
#include "graph/graph_import.h"
#include "graph/graph_testing.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

std::string Dims(const std::vector<int>& dims) {
  std::string text = "shape {";
  for (int d : dims) text += absl::StrCat(" dim { size: ", d, " }");
  return text + " }";
}

std::string Source(const std::string& name, const std::vector<int>& dims, const std::string& type = "DT_FLOAT") {
  return "node { name: '" + name + "' op: 'Placeholder' attr { key: 'dtype' value { type: " + type +
         " } } attr { key: 'shape' value { " + Dims(dims) + " } } }";
}

std::string Ints(const std::string& name, const std::vector<int>& values, bool scalar = false) {
  std::string text = "node { name: '" + name +
                     "' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } } attr { "
                     "key: 'value' value { tensor { dtype: DT_INT32 tensor_shape { ";
  if (!scalar) text += absl::StrCat("dim { size: ", values.size(), " }");
  text += " }";
  for (int v : values) text += absl::StrCat(" int_val: ", v);
  return text + " } } } }";
}

std::string Call(const std::string& name, const std::string& op, const std::vector<std::string>& inputs,
                 const std::string& attrs = "", const std::string& type = "DT_FLOAT") {
  std::string text = "node { name: '" + name + "' op: '" + op + "' attr { key: 'T' value { type: " + type + " } }";
  for (const std::string& input : inputs) text += " input: '" + input + "'";
  return text + attrs + " }";
}

std::string Int(const std::string& key, int value) {
  return absl::StrCat(" attr { key: '", key, "' value { i: ", value, " } }");
}

struct Inferred {
  Graph graph{&TestOps()};
  absl::StatusOr<ShapeRefiner> shapes = absl::UnknownError("");

  explicit Inferred(const std::string& text, ShapeOptions options = {}, ImportOptions import = {}) {
    absl::Status status = ImportGraphDef(import, GraphDefFromText(text), &graph);
    EXPECT_TRUE(status.ok()) << status;
    shapes = InferShapes(graph, std::move(options));
  }
  std::string Shape(const std::string& name, int output = 0) {
    if (!shapes.ok()) return shapes.status().ToString();
    return shapes->shape(*graph.FindNode(name), output).ToString();
  }
};

TEST(InferShapes, GoesThroughTheGraph) {
  Inferred g(Source("x", {-1, 3}) + Source("w", {3, 4}) + Call("y", "MatMul", {"x", "w"}) + Call("z", "Neg", {"y"}));
  EXPECT_EQ(g.Shape("z"), "[?,4]");
}

TEST(InferShapes, NamesNodeOpAndShapesInErrors) {
  Inferred g(Source("x", {2, 3}) + Source("w", {5, 4}) + Call("y", "MatMul", {"x", "w"}));
  ASSERT_FALSE(g.shapes.ok());
  EXPECT_EQ(g.shapes.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(g.shapes.status().message(), HasSubstr("Dimensions must be equal, but are 3 and 5 for '{{node y}} = "
                                                     "MatMul["));
  EXPECT_THAT(g.shapes.status().message(), HasSubstr("with input shapes: [2,3], [5,4]."));
  EXPECT_EQ(OriginOf(g.shapes.status())->node, "y");
}

TEST(InferShapes, LeavesMisfitsUnknownWhenNotStrict) {
  ShapeOptions options;
  options.strict = false;
  Inferred g(Source("x", {2, 3}) + Source("w", {5, 4}) + Call("y", "MatMul", {"x", "w"}), options);
  EXPECT_EQ(g.Shape("y"), "<unknown>");
}

TEST(InferShapes, ReadsConstants) {
  Inferred g(Source("x", {4, 6}) + Ints("s", {3, -1}) + Call("y", "Reshape", {"x", "s"}));
  EXPECT_EQ(g.Shape("y"), "[3,8]");
}

TEST(InferShapes, FollowsShapesThroughTheirArithmetic) {
  const std::string index = " attr { key: 'Index' value { type: DT_INT32 } }" + Int("shrink_axis_mask", 1);
  Inferred g(
      Source("x", {-1, 6}) + Call("shape", "Shape", {"x"}) + Ints("zero", {0}) + Ints("one", {1}) + Ints("two", {2}) +
      Ints("three", {3}, true) + Call("batch", "StridedSlice", {"shape", "zero", "one", "one"}, index, "DT_INT32") +
      Call("width", "StridedSlice", {"shape", "one", "two", "one"}, index, "DT_INT32") +
      Call("half", "Mul", {"width", "three"}, "", "DT_INT32") +
      Call("to", "Pack", {"batch", "half", "three"}, Int("N", 3), "DT_INT32") + Call("y", "Reshape", {"x", "to"}));
  EXPECT_EQ(g.Shape("y"), "[?,18,3]");
}

TEST(InferShapes, PassesWholeShapesOn) {
  Inferred g(Source("x", {2, 6}) + Source("flat", {-1}) + Call("shape", "Shape", {"x"}) +
             Call("same", "Identity", {"shape"}, "", "DT_INT32") + Call("y", "Reshape", {"flat", "same"}));
  EXPECT_EQ(g.Shape("y"), "[2,6]");
  EXPECT_NE(g.shapes->constant(*g.graph.FindNode("shape"), 0), nullptr);
}

// i = 0; while (i < limit) x = body(x)
std::string Loop(const std::string& initial, const std::string& body) {
  const std::string frame = " attr { key: 'frame_name' value { s: 'f' } }";
  return initial + Source("p", {}, "DT_BOOL") + Call("enter", "Enter", {"x"}, frame) +
         Call("merge", "Merge", {"enter", "next"}, Int("N", 2)) + "node { name: 'cond' op: 'LoopCond' input: 'p' }" +
         Call("switch", "Switch", {"merge", "cond"}) + Call("exit", "Exit", {"switch"}) + body +
         Call("next", "NextIteration", {"body"});
}

TEST(InferShapes, KeepsShapesThatALoopKeeps) {
  Inferred g(Loop(Source("x", {2, 3}), Call("body", "Neg", {"switch:1"})));
  EXPECT_EQ(g.Shape("exit"), "[2,3]");
  EXPECT_EQ(g.Shape("merge", 1), "[]");
}

TEST(InferShapes, ForgetsDimensionsThatALoopChanges) {
  Inferred g(Loop(Source("x", {2, 3}) + Source("w", {3, 3}) + Source("z", {1, 3}),
                  Call("body", "AddN", {"zeros"}, Int("N", 1)) + Call("zeros", "Identity", {"z"})));
  EXPECT_EQ(g.Shape("exit"), "[?,3]");
}

TEST(InferShapes, ForgetsARankThatGrows) {
  const std::string index = " attr { key: 'Index' value { type: DT_INT32 } }" + Int("new_axis_mask", 1);
  Inferred g(Loop(Source("x", {2}) + Ints("one", {1}),
                  Call("body", "StridedSlice", {"switch:1", "one", "one", "one"}, index)));
  EXPECT_EQ(g.Shape("exit"), "<unknown>");
}

TEST(InferShapes, GivesArgumentsTheirShapes) {
  ShapeOptions options;
  options.arg_shapes = {TensorShape({7})};
  ImportOptions import;
  import.allow_internal_ops = true;
  Inferred g(Call("a", "_Arg", {}, Int("index", 0)) + Call("b", "_Arg", {}, Int("index", 1)) + Call("c", "Neg", {"a"}),
             options, import);
  EXPECT_EQ(g.Shape("c"), "[7]");
  EXPECT_EQ(g.Shape("b"), "<unknown>");
}

TEST(InferShapes, TakesHintsThatFit) {
  const std::string hint = " attr { key: '_output_shapes' value { list { shape { dim { size: 5 } } } } }";
  Inferred g(Source("x", {-1}) + Source("w", {6}) + Call("a", "Neg", {"x"}, hint) + Call("b", "Neg", {"w"}, hint));
  EXPECT_EQ(g.Shape("a"), "[5]");
  EXPECT_EQ(g.Shape("b"), "[6]");
}

TEST(InferShapes, TakesDeepGraphs) {
  std::string text = Source("n0", {3});
  for (int i = 1; i < 20'000; ++i) text += Call(absl::StrCat("n", i), "Neg", {absl::StrCat("n", i - 1)});
  EXPECT_EQ(Inferred(text).Shape("n19999"), "[3]");
}

}  // namespace
}  // namespace weir
