#include "graph/passes/loop_constants.h"

#include "gmock/gmock.h"
#include "graph/graph_testing.h"
#include "graph/text/graph_text.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Marked(const std::string& product) {
  Graph graph(&TestOps());
  const absl::Status status = ParseGraph(
      "%x:f32 = Placeholder()\n%w:f32 = Placeholder()\n"
      "%varies:f32 = Enter(%x) {frame_name=\"f\"}\n"
      "%constant:f32 = Enter(%w) {frame_name=\"f\", is_constant=true}\n" +
          product,
      {}, &graph);
  EXPECT_TRUE(status.ok()) << status;
  MarkLoopConstants(&graph);
  return PrintGraph(graph);
}

TEST(LoopConstants, AreTheSecondOperandsOfProducts) {
  EXPECT_THAT(Marked("%y:f32 = MatMul(%varies, %constant)\n"), HasSubstr("_loop_constant_b=true"));
}

TEST(LoopConstants, MayPassAnIdentity) {
  EXPECT_THAT(Marked("%same:f32 = Identity(%constant)\n%y:f32 = MatMul(%varies, %same)\n"),
              HasSubstr("_loop_constant_b=true"));
}

TEST(LoopConstants, NothingElseIsMarked) {
  EXPECT_THAT(
      Marked("%y:f32 = MatMul(%constant, %varies)\n%z:f32 = MatMul(%x, %w)\n%s:f32 = AddV2(%varies, %constant)\n"),
      AllOf(HasSubstr("MatMul"), Not(HasSubstr("_loop_constant_b"))));
}

}  // namespace
}  // namespace weir
