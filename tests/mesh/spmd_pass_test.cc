// The pass that rewrites a graph for a mesh: text in, text out. Here, because it takes the ops of the whole build.
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "graph/graph.h"
#include "graph/passes/pass_manager.h"
#include "graph/shapes/shape_refiner.h"
#include "graph/spmd/mesh.h"
#include "graph/text/graph_text.h"
#include "gtest/gtest.h"
#include "kernels/library.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const OpRegistry& Ops() {
  static const OpRegistry* const ops = [] {
    auto* registry = new OpRegistry;
    EXPECT_TRUE(RegisterAllOps(*registry).ok());
    return registry;
  }();
  return *ops;
}

constexpr char kDevice0[] = "/job:w/replica:0/task:0/device:CPU:0";
constexpr char kDevice1[] = "/job:w/replica:0/task:1/device:CPU:0";

// A mesh of two devices along x, and layouts of it.
std::string MeshText() { return absl::StrCat("|x=2|0,1|0,1|", kDevice0, ",", kDevice1); }
std::string Layouts(const std::string& specs) {
  return absl::StrCat("_layout=[\"sharding_specs:", specs, ", mesh:", MeshText(), "\"]");
}

std::unique_ptr<Graph> Parse(const std::string& text) {
  auto graph = std::make_unique<Graph>(&Ops());
  ImportOptions options;
  options.allow_internal_ops = true;
  const absl::Status status = ParseGraph(text, options, graph.get());
  EXPECT_TRUE(status.ok()) << status;
  return graph;
}

// The text of the result, or the error. Devices read "@0" and "@1".
std::string Apply(const std::string& text, const std::vector<std::string>& fetches = {"y"}) {
  const auto graph = Parse(text);
  PassContext context;
  context.fetches = fetches;
  int changes = 0;
  const absl::Status status = MakeSpmdPass()->Run(context, graph.get(), &changes);
  if (!status.ok()) return std::string(status.message());
  EXPECT_EQ(TopologicalOrder(*graph).size(), graph->num_nodes());
  return absl::StrReplaceAll(PrintGraph(*graph), {{"@w:0/CPU:0", "@0"}, {"@w:1/CPU:0", "@1"}});
}

std::string Input(const std::string& name, const std::string& shape, const std::string& specs = "") {
  return absl::StrCat("%", name, ":f32 = Placeholder() {shape=shape[", shape, "]",
                      specs.empty() ? "" : absl::StrCat(", ", Layouts(specs)), "}\n");
}

TEST(SpmdPass, LeavesGraphsWithoutMeshesAlone) {
  const std::string text = Input("x", "2,4") + "%y:f32 = Neg(%x)\n";
  EXPECT_EQ(Apply(text), text);
}

TEST(SpmdPass, SplitsAlongTheBatch) {
  const std::string out = Apply(Input("x", "4,6", "x,unsharded,") + "%y:f32 = Neg(%x)\n");
  EXPECT_THAT(out, HasSubstr("%x:f32 = Placeholder() {shape=shape[4,6]} @0\n"));
  EXPECT_THAT(out, HasSubstr("%spmd/x/slice:f32 = Slice(%x, "));
  EXPECT_THAT(out, HasSubstr("%y/device_0:f32 = Neg(%spmd/x/slice) @0\n%y/device_1:f32 = Neg(%spmd/x/slice_1) @1\n"));
  EXPECT_THAT(out, HasSubstr("%spmd/y/whole:f32 = ConcatV2(%y/device_0, %y/device_1, "));
  EXPECT_THAT(out, HasSubstr("%y:f32 = Identity(%spmd/y/whole) @0\n"));
}

TEST(SpmdPass, ColumnsThenRowsNeedOneAllReduce) {
  const std::string out =
      Apply(Input("x", "4,6") + Input("a", "6,8", "unsharded,x,") + Input("b", "8,6", "x,unsharded,") +
            "%h:f32 = MatMul(%x, %a)\n%r:f32 = Relu(%h)\n%p:f32 = MatMul(%r, %b)\n"
            "%y:f32 = Softmax(%p)\n");
  EXPECT_THAT(out, HasSubstr("%h/device_1:f32 = MatMul(%x, %spmd/a/slice_1) @1\n"));
  EXPECT_THAT(out, HasSubstr("%p/device_0:f32 = MatMul(%r/device_0, %spmd/b/slice) @0\n"));
  EXPECT_THAT(out, HasSubstr("%spmd/p/all_reduce:f32 = CollectiveReduceV2(%p/device_0, "));
  EXPECT_THAT(out, HasSubstr("%y/device_1:f32 = Softmax(%spmd/p/all_reduce_1) @1\n"));
  EXPECT_THAT(out, Not(HasSubstr("Gather")));
  EXPECT_THAT(out, Not(HasSubstr("Concat")));
}

TEST(SpmdPass, SumsOfPartsAreAddedBeforeTheyAreReduced) {
  const std::string out = Apply(Input("x", "4,6", "unsharded,x,") + Input("a", "6,4", "x,unsharded,") +
                                "%p:f32 = MatMul(%x, %a)\n%q:f32 = MatMul(%x, %a)\n%s:f32 = AddV2(%p, %q)\n"
                                "%y:f32 = Relu(%s)\n");
  EXPECT_THAT(out, HasSubstr("%s/device_0:f32 = AddV2(%p/device_0, %q/device_0) @0\n"));
  EXPECT_THAT(out, HasSubstr("CollectiveReduceV2(%s/device_0, "));
  EXPECT_THAT(out, Not(HasSubstr("CollectiveReduceV2(%p")));
}

TEST(SpmdPass, MeansOfPartsAreScaled) {
  const std::string out =
      Apply(Input("x", "4", "x,") +
            "%axes:i32 = Const() {value=tensor{dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 0}}\n"
            "%y:f32 = Mean(%x, %axes)\n");
  EXPECT_THAT(out, HasSubstr("%spmd/y/scale:f32 = Mul(%y/device_0, "));
  EXPECT_THAT(out, HasSubstr("%spmd/y/sum:f32 = AddN(%spmd/y/scale, %spmd/y/scale_1) @0\n"));
}

TEST(SpmdPass, WhatNeedsAWholeDimensionGathersIt) {
  const std::string out = Apply(Input("x", "4,6", "unsharded,x,") + "%y:f32 = Softmax(%x)\n");
  EXPECT_THAT(out, HasSubstr("CollectiveGatherV2(%spmd/x/transpose, "));
  EXPECT_THAT(out, HasSubstr("%y/device_0:f32 = Softmax(%spmd/x/transpose_1) @0\n"));
}

TEST(SpmdPass, RequestedLayoutsScatterSumsAndExchangeSplits) {
  const std::string scattered = Apply(Input("x", "4,6", "unsharded,x,") + Input("a", "6,4", "x,unsharded,") +
                                      "%y:f32 = MatMul(%x, %a) {" + Layouts("x,unsharded,") + "}\n");
  EXPECT_THAT(scattered, HasSubstr("%spmd/y/reduce_scatter:f32 = CollectiveReduceScatterV2(%y/device_0, "));
  const std::string exchanged = Apply(Input("x", "4,6", "x,unsharded,") + "%s:f32 = Neg(%x)\n%y:f32 = Identity(%s) {" +
                                      Layouts("unsharded,x,") + "}\n");
  EXPECT_THAT(exchanged, HasSubstr("CollectiveAllToAllV2("));
}

TEST(SpmdPass, ReshapesFollowTheSlowestFactor) {
  const std::string out =
      Apply(Input("x", "2,6", "unsharded,x,") +
            "%shape:i32 = Const() {value=tensor{dtype: DT_INT32 tensor_shape { dim { size: 3 } } int_val: 2 int_val: 2 "
            "int_val: 3}}\n%y:f32 = Reshape(%x, %shape)\n");
  // [2,6] by columns is [2,2,3] by heads: [2,1,3] on each device.
  EXPECT_THAT(out, HasSubstr("%y/device_0:f32 = Reshape(%spmd/x/slice, %spmd/constant"));
  EXPECT_THAT(out, Not(HasSubstr("Collective")));
}

// Each device would have one row, which Squeeze would drop.
TEST(SpmdPass, SqueezeWithoutAListKeepsWhatItDoesNotDrop) {
  const std::string x = Input("x", "2,1,6", "x,unsharded,unsharded,");
  EXPECT_THAT(Apply(x + "%y:f32 = Squeeze(%x)\n"), Not(HasSubstr("Squeeze(%spmd/x/slice")));
  EXPECT_THAT(Apply(x + "%y:f32 = Squeeze(%x) {squeeze_dims=[1]}\n"), HasSubstr("Squeeze(%spmd/x/slice"));
}

TEST(SpmdPass, LooksUpRowsWhereTheyAre) {
  const std::string out = Apply(Input("t", "8,4", "x,unsharded,") + "%ids:i32 = Placeholder() {shape=shape[3]}\n" +
                                "%axis:i32 = Const() {value=tensor{dtype: DT_INT32 tensor_shape { } int_val: 0}}\n"
                                "%g:f32 = GatherV2(%t, %ids, %axis)\n%y:f32 = Relu(%g)\n");
  EXPECT_THAT(out, HasSubstr("CollectiveReduceV2(%spmd/g/other_rows"));
  EXPECT_THAT(out, Not(HasSubstr("CollectiveGatherV2")));
}

TEST(SpmdPass, VariablesHaveTheirPartsAndRandomValuesAreMadeOnce) {
  const std::string out =
      Apply("%v:resource = VarHandleOp() {dtype=f32, shape=shape[4,2], " + Layouts("x,unsharded,") + "}\n" +
                "%shape:i32 = Const() {value=tensor{dtype: DT_INT32 tensor_shape { dim { size: 2 } } int_val: 4 "
                "int_val: 2}}\n"
                "%random:f32 = RandomUniform(%shape) {seed=1}\n%init = AssignVariableOp(%v, %random) {dtype=f32}\n"
                "%y:f32 = ReadVariableOp(%v, ^%init) {dtype=f32}\n",
            {"y", "init"});
  EXPECT_THAT(out,
              HasSubstr("%v/device_1:resource = VarHandleOp() {dtype=f32, shape=shape[2,2], shared_name=\"v\"} @1"));
  EXPECT_THAT(out, HasSubstr("%random:f32 = RandomUniform("));
  EXPECT_THAT(out, HasSubstr("%init/device_1 = AssignVariableOp(%v/device_1, %spmd/random/slice_1)"));
  EXPECT_THAT(out, HasSubstr("%y/device_1:f32 = ReadVariableOp(%v/device_1, ^%init/device_1)"));
  EXPECT_THAT(out, HasSubstr("%init = NoOp(^%init/device_0, ^%init/device_1) @0"));
}

TEST(SpmdPass, RefusesWhatItCannotSplit) {
  EXPECT_THAT(Apply(Input("x", "3,4", "x,unsharded,") + "%y:f32 = Neg(%x)\n"),
              AllOf(HasSubstr("Node 'x' (Placeholder): Dimension 0 of shape [3,4] does not divide by mesh axis 'x'"),
                    HasSubstr("leave the dimension unsharded")));
  EXPECT_THAT(Apply(Input("x", "?,4", "x,unsharded,") + "%y:f32 = Neg(%x)\n"),
              HasSubstr("Node 'x' (Placeholder): It has a layout, but its shape is not known"));
  EXPECT_THAT(Apply(Input("x", "4,4", "q,unsharded,") + "%y:f32 = Neg(%x)\n"),
              HasSubstr("Node 'x': The mesh x=2 has no axis 'q'; name one of its axes"));
  EXPECT_THAT(Apply("%x:f32 = Placeholder() {_layout=[\"nonsense\"]}\n%y:f32 = Neg(%x)\n"),
              HasSubstr("Node 'x': 'nonsense' is not a layout"));
  EXPECT_THAT(Apply(Input("x", "4,4", "x,unsharded,") + "%y:f32 = Neg(%x) {_mesh=\"|x=2|0,1|0,1|/job:a\"}\n"),
              HasSubstr("Node 'y': The axes of the mesh make 2 devices, but 1 are named"));
  EXPECT_THAT(Apply(Input("x", "4,4", "x,unsharded,") +
                    "%p:bool = Placeholder() {shape=shape[]}\n%s:(f32, f32) = Switch(%x, %p)\n%y:f32 = Neg(%s)\n"),
              HasSubstr("Node 's' (Switch): Meshes do not support Switch and Merge"));
}

TEST(Mesh, IsWrittenAsDTensorDoes) {
  const auto mesh = Mesh::Create({{"batch", 2}, {"model", 1}},
                                 {"/job:a/replica:0/task:0/device:CPU:0", "/job:a/replica:0/task:0/device:CPU:1"}, "m");
  ASSERT_TRUE(mesh.ok()) << mesh.status();
  const std::string text =
      "m|batch=2,model=1|0,1|0,1|/job:a/replica:0/task:0/device:CPU:0,/job:a/replica:0/task:0/device:CPU:1";
  EXPECT_EQ(mesh->ToString(), text);
  const auto layout = Layout::Create({"batch", "unsharded"}, *mesh);
  EXPECT_EQ(layout->ToString(), absl::StrCat("sharding_specs:batch,unsharded, mesh:", text));
  EXPECT_TRUE(Layout::Parse(layout->ToString())->mesh == *mesh);
  EXPECT_EQ(Layout::Create({}, *mesh)->ToString(), absl::StrCat("sharding_specs: mesh:", text));
}

TEST(Mesh, RefusesNonsense) {
  for (const char* text : {"", "|", "|x|0|0|/job:a", "|x=0|||", "|x=-1|||", "|x=2|0,1|0,1|a,b", "|x=99999999999|||",
                           "|x=1,x=1|0|0|/job:a/replica:0/task:0/device:CPU:0", "|x=65536,y=65536,z=65536|||"}) {
    EXPECT_FALSE(Mesh::Parse(text).ok()) << text;
  }
  for (const char* text : {"", "sharding_specs:", "sharding_specs:x mesh:", " mesh:sharding_specs:"}) {
    EXPECT_FALSE(Layout::Parse(text).ok()) << text;
  }
}

}  // namespace
}  // namespace weir
