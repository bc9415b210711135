// Sessions that place by cost, on two CPU devices of one task.
#include <map>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/layers.h"
#include "client/ops.h"
#include "client/optimizer.h"
#include "client/session.h"
#include "core/testing.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace weir {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr char kFirst[] = "/job:localhost/replica:0/task:0/device:CPU:0";
constexpr char kSecond[] = "/job:localhost/replica:0/task:0/device:CPU:1";

// A device of a thousandth of the speed stands before a fast one.
std::string Devices(const std::string& memory = "") {
  return absl::StrCat(kFirst, "=gflops:0.01,gbs:0.01", memory, ";", kSecond, "=gflops:10,gbs:10", memory);
}

// As a stock client sends it.
std::string Config(const std::string& parameters = "") {
  return absl::StrCat(
      "device_count { key: 'CPU' value: 2 } graph_options { rewrite_options { custom_optimizers { name: ",
      "'CostPlacement' ", parameters, " } } }");
}
std::string Parameter(const std::string& name, const std::string& value) {
  return absl::StrCat("parameter_map { key: '", name, "' value { ", value, " } } ");
}

class CostSessionTest : public ::testing::Test {
 protected:
  CostSessionTest() {
    Output top = ops::Placeholder(scope_.WithName("x"), DT_FLOAT, {.shape = PartialTensorShape({8, 16})});
    x_ = top;
    for (int i = 0; i < 3; ++i) {
      const layers::LayerOptions seeded{.weights = initializers::RandomNormal(0, 0.2, i + 1)};
      top = layers::Dense(scope_, 16, 16, layers::Activation::kRelu, seeded)(scope_, top);
    }
    labels_ = ops::Placeholder(scope_.WithName("labels"), DT_INT32, {.shape = PartialTensorShape({8})});
    loss_ = layers::SparseSoftmaxLoss(scope_, top, labels_);
    train_ = MomentumOptimizer(0.1, 0.9)->Minimize(scope_, loss_, GlobalStep(scope_));
    init_ = InitializeAll(scope_);
    EXPECT_THAT(scope_.status(), IsOk());
  }

  absl::StatusOr<std::unique_ptr<Session>> Open(const std::string& config) {
    SessionOptions options;
    RETURN_IF_ERROR(options.config.MergeText(config));
    return Session::Local(scope_, options);
  }
  FeedList Feeds() const {
    Tensor x(DT_FLOAT, TensorShape({8, 16})), labels(DT_INT32, TensorShape({8}));
    for (int i = 0; i < 8 * 16; ++i) x.data<float>()[i] = static_cast<float>(i % 7) - 3;
    for (int i = 0; i < 8; ++i) labels.data<int32_t>()[i] = i;
    return {{x_, x}, {labels_, labels}};
  }
  // The loss of each step; the step `traced` is traced.
  absl::StatusOr<std::vector<float>> Train(Session& session, int steps, int traced = -1,
                                           tensorflow::RunMetadata* metadata = nullptr) {
    std::vector<float> losses;
    for (int i = 0; i < steps; ++i) {
      RunOptions options;
      if (i == traced) RETURN_IF_ERROR(options.MergeText("trace_level: FULL_TRACE"));
      ASSIGN_OR_RETURN(const std::vector<Tensor> fetched,
                       session.Run(Feeds(), {loss_}, {train_}, options, i == traced ? metadata : nullptr));
      losses.push_back(fetched[0].data<float>()[0]);
    }
    return losses;
  }

  // The device of each node of that op.
  static std::map<std::string, std::string> DevicesOf(const tensorflow::RunMetadata& metadata, const std::string& op) {
    std::map<std::string, std::string> devices;
    for (const auto& device : metadata.step_stats().dev_stats()) {
      for (const auto& node : device.node_stats()) {
        if (absl::StrContains(node.timeline_label(), absl::StrCat(" = ", op, "("))) {
          devices[node.node_name()] = device.device();
        }
      }
    }
    return devices;
  }

  Scope scope_ = Scope::NewRoot();
  Output x_, labels_, loss_;
  Operation train_, init_;
};

TEST_F(CostSessionTest, ResultsAreThoseOfTheDefaultPlacement) {
  ASSERT_OK_AND_ASSIGN(auto by_default, Open("device_count { key: 'CPU' value: 2 }"));
  ASSERT_OK_AND_ASSIGN(auto by_cost, Open(Config(Parameter("devices", absl::StrCat("s: '", Devices(), "'")))));
  ASSERT_THAT(by_default->RunTargets({init_}), IsOk());
  ASSERT_THAT(by_cost->RunTargets({init_}), IsOk());
  tensorflow::RunMetadata metadata, first_fit;
  ASSERT_OK_AND_ASSIGN(const std::vector<float> losses, Train(*by_cost, 6, 2, &metadata));
  ASSERT_OK_AND_ASSIGN(const std::vector<float> expected, Train(*by_default, 6, 2, &first_fit));
  EXPECT_THAT(DevicesOf(first_fit, "MatMul"), AllOf(SizeIs(Gt(1)), Each(Pair(_, kFirst))));
  EXPECT_THAT(DevicesOf(metadata, "MatMul"), AllOf(SizeIs(Gt(1)), Each(Pair(_, kSecond))));
  for (size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], expected[i], 1e-5) << i;
  EXPECT_LT(losses.back(), losses.front());
}

// After a traced step the graph is prepared anew with measured times, by which both devices are alike; the variables
// stay, with their values.
TEST_F(CostSessionTest, MeasuredStepsMoveStatelessNodesAlone) {
  ASSERT_OK_AND_ASSIGN(auto session, Open(Config(Parameter("devices", absl::StrCat("s: '", Devices(), "'")))));
  ASSERT_THAT(session->RunTargets({init_}), IsOk());
  tensorflow::RunMetadata before, after;
  ASSERT_OK_AND_ASSIGN(const std::vector<float> first, Train(*session, 2, 1, &before));
  ASSERT_OK_AND_ASSIGN(const std::vector<float> next, Train(*session, 4, 3, &after));
  EXPECT_LT(next.front(), first.back());
  const auto updates = DevicesOf(before, "ResourceApplyMomentum");
  EXPECT_THAT(updates, SizeIs(6));
  EXPECT_EQ(DevicesOf(after, "ResourceApplyMomentum"), updates);
  EXPECT_THAT(DevicesOf(before, "MatMul"), Each(Pair(_, kSecond)));
}

TEST_F(CostSessionTest, ADeviceThatIsAskedForIsKept) {
  const Output pinned = ops::Square(scope_.WithDevice("/device:CPU:0"), loss_);
  ASSERT_OK_AND_ASSIGN(auto session, Open(Config(Parameter("devices", absl::StrCat("s: '", Devices(), "'")))));
  ASSERT_THAT(session->RunTargets({init_}), IsOk());
  tensorflow::RunMetadata metadata;
  RunOptions options;
  ASSERT_THAT(options.MergeText("trace_level: FULL_TRACE"), IsOk());
  ASSERT_THAT(session->Run(Feeds(), {pinned}, {}, options, &metadata), IsOk());
  EXPECT_THAT(DevicesOf(metadata, "Square"), AllOf(SizeIs(1), Each(Pair(_, kFirst))));
}

TEST_F(CostSessionTest, VariablesThatDoNotFitAreNamed) {
  const std::string devices = absl::StrCat("s: '", Devices(",memory:1k"), "'");
  EXPECT_THAT(Open(Config(Parameter("devices", devices))).status(),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("kernel/handle (")));
}

TEST_F(CostSessionTest, WrongParametersAreNamed) {
  const auto error = [&](const std::string& name, const std::string& value) {
    return Open(Config(Parameter(name, value))).status();
  };
  EXPECT_THAT(error("speed", "i: 1"), StatusIs(kInvalid, HasSubstr("not speed = i: 1")));
  EXPECT_THAT(error("effort", "i: 0"), StatusIs(kInvalid, HasSubstr("an int from 1 to 1000")));
  EXPECT_THAT(error("measured", "i: 1"), StatusIs(kInvalid, HasSubstr("measured, a bool")));
  EXPECT_THAT(error("link", "s: 'fast'"), StatusIs(kInvalid, HasSubstr("\"fast\"")));
  EXPECT_THAT(error("devices", "s: '/job:ps/task:0/cpu:0=gflops:1,gbs:1'"),
              StatusIs(kInvalid, HasSubstr("does not have")));
}

}  // namespace
}  // namespace weir
