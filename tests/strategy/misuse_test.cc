// Tests of the errors that users of strategies get for their mistakes.
#include <google/protobuf/text_format.h>

#include "client/cond.h"
#include "client/layers.h"
#include "client/ops.h"
#include "client/strategy/mirrored_strategy.h"
#include "client/strategy/per_replica_feeds.h"
#include "core/testing.h"
#include "graph/function_library.h"
#include "graph/graph.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class MisuseTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(strategy_, MirroredStrategy(root_, {.devices = {"/device:CPU:0", "/device:CPU:1"}}));
  }
  static ResourceVariable Make(const Scope& scope, const std::string& name, int64_t size,
                               VariableOptions options = {}) {
    return ResourceVariable::Make(scope.WithName(name), TensorShape({size}), DT_FLOAT, initializers::Zeros(), options);
  }
  void ExpectError(const ReplicaFunction& function, const std::string& message) {
    strategy_->Run(function);
    EXPECT_THAT(root_.status(), StatusIs(kInvalid, HasSubstr(message)));
  }

  const Scope root_ = Scope::NewRoot();
  std::unique_ptr<Strategy> strategy_;
};

TEST(MirroredStrategyTest, NamesWhatIsWrongWithItsDevices) {
  const auto error = [](std::vector<std::string> devices) {
    return MirroredStrategy(Scope::NewRoot(), {.devices = std::move(devices)}).status();
  };
  EXPECT_THAT(error({}), StatusIs(kInvalid, HasSubstr("at least one device")));
  EXPECT_THAT(error({"/device:CPU:0", "/cpu:0"}), StatusIs(kInvalid, HasSubstr("'/cpu:0' twice")));
  EXPECT_THAT(error({"/job:a/task:0/cpu:0", "/job:a/task:1/cpu:0"}), StatusIs(kInvalid, HasSubstr("within one task")));
  EXPECT_THAT(error({"/device:CPU:x"}), StatusIs(kInvalid, HasSubstr("MirroredStrategy")));
}

TEST_F(MisuseTest, AVariableOfAnotherShapeInAReplica) {
  ExpectError(
      [](const ReplicaContext& replica, const OutputList&) {
        Make(replica.scope(), "w", 3 + replica.replica_id_in_sync_group());
        return OutputList();
      },
      "Variable 0 of replica 1 is 'w' float[4], and that of replica 0 is 'w' float[3]");
}

TEST_F(MisuseTest, MoreVariablesInAReplica) {
  ExpectError(
      [](const ReplicaContext& replica, const OutputList&) {
        for (int i = 0; i <= replica.replica_id_in_sync_group(); ++i) Make(replica.scope(), "w", 3);
        return OutputList();
      },
      "replica 0 made only 1");
}

TEST_F(MisuseTest, FewerVariablesInAReplica) {
  ExpectError(
      [](const ReplicaContext& replica, const OutputList&) {
        if (replica.replica_id_in_sync_group() == 0) Make(replica.scope(), "w", 3);
        return OutputList();
      },
      "replica 1 made 0 variables and replica 0 1, of which 'w'");
}

TEST_F(MisuseTest, AWriteWithoutAggregation) {
  ExpectError(
      [](const ReplicaContext& replica, const OutputList&) {
        const ResourceVariable w = Make(replica.scope(), "w", 3);
        w.Assign(replica.scope(), ops::ZerosLike(replica.scope(), w.value()));
        return OutputList();
      },
      "the variable 'w' in replica 0, and the variable has no aggregation");
}

TEST_F(MisuseTest, AWriteWithinABranch) {
  ExpectError(
      [](const ReplicaContext& replica, const OutputList&) {
        const ResourceVariable w =
            Make(replica.scope(), "w", 3, {.trainable = false, .aggregation = VariableAggregation::kSum});
        const Output yes = replica.scope().Constant(true);
        return Cond(
            replica.scope(), yes,
            [&](const Scope& scope) {
              w.Assign(scope, ops::ZerosLike(scope, w.value()));
              return OutputList{scope.Constant(1)};
            },
            [](const Scope& scope) { return OutputList{scope.Constant(2)}; });
      },
      "within a Cond or a WhileLoop");
}

TEST_F(MisuseTest, AWriteWithinAFunction) {
  tensorflow::FunctionDef clear;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(R"pb(
                                                              signature {
                                                                name: "Clear"
                                                                input_arg { name: "w" type: DT_RESOURCE }
                                                                is_stateful: true
                                                              }
                                                              node_def {
                                                                name: "zeros"
                                                                op: "Const"
                                                                attr {
                                                                  key: "dtype"
                                                                  value { type: DT_FLOAT }
                                                                }
                                                                attr {
                                                                  key: "value"
                                                                  value {
                                                                    tensor {
                                                                      dtype: DT_FLOAT
                                                                      tensor_shape { dim { size: 3 } }
                                                                      float_val: 0
                                                                    }
                                                                  }
                                                                }
                                                              }
                                                              node_def {
                                                                name: "clear"
                                                                op: "AssignVariableOp"
                                                                input: "w"
                                                                input: "zeros:output:0"
                                                                attr {
                                                                  key: "dtype"
                                                                  value { type: DT_FLOAT }
                                                                }
                                                              }
                                                              control_ret { key: "clear" value: "clear" })pb",
                                                            &clear));
  ASSERT_THAT(root_.graph()->mutable_functions()->Add(clear), IsOk());
  ExpectError(
      [](const ReplicaContext& replica, const OutputList&) {
        const ResourceVariable w =
            Make(replica.scope(), "w", 3, {.trainable = false, .aggregation = VariableAggregation::kSum});
        tensorflow::NameAttrList function;
        function.set_name("Clear");
        ops::StatefulPartitionedCall(replica.scope(), {w.handle()}, {}, function);
        return OutputList();
      },
      "gives the variable 'w' to functions that assign to variables");
}

TEST_F(MisuseTest, AnOptimizerWithinAReplica) {
  ExpectError(
      [](const ReplicaContext& replica, const OutputList&) {
        const ResourceVariable w = Make(replica.scope(), "w", 3);
        const Output loss = ops::Sum(replica.scope(), w.value(), Tensor::Vector<int32_t>({0}));
        GradientDescentOptimizer(0.1)->Minimize(replica.scope(), loss);
        return OutputList();
      },
      "optimizers update through Strategy::ApplyGradients");
}

TEST_F(MisuseTest, DifferentNumbersOfValues) {
  ExpectError(
      [](const ReplicaContext& replica, const OutputList&) {
        return OutputList(1 + replica.replica_id_in_sync_group(), replica.scope().Constant(1.0F));
      },
      "Replica 1 returns 2 values and replica 0 1");
}

TEST_F(MisuseTest, AllReduceInOneReplicaAlone) {
  ExpectError(
      [](const ReplicaContext& replica, const OutputList&) {
        const Output one = replica.scope().Constant(1.0F);
        if (replica.replica_id_in_sync_group() == 0) replica.AllReduce(ReduceOp::kSum, one);
        return OutputList();
      },
      "Replica 1 calls AllReduce 0 times and replica 0 1 times");
}

TEST_F(MisuseTest, GradientsThroughAllReduce) {
  const auto function = [](const ReplicaContext& replica, const OutputList&) {
    const ResourceVariable w = Make(replica.scope(), "w", 3);
    return OutputList{replica.AllReduce(ReduceOp::kSum, w.value())};
  };
  const PerReplica loss = strategy_->Run(function)[0];
  strategy_->Minimize(*GradientDescentOptimizer(0.1), loss, {});
  EXPECT_FALSE(root_.ok());
  EXPECT_THAT(std::string(root_.status().message()), HasSubstr("all_reduce"));
}

TEST_F(MisuseTest, ReducingDifferentTypes) {
  const PerReplica value(OutputList{root_.Constant(1.0F), root_.Constant(int32_t{1})});
  strategy_->Reduce(ReduceOp::kSum, value);
  EXPECT_THAT(root_.status(), StatusIs(kInvalid, AllOf(HasSubstr("of replica 1 is int32"), HasSubstr("cast them"))));
}

TEST_F(MisuseTest, ValuesForAnotherNumberOfReplicas) {
  strategy_->Reduce(ReduceOp::kSum, PerReplica(OutputList{root_.Constant(1.0F)}));
  EXPECT_THAT(root_.status(), StatusIs(kInvalid, HasSubstr("1 replicas; MirroredStrategy has 2")));
}

TEST_F(MisuseTest, TrainingAVariableThatIsNotTheStrategys) {
  const ResourceVariable w = Make(root_, "w", 3);
  const auto function = [&](const ReplicaContext& replica, const OutputList&) {
    return OutputList{ops::Sum(replica.scope(), w.value(), Tensor::Vector<int32_t>({0}))};
  };
  strategy_->Minimize(*GradientDescentOptimizer(0.1), strategy_->Run(function)[0], {});
  EXPECT_THAT(root_.status(), StatusIs(kInvalid, HasSubstr("'w' was not made under MirroredStrategy")));
}

TEST_F(MisuseTest, ABatchWithoutARowForEachReplica) {
  const PerReplica x = Placeholders(*strategy_, DT_FLOAT);
  EXPECT_THAT(SplitBatch(x, AsTensor<float>({1})), StatusIs(kInvalid, HasSubstr("[1] has no row for each of 2")));
  EXPECT_THAT(SplitBatch(x, AsScalar<float>(1)), StatusIs(kInvalid, HasSubstr("2 replicas")));
}

TEST_F(MisuseTest, ReduceAlongAnAxisWeighsReplicasByTheirSizes) {
  const PerReplica x = Placeholders(*strategy_, DT_FLOAT);
  const Output mean = strategy_->Reduce(ReduceOp::kMean, x, 0), sum = strategy_->Reduce(ReduceOp::kSum, x, 0);
  const Output along_last = strategy_->Reduce(ReduceOp::kMean, x, -1);
  SessionOptions options;
  (*options.config->mutable_device_count())["CPU"] = 2;
  ASSERT_OK_AND_ASSIGN(const auto session, Session::Local(root_, options));
  ASSERT_OK_AND_ASSIGN(const FeedList feeds, SplitBatch(x, AsTensor<float>({1, 2, 6})));
  ASSERT_OK_AND_ASSIGN(const auto values, session->Run(feeds, {mean, sum, along_last}));
  EXPECT_FLOAT_EQ(values[0].scalar<float>(), 3);
  EXPECT_FLOAT_EQ(values[1].scalar<float>(), 9);
  EXPECT_FLOAT_EQ(values[2].scalar<float>(), 3);
}

}  // namespace
}  // namespace weir
