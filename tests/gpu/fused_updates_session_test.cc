// Tests that optimizer steps on several variables of a GPU become one node, which gives the same bits.
#include "client/initializers.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "tests/gpu/rewritten_session_testing.h"

namespace weir {
namespace {

using testing::HasSubstr;
using testing::Not;

class FusedUpdatesTest : public RewrittenSessionTest {
 protected:
  ResourceVariable Variable(const std::string& name, int64_t size, uint32_t seed) {
    return ResourceVariable::Make(Gpu().WithName(name), TensorShape({size}), DT_FLOAT,
                                  initializers::Value(Scrambled({size}, seed)));
  }
  Output Scalar(float x) const { return ops::Const(Gpu(), Tensor::Scalar<float>(x), DT_FLOAT); }
  void Ask() {
    auto* const rewrite = options_.config->mutable_graph_options()->mutable_rewrite_options();
    rewrite->clear_custom_optimizers();
    rewrite->add_custom_optimizers()->set_name("FusedUpdates");
  }
  // `count` variables of several sizes, two of them of none, each with what `update` does to it.
  using Update = std::function<Operation(const Scope& scope, const ResourceVariable& variable,
                                         const std::vector<ResourceVariable>& slots, const Output& gradient)>;
  std::vector<Operation> Updates(int count, int num_slots, const Update& update) {
    std::vector<Operation> updates;
    for (int i = 0; i < count; ++i) {
      const int64_t size = i % 20 == 7 ? 0 : 1 + 37 * i % 300;
      const ResourceVariable variable = Variable(absl::StrCat("v", i), size, 10 * i);
      std::vector<ResourceVariable> slots;
      for (int k = 0; k < num_slots; ++k) {
        slots.push_back(ResourceVariable::Make(Gpu().WithName(absl::StrCat("v", i, "_slot", k)), TensorShape({size}),
                                               DT_FLOAT, initializers::Ones()));
        all_.push_back(slots.back());
      }
      all_.push_back(variable);
      const Output gradient =
          ops::Mul(Gpu(), variable.value(), ops::Const(Gpu(), Scrambled({size}, 10 * i + 1), DT_FLOAT));
      updates.push_back(update(Gpu().WithName(absl::StrCat("update", i)), variable, slots, gradient));
    }
    return updates;
  }
  // The variables after `steps` steps; the graphs that ran go to `graphs`.
  std::vector<Tensor> Train(const std::vector<Operation>& updates, int steps, std::string* graphs) {
    session_.reset();
    for (int step = 0; step < steps; ++step) RunTraced({}, {}, updates, graphs);
    OutputList values;
    for (const ResourceVariable& variable : all_) values.push_back(variable.Read(scope_));
    return Run({}, values);
  }
  // With and without.
  void Compare(const std::vector<Operation>& updates) {
    std::string apart, together;
    const std::vector<Tensor> expected = Train(updates, 3, &apart);
    EXPECT_THAT(apart, Not(HasSubstr("_FusedResourceApply")));
    Ask();
    const std::vector<Tensor> fused = Train(updates, 3, &together);
    EXPECT_THAT(together, HasSubstr("_FusedResourceApply"));
    ASSERT_EQ(fused.size(), expected.size());
    for (size_t i = 0; i < fused.size(); ++i) ExpectTensorEqual(fused[i], expected[i]);
  }
  std::vector<ResourceVariable> all_;
};

TEST_F(FusedUpdatesTest, GiveTheBitsOfEach) {
  const Output lr = Scalar(0.01f), beta1 = Scalar(0.9f), beta2 = Scalar(0.99f), epsilon = Scalar(1e-6f);
  Compare(Updates(45, 2, [&](const Scope& scope, const ResourceVariable& variable, const auto& slots, const auto& g) {
    return ops::ResourceApplyAdam(scope, variable.handle(), slots[0].handle(), slots[1].handle(), beta1, beta2, lr,
                                  beta1, beta2, epsilon, g);
  }));
}

TEST_F(FusedUpdatesTest, OfRulesWhoseGradientIsNotTheLast) {
  const Output lr = Scalar(0.01f), momentum = Scalar(0.9f);
  Compare(Updates(5, 1, [&](const Scope& scope, const ResourceVariable& variable, const auto& slots, const auto& g) {
    return ops::ResourceApplyMomentum(scope, variable.handle(), slots[0].handle(), lr, g, momentum,
                                      {.use_nesterov = true});
  }));
}

TEST_F(FusedUpdatesTest, OfFtrl) {
  const Output lr = Scalar(0.1f), l1 = Scalar(0.01f), l2 = Scalar(0.02f), shrinkage = Scalar(0.03f);
  const Output power = Scalar(-0.5f);
  std::vector<Operation> updates =
      Updates(20, 2, [&](const Scope& scope, const ResourceVariable& variable, const auto& slots, const auto& g) {
        return ops::ResourceApplyFtrl(scope, variable.handle(), slots[0].handle(), slots[1].handle(), g, lr, l1, l2,
                                      power, {.multiply_linear_by_lr = true});
      });
  const std::vector<Operation> second =
      Updates(3, 2, [&](const Scope& scope, const ResourceVariable& variable, const auto& slots, const auto& g) {
        return ops::ResourceApplyFtrlV2(scope, variable.handle(), slots[0].handle(), slots[1].handle(), g, lr, l1, l2,
                                        shrinkage, power);
      });
  updates.insert(updates.end(), second.begin(), second.end());
  Compare(updates);
}

// The gradient of `b` comes by way of a queue from what follows the update of `a`: together they would never begin.
TEST_F(FusedUpdatesTest, OfWhichOneWaitsForAnotherThroughAQueue) {
  const Output lr = Scalar(0.5f), constant = ops::Const(Gpu(), Scrambled({9}, 4), DT_FLOAT);
  const ResourceVariable a = Variable("a", 9, 1), b = Variable("b", 9, 2), c = Variable("c", 9, 3);
  all_ = {a, b, c};
  const auto descend = [&](const ResourceVariable& variable, const Output& gradient) {
    return ops::ResourceApplyGradientDescent(Gpu(), variable.handle(), lr, gradient);
  };
  const Operation first = descend(a, constant);
  const Output queue = ops::FIFOQueueV2(Cpu(), {DT_FLOAT});
  const Operation enqueue = ops::QueueEnqueueV2(Cpu(), queue, {a.Read(Gpu().WithControlDependencies({first}))});
  const Output taken = ops::QueueDequeueV2(Cpu(), queue, {DT_FLOAT})[0];
  Compare({first, enqueue, descend(b, ops::Identity(Gpu(), taken)), descend(c, constant)});
}

TEST_F(FusedUpdatesTest, OfOneVariableComeOneAfterTheOther) {
  const ResourceVariable variable = Variable("v", 9, 1);
  all_.push_back(variable);
  const Output lr = Scalar(0.5f), gradient = ops::Const(Gpu(), Scrambled({9}, 2), DT_FLOAT);
  Compare({ops::ResourceApplyGradientDescent(Gpu(), variable.handle(), lr, gradient),
           ops::ResourceApplyGradientDescent(Gpu(), variable.handle(), lr, gradient)});
}

TEST_F(FusedUpdatesTest, WhatComesAfterAnotherStaysBehindIt) {
  const Output lr = Scalar(0.5f);
  const ResourceVariable a = Variable("a", 9, 1), b = Variable("b", 9, 2), c = Variable("c", 9, 3);
  all_ = {a, b, c};
  const auto descend = [&](const ResourceVariable& variable, const Output& gradient) {
    return ops::ResourceApplyGradientDescent(Gpu(), variable.handle(), lr, gradient);
  };
  const Output constant = ops::Const(Gpu(), Scrambled({9}, 4), DT_FLOAT);
  const Operation first = descend(a, constant), second = descend(b, constant);
  // The new value of `a`, by way of the host.
  const Output after = ops::Identity(Cpu(), a.Read(Gpu().WithControlDependencies({first})));
  const Operation third = descend(c, ops::Identity(Gpu(), after));
  Compare({first, second, third});
}

TEST_F(FusedUpdatesTest, AnErrorNamesTheOneUpdate) {
  Ask();
  const Output lr = Scalar(0.5f), gradient = ops::Const(Gpu(), Scrambled({9}, 2), DT_FLOAT);
  const ResourceVariable a = Variable("a", 9, 1), b = Variable("b", 8, 2);
  const std::vector<Operation> updates = {
      ops::ResourceApplyGradientDescent(Gpu().WithName("good"), a.handle(), lr, gradient),
      ops::ResourceApplyGradientDescent(Gpu().WithName("bad"), b.handle(), lr, gradient)};
  const auto out = session().Run({}, {}, updates);
  EXPECT_THAT(out.status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                     testing::AllOf(HasSubstr("ResourceApplyGradientDescent 'bad'"),
                                                    HasSubstr("do not have the same shape[8] [9]"))));
}

TEST_F(FusedUpdatesTest, TakesNoParameters) {
  Ask();
  auto* const optimizer =
      options_.config->mutable_graph_options()->mutable_rewrite_options()->mutable_custom_optimizers(0);
  (*optimizer->mutable_parameter_map())["size"].set_i(3);
  const Output one = Scalar(1);
  EXPECT_THAT(session().Run({}, {one}, {}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no parameters")));
}

}  // namespace
}  // namespace weir
