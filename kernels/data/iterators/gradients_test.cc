// Compares gradients through an optional with central differences.
#include "core/op/attr_value.h"
#include "core/testing.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tests/gradients/graph_function.h"
#include "tests/gradients/numeric_gradient.h"

namespace weir {
namespace {

TEST(OptionalGradients, FromValueAndBack) {
  const Scope scope = Scope::NewRoot();
  const Output a = Argument(scope, 0, DT_DOUBLE), b = Argument(scope, 1, DT_FLOAT);
  tensorflow::NodeDef pack, unpack, square;
  pack.set_op("OptionalFromValue");
  const Output optional(scope.AddOp(std::move(pack), {{a, b}}), 0);
  unpack.set_op("OptionalGetValue");
  SetNodeAttr("output_types", std::vector<DataType>{DT_DOUBLE, DT_FLOAT}, &unpack);
  SetNodeAttr("output_shapes", std::vector<PartialTensorShape>(2), &unpack);
  const Operation values = scope.AddOp(std::move(unpack), {{optional}});
  square.set_op("Square");
  const Output y(scope.AddOp(std::move(square), {{Output(values, 0)}}), 0);
  ASSERT_THAT(scope.status(), IsOk());
  const std::vector<Output> gradients = CheckGradients(
      scope, {a, b}, {RandomTensor(DT_DOUBLE, TensorShape({2, 3}), -1, 1, 7), RandomTensor(DT_FLOAT, {}, -1, 1, 8)},
      {y});
  EXPECT_TRUE(gradients[0].valid());
}

}  // namespace
}  // namespace weir
