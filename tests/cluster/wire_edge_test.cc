// Tensors between processes, cast and compressed: what arrives, and how many bytes travel.
#include <map>

#include "absl/strings/match.h"
#include "client/embedding/embedding_variable.h"
#include "client/gradients.h"
#include "client/ops.h"
#include "client/session.h"
#include "client/wire.h"
#include "core/testing.h"
#include "distribute/cluster/process_cluster.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kKeys = 2000, kWidth = 16;

class WireEdgeTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto cluster = ProcessCluster::Start({.program = WEIR_PROGRAM, .jobs = {{"ps", 2}, {"worker", 1}}});
    ASSERT_THAT(cluster.status(), IsOk());
    cluster_ = std::move(*cluster).release();
  }
  static void TearDownTestSuite() { delete std::exchange(cluster_, nullptr); }

  static ProcessCluster* cluster_;
};

ProcessCluster* WireEdgeTest::cluster_ = nullptr;

// Of all tensors that tasks received from each other in the step.
int64_t ReceivedBytes(const tensorflow::RunMetadata& metadata) {
  int64_t sum = 0;
  for (const auto& device : metadata.step_stats().dev_stats()) {
    for (const auto& node : device.node_stats()) {
      if (!absl::StrContains(node.node_name(), "/_recv_")) continue;
      for (const auto& output : node.output()) {
        sum += output.tensor_description().allocation_description().requested_bytes();
      }
    }
  }
  return sum;
}

tensorflow::RunOptions Traced() {
  tensorflow::RunOptions options;
  options.set_trace_level(tensorflow::RunOptions::FULL_TRACE);
  return options;
}

struct Pushed {
  std::vector<float> rows;
  int64_t received_bytes = 0;
};

// Pulls and pushes a batch once, and pulls it again.
absl::StatusOr<Pushed> PullAndPush(const ProcessCluster& cluster, const std::string& wire) {
  const Scope scope = Scope::NewRoot(), worker = scope.WithDevice("/job:worker/task:0");
  EmbeddingVariableOptions options{.width = kWidth, .devices = {"/job:ps/task:0", "/job:ps/task:1"}};
  options.optimizer = {.kind = EmbeddingOptimizer::Kind::kGradientDescent, .learning_rate = 0.5};
  options.wire = wire;
  const EmbeddingVariable rows = EmbeddingVariable::Make(scope.WithName(absl::StrCat("rows_", wire.size())), options);
  const Output keys = ops::Placeholder(worker, DT_INT64);
  const EmbeddingPull pull = rows.Pull(worker, keys);
  const Output batch = rows.Embed(worker, pull);
  const Output loss = ops::Sum(worker, ops::Square(worker, batch), Tensor::Vector<int32_t>({0, 1}));
  const std::vector<Gradient> gradients = Gradients(worker, {loss}, {pull.unique});
  RETURN_IF_ERROR(scope.status());
  const Operation push = rows.Push(worker, pull, gradients[0], scope.Constant(Tensor::Scalar<int64_t>(0)));
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Connect(cluster.Target("worker", 0), scope));
  RETURN_IF_ERROR(session->RunTargets({rows.initializer()}));
  std::vector<int64_t> all(kKeys);
  for (int64_t i = 0; i < kKeys; ++i) all[i] = 3 * i;
  const FeedList feeds = {{keys, Tensor::Vector<int64_t>(all)}};
  tensorflow::RunMetadata metadata;
  RETURN_IF_ERROR(session->Run(feeds, {}, {push}, Traced(), &metadata).status());
  ASSIGN_OR_RETURN(const std::vector<Tensor> after, session->Run(feeds, {batch}));
  Pushed pushed{.received_bytes = ReceivedBytes(metadata)};
  pushed.rows.assign(after[0].flat<float>().begin(), after[0].flat<float>().end());
  RETURN_IF_ERROR(session->Close());
  return pushed;
}

TEST_F(WireEdgeTest, PullsAndPushesTravelAsTheEmbeddingSays) {
  std::map<std::string, Pushed> results;
  for (const char* wire : {"", "lz4", "snappy", "bf16", "bf16+lz4"}) {
    ASSERT_OK_AND_ASSIGN(results[wire], PullAndPush(*cluster_, wire));
    RecordProperty(absl::StrCat("received_bytes_", wire), static_cast<int>(results[wire].received_bytes));
  }
  const Pushed& plain = results[""];
  EXPECT_GT(plain.received_bytes, kKeys * (8 + 2 * kWidth * 4));
  for (const char* wire : {"lz4", "snappy"}) {
    EXPECT_EQ(results[wire].rows, plain.rows) << wire;
    EXPECT_LT(results[wire].received_bytes, plain.received_bytes - 2 * kKeys) << wire;  // the keys, at least
  }
  for (const char* wire : {"bf16", "bf16+lz4"}) {
    for (size_t i = 0; i < plain.rows.size(); ++i) ASSERT_NEAR(results[wire].rows[i], plain.rows[i], 2e-3) << wire;
    EXPECT_LT(results[wire].received_bytes, plain.received_bytes * 6 / 10) << wire;
  }
  EXPECT_LT(results["bf16+lz4"].received_bytes, results["bf16"].received_bytes);
}

TEST_F(WireEdgeTest, ASessionCompressesWhatPassesAndCastsNothing) {
  const Scope scope = Scope::NewRoot();
  const Output x = ops::Placeholder(scope.WithDevice("/job:ps/task:0"), DT_FLOAT);
  const Output sent = ops::Identity(scope.WithDevice("/job:ps/task:0"), x);
  const Output received = ops::Neg(scope.WithDevice("/job:worker/task:0"), sent);
  Tensor value(DT_FLOAT, TensorShape({10000}));
  for (int i = 0; i < 10000; ++i) value.data<float>()[i] = -static_cast<float>(i / 100) / 3;
  std::map<std::string, int64_t> bytes;
  for (const char* wire : {"", "lz4", "snappy", "bf16+lz4"}) {
    SessionOptions options;
    options.config->mutable_rpc_options()->set_compression_algorithm(wire);
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session,
                         Session::Connect(cluster_->Target("worker", 0), scope, options));
    tensorflow::RunMetadata metadata;
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> out,
                         session->Run({{x, value}}, {received}, {}, Traced(), &metadata));
    for (int i = 0; i < 10000; ++i) ASSERT_EQ(out[0].flat<float>()[i], static_cast<float>(i / 100) / 3);
    bytes[wire] = ReceivedBytes(metadata);
    EXPECT_THAT(session->Close(), IsOk());
  }
  EXPECT_LT(bytes["lz4"], bytes[""] / 2);
  EXPECT_LT(bytes["snappy"], bytes[""] / 2);
  EXPECT_EQ(bytes["bf16+lz4"], bytes["lz4"]);
}

TEST_F(WireEdgeTest, OptionsThatAreNoneAreRefused) {
  const Scope scope = Scope::NewRoot();
  ops::NoOp(scope);
  SessionOptions options;
  options.config->mutable_rpc_options()->set_compression_algorithm("zip");
  EXPECT_THAT(Session::Connect(cluster_->Target("worker", 0), scope, options).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       ::testing::AllOf(HasSubstr("rpc_options.compression_algorithm"), HasSubstr("'zip'"))));
  SetWire(scope, ops::NoOp(scope), "bf17");
  EXPECT_THAT(scope.status(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("bf17")));
}

}  // namespace
}  // namespace weir
