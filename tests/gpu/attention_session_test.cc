// Tests that sessions fuse attention into one node if nothing else reads its intermediate results, on CPUs and GPUs.
#include "client/gradients.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "tests/gpu/local_session.h"
#include "tests/gpu/rewritten_session_testing.h"

namespace weir {
namespace {

using testing::HasSubstr;
using testing::Not;

class AttentionSessionTest : public RewrittenSessionTest {
 protected:
  // Of queries that are fed.
  Output Attention(const Scope& scope, DataType type) {
    const auto cast = [&](const Tensor& x) { return ops::Cast(scope, ops::Const(scope, x, DT_FLOAT), type); };
    queries_ = ops::Placeholder(scope, DT_FLOAT);
    Tensor mask(DT_FLOAT, TensorShape({6, 6}));
    for (int64_t i = 0; i < 36; ++i) mask.data<float>()[i] = i % 6 > i / 6 ? -1e4f : 0;
    const Output q = ops::Cast(scope, queries_, type);
    keys_ = cast(Scrambled({2, 3, 6, 8}, 2));
    values_ = cast(Scrambled({2, 3, 6, 8}, 3));
    mask_ = cast(mask);
    scores_ = ops::BatchMatMulV2(scope, q, keys_, {.adj_y = true});
    const Output scaled = ops::Mul(scope, scores_, cast(Tensor::Scalar<float>(0.5f)));
    const Output weights = ops::Softmax(scope, ops::AddV2(scope, scaled, mask_));
    return ops::Cast(scope, ops::BatchMatMulV2(scope, weights, values_), DT_FLOAT);
  }
  // Runs as a session does by default; the graphs that ran go to `graphs`.
  std::vector<Tensor> RunTraced(const OutputList& fetches, std::string* graphs) {
    return RewrittenSessionTest::RunTraced({{queries_, Scrambled({2, 3, 6, 8}, 1)}}, fetches, {}, graphs);
  }
  std::vector<Tensor> RunInParts(const OutputList& fetches) {
    session_.reset();
    options_.config->mutable_graph_options()->mutable_rewrite_options()->set_remapping(tensorflow::RewriterConfig::OFF);
    std::string graphs;
    std::vector<Tensor> out = RunTraced(fetches, &graphs);
    EXPECT_THAT(graphs, Not(HasSubstr("_FusedAttention")));
    return out;
  }
  Output queries_, keys_, values_, mask_, scores_;
};

TEST_F(AttentionSessionTest, OneNodeGivesWhatItsPartsGive) {
  for (const char* device : {"/device:CPU:0", "/device:GPU:0"}) {
    for (const DataType type : {DT_FLOAT, DT_HALF, DT_BFLOAT16}) {
      scope_ = Scope::NewRoot();
      session_.reset();
      options_.config->clear_graph_options();
      const Output out = Attention(scope_.WithDevice(device), type);
      std::string graphs;
      const std::vector<Tensor> fused = RunTraced({out}, &graphs);
      EXPECT_THAT(graphs, HasSubstr("_FusedAttention")) << device << " " << DataTypeName(type);
      EXPECT_THAT(graphs, Not(HasSubstr("Softmax")));
      const double tolerance = type == DT_FLOAT ? 1e-5 : type == DT_HALF ? 4e-3 : 3e-2;
      ExpectTensorNear(fused[0], RunInParts({out})[0], tolerance, tolerance,
                       absl::StrCat(device, " ", DataTypeName(type)));
    }
  }
}

TEST_F(AttentionSessionTest, WhatIsFetchedStaysApart) {
  const Output out = Attention(Gpu(), DT_FLOAT);
  std::string graphs;
  const std::vector<Tensor> fetched = RunTraced({out, scores_}, &graphs);
  EXPECT_THAT(graphs, Not(HasSubstr("_FusedAttention")));
  ExpectTensorNear(fetched[0], RunInParts({out})[0], 1e-5, 1e-5);
}

TEST_F(AttentionSessionTest, OneNodeGivesTheGradientsThatPartsGive) {
  for (const char* device : {"/device:CPU:0", "/device:GPU:0"}) {
    for (const DataType type : {DT_FLOAT, DT_HALF, DT_BFLOAT16}) {
      scope_ = Scope::NewRoot();
      session_.reset();
      options_.config->clear_graph_options();
      const Scope scope = scope_.WithDevice(device);
      const Output out = Attention(scope, type);
      const std::vector<Gradient> gradients = Gradients(scope, {ops::Square(scope, out)}, {queries_, keys_, values_});
      OutputList wanted = {out};
      for (const Gradient& gradient : gradients) wanted.push_back(ops::Cast(scope, gradient.values, DT_FLOAT));
      std::string graphs;
      const std::vector<Tensor> fused = RunTraced(wanted, &graphs);
      EXPECT_THAT(graphs, HasSubstr("_FusedAttentionGrad")) << device << " " << DataTypeName(type);
      EXPECT_THAT(graphs, Not(HasSubstr("Softmax")));
      const std::vector<Tensor> parts = RunInParts(wanted);
      const double tolerance = type == DT_FLOAT ? 1e-4 : type == DT_HALF ? 3e-2 : 2e-1;
      for (size_t i = 0; i < fused.size(); ++i) {
        ExpectTensorNear(fused[i], parts[i], tolerance, tolerance,
                         absl::StrCat(device, " ", DataTypeName(type), " ", i));
      }
    }
  }
}

TEST_F(AttentionSessionTest, WhatAMasksGradientReadsStaysApart) {
  const Output out = Attention(Gpu(), DT_FLOAT);
  const std::vector<Gradient> gradients = Gradients(scope_, {out}, {queries_, mask_});
  ASSERT_EQ(gradients.size(), 2);
  std::string graphs;
  RunTraced({out, gradients[0].values, gradients[1].values}, &graphs);
  EXPECT_THAT(graphs, Not(HasSubstr("_FusedAttention")));
}

TEST_F(AttentionSessionTest, CapturedStepsHaveItToo) {
  CaptureGraphs(1, &*options_.config);
  const Output out = Attention(Gpu(), DT_HALF);
  const FeedList feeds = {{queries_, Scrambled({2, 3, 6, 8}, 1)}};
  const Tensor first = Run(feeds, {out})[0];
  for (int i = 0; i < 4; ++i) ExpectTensorEqual(Run(feeds, {out})[0], first);
}

}  // namespace
}  // namespace weir
