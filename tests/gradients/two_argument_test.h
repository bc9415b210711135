// A fixture for ops that pass tensors on in variants or arrays: functions of two arguments.
#pragma once

#include <string>
#include <vector>

#include "core/kernel/op_kernel_testing.h"
#include "core/op/attr_value.h"
#include "core/testing.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tests/gradients/graph_function.h"
#include "tests/gradients/numeric_gradient.h"

namespace weir {

class TwoArgumentGradientsTest : public ::testing::Test {
 protected:
  Output Call(const std::string& op, const std::vector<Input>& inputs, const Attrs& attrs = {}) {
    std::vector<InputList> lists;
    for (const Input& input : inputs) lists.push_back({input});
    return CallIn(scope_, op, lists, attrs);
  }
  static Output CallIn(const Scope& scope, const std::string& op, const std::vector<InputList>& inputs,
                       const Attrs& attrs = {}) {
    tensorflow::NodeDef def = attrs.node();
    def.set_op(op);
    return Output(scope.AddOp(std::move(def), inputs), 0);
  }
  // The gradients of `ys` by x_ [3, 2] and z_ [2]; that by x_ exists.
  void Check(const std::vector<Output>& ys) {
    ASSERT_THAT(scope_.status(), IsOk());
    const std::vector<Output> gradients = CheckGradients(
        scope_, {x_, z_},
        {RandomTensor(DT_DOUBLE, TensorShape({3, 2}), -1, 1, 1), RandomTensor(DT_DOUBLE, TensorShape({2}), -1, 1, 2)},
        ys);
    EXPECT_TRUE(gradients[0].valid());
  }
  Output Square(const Output& x) { return Call("Square", {x}); }

  Scope scope_ = Scope::NewRoot();
  const Output x_ = Argument(scope_, 0, DT_DOUBLE), z_ = Argument(scope_, 1, DT_DOUBLE);
};

}  // namespace weir
