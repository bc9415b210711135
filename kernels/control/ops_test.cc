#include "graph/graph.h"
#include "gtest/gtest.h"
#include "kernels/control/family.h"
#include "tensorflow/core/framework/op_def.pb.h"

namespace weir {
namespace {

TEST(ControlOps, RegisterOnce) {
  OpRegistry ops;
  EXPECT_TRUE(RegisterControlOps(ops).ok());
  EXPECT_EQ(RegisterControlOps(ops).code(), absl::StatusCode::kAlreadyExists);
}

TEST(ControlOps, ReferenceOpsTakeAndGiveReferences) {
  OpRegistry ops;
  ASSERT_TRUE(RegisterControlOps(ops).ok());
  const auto& merge = *ops.Find("RefMerge")->op_def;
  EXPECT_TRUE(merge.input_arg(0).is_ref());
  EXPECT_EQ(merge.input_arg(0).number_attr(), "N");
  EXPECT_TRUE(merge.output_arg(0).is_ref());
  EXPECT_FALSE(merge.output_arg(1).is_ref());
}

}  // namespace
}  // namespace weir
