#include "master/graph_preparation.h"

#include "core/testing.h"
#include "gmock/gmock.h"
#include "graph/text/graph_text.h"
#include "gtest/gtest.h"
#include "kernels/library.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using ::testing::IsNull;
using ::testing::NotNull;

constexpr char kTask0[] = "/job:worker/replica:0/task:0/device:CPU:0";
constexpr char kTask1[] = "/job:worker/replica:0/task:1/device:CPU:0";

class GraphPreparationTest : public ::testing::Test {
 protected:
  GraphPreparationTest() : graph_(&ops_) {
    EXPECT_THAT(RegisterAllOps(ops_), IsOk());
    EXPECT_THAT(RegisterAllKernels(kernels_), IsOk());
    work_queue_ = WorkQueue::Create({.name = "test", .compute_threads = 1});
    device_ = NewCpuDevice(*DeviceName::Parse("/job:worker/replica:0/task:0"), 0, work_queue_.get());
    options_.placement.kernels = &kernels_;
    for (const char* name : {kTask0, kTask1}) options_.placement.devices.push_back(*DeviceName::ParseFull(name));
    options_.fold_on = device_.get();
  }

  absl::Status Prepare(const std::string& text, std::vector<std::string> kept) {
    ImportOptions import;
    import.allow_internal_ops = true;
    RETURN_IF_ERROR(ParseGraph(text, import, &graph_));
    const auto unplaced = PlaceGraph(options_.placement, &graph_);
    options_.kept = std::move(kept);
    return PrepareGraph(options_, unplaced, &graph_);
  }
  const Node* Find(absl::string_view name) const { return graph_.FindNode(name); }

  OpRegistry ops_;
  KernelRegistry kernels_;
  TimerQueue timers_;
  std::unique_ptr<WorkQueue> work_queue_;
  std::unique_ptr<Device> device_;
  PreparationOptions options_;
  Graph graph_;
};

std::string Const(const std::string& name, int value) {
  return absl::StrCat("%", name, ":i32 = Const() {value=tensor{dtype: DT_INT32 tensor_shape { } int_val: ", value,
                      "}}\n");
}

const std::string kTwoSums = Const("a", 1) + Const("b", 2) +
                             "%x:i32 = Placeholder() {dtype=i32}\n%sum:i32 = AddV2(%a, %b)\n"
                             "%p:i32 = Mul(%x, %sum)\n%q:i32 = Mul(%x, %sum)\n%out:i32 = AddV2(%p, %q)\n";

TEST_F(GraphPreparationTest, FoldsAndMerges) {
  ASSERT_THAT(Prepare(kTwoSums, {"out"}), IsOk());
  ASSERT_THAT(Find("sum"), NotNull());
  EXPECT_EQ(Find("sum")->op(), "Const");
  EXPECT_THAT(Find("a"), IsNull());
  EXPECT_THAT(Find("q"), IsNull());
}

TEST_F(GraphPreparationTest, KeepsWhatIsAskedForByName) {
  ASSERT_THAT(Prepare(kTwoSums, {"out", "q", "a"}), IsOk());
  EXPECT_THAT(Find("q"), NotNull());
  EXPECT_THAT(Find("a"), NotNull());
}

TEST_F(GraphPreparationTest, AtLevelZeroLeavesTheGraphAlone) {
  options_.graph_options.mutable_optimizer_options()->set_opt_level(tensorflow::OptimizerOptions::L0);
  ASSERT_THAT(Prepare(kTwoSums, {"out"}), IsOk());
  EXPECT_EQ(Find("sum")->op(), "AddV2");
  EXPECT_THAT(Find("q"), NotNull());
}

TEST_F(GraphPreparationTest, RewriteOptionsSwitchPassesOff) {
  options_.graph_options.mutable_rewrite_options()->set_constant_folding(tensorflow::RewriterConfig::OFF);
  ASSERT_THAT(Prepare(kTwoSums, {"out"}), IsOk());
  EXPECT_EQ(Find("sum")->op(), "AddV2");
  EXPECT_THAT(Find("q"), IsNull());
}

// Hours of work; the step that needs it can be cancelled.
TEST_F(GraphPreparationTest, FoldingHasATimeLimit) {
  options_.timers = &timers_;
  options_.fold_for = absl::Milliseconds(20);
  const auto constant = [](const std::string& name, const std::string& value) {
    return absl::StrCat("%", name, ":i64 = Const() {value=tensor{dtype: DT_INT64 tensor_shape { } int64_val: ", value,
                        "}}\n");
  };
  ASSERT_THAT(Prepare("%points:f32 = Const() {value=tensor{dtype: DT_FLOAT tensor_shape { dim { size: 1000 } dim { "
                      "size: 100 } } float_val: 1}}\n" +
                          constant("wanted", "1000") + constant("seed", "1") + constant("retries", "1000000") +
                          "%chosen:f32 = KmeansPlusPlusInitialization(%points, %wanted, %seed, %retries)\n" +
                          Const("a", 1) + Const("b", 2) + "%sum:i32 = AddV2(%a, %b)\n",
                      {"chosen", "sum"}),
              IsOk());
  EXPECT_EQ(Find("chosen")->op(), "KmeansPlusPlusInitialization");
}

TEST_F(GraphPreparationTest, AnErrorStaysForTheStep) {
  ASSERT_THAT(Prepare(Const("one", 1) + Const("zero", 0) + "%bad:i32 = FloorDiv(%one, %zero)\n", {"bad"}), IsOk());
  EXPECT_EQ(Find("bad")->op(), "FloorDiv");
}

TEST_F(GraphPreparationTest, DrawsNoNumbersBeforehand) {
  ASSERT_THAT(
      Prepare("%shape:i32 = Const() {value=tensor{dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 2}}\n"
              "%draw:f32 = RandomUniform(%shape) {dtype=f32}\n%again:f32 = RandomUniform(%shape) {dtype=f32}\n"
              "%sum:f32 = AddV2(%draw, %again)\n",
              {"sum"}),
      IsOk());
  EXPECT_EQ(Find("draw")->op(), "RandomUniform");
  EXPECT_EQ(Find("again")->op(), "RandomUniform");
}

constexpr char kReads[] = R"(
function {
  signature { name: "Reads" input_arg { name: "v" type: DT_RESOURCE } output_arg { name: "y" type: DT_FLOAT } is_stateful: true }
  node_def { name: "read" op: "ReadVariableOp" input: "v" attr { key: "dtype" value { type: DT_FLOAT } } }
  ret { key: "y" value: "read:value:0" }
}
)";

TEST_F(GraphPreparationTest, AFunctionsNodesStandBesideTheirVariables) {
  ASSERT_THAT(Prepare(std::string(kReads) + "%v:resource = VarHandleOp() {dtype=f32, shape=shape[]} @worker:1/CPU:0\n"
                                            "%call:f32 = StatefulPartitionedCall(%v) {f=@Reads{}}\n",
                      {"call"}),
              IsOk());
  ASSERT_THAT(Find("call/read"), NotNull());
  EXPECT_EQ(Find("call/read")->assigned_device(), kTask1);
  EXPECT_EQ(Find("call")->assigned_device(), kTask0);
}

TEST_F(GraphPreparationTest, SaysWhyANodeHasNoDevice) {
  EXPECT_THAT(Prepare("%x:i32 = Placeholder() {dtype=i32} @worker:7/CPU:0\n", {"x"}).message(),
              HasSubstr("Cannot assign a device for operation x: {{node x}} was explicitly assigned to"));
}

}  // namespace
}  // namespace weir
