// Tests that sessions with fused element-wise ops give the same bits as sessions without.
#include <algorithm>

#include "client/cond.h"
#include "client/gradients.h"
#include "client/initializers.h"
#include "client/while_loop.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "tests/gpu/gpu_session_testing.h"
#include "tests/gpu/local_session.h"

namespace weir {
namespace {

using testing::HasSubstr;

constexpr char kFusedKernel[] = "FusedElementwise";

// The session fuses; a second one, of the same graph, does not.
class FusedSessionTest : public GpuSessionTest {
 protected:
  FusedSessionTest() {
    num_gpus_ = 1;
    options_.config->set_allow_soft_placement(true);
  }

  absl::StatusOr<std::unique_ptr<Session>> Open() override {
    if (captures_) CaptureGraphs(1, &*options_.config);
    SessionOptions fused = options_;
    FuseElementwise(&*fused.config);
    std::swap(options_, fused);
    absl::StatusOr<std::unique_ptr<Session>> session = GpuSessionTest::Open();
    std::swap(options_, fused);
    return session;
  }
  Session& plain() {
    if (plain_ == nullptr) plain_ = *GpuSessionTest::Open();
    return *plain_;
  }
  // Runs both sessions, and gives what the one that fuses gave.
  std::vector<Tensor> Agree(const FeedList& feeds, const OutputList& fetches) {
    const std::vector<Tensor> fused = Run(feeds, fetches);
    const auto expected = plain().Run(feeds, fetches);
    EXPECT_THAT(expected, IsOk());
    if (!expected.ok()) return fused;
    for (size_t i = 0; i < fused.size(); ++i) ExpectTensorEqual(fused[i], (*expected)[i], fetches[i].name());
    return fused;
  }
  // Launches of fused kernels.
  int64_t NumFused() const { return gpus_[0]->NumEnqueued(kFusedKernel); }
  ~FusedSessionTest() override {
    plain_.reset();
    session_.reset();
  }

  static Tensor Numbers(const TensorShape& shape, float scale) {
    Tensor tensor(DT_FLOAT, shape);
    for (int64_t i = 0; i < tensor.NumElements(); ++i) {
      tensor.data<float>()[i] = scale * static_cast<float>((i * 37 + 11) % 29 - 14) / 7;
    }
    return tensor;
  }

  bool captures_ = false;
  std::unique_ptr<Session> plain_;
};

TEST_F(FusedSessionTest, AChainIsOneKernelAndOneNode) {
  const Output x = ops::Placeholder(Gpu(), DT_FLOAT);
  const Output y = ops::Tanh(Gpu(), ops::Mul(Gpu(), ops::AddV2(Gpu(), x, 1.0f), x));
  tensorflow::RunOptions options;
  options.set_output_partition_graphs(true);
  tensorflow::RunMetadata metadata;
  ASSERT_THAT(session().Run({{x, Numbers({5}, 1)}}, {y}, {}, options, &metadata), IsOk());
  std::vector<std::string> ops;
  for (const auto& graph : metadata.partition_graphs()) {
    for (const auto& node : graph.node()) ops.push_back(node.op());
  }
  EXPECT_EQ(std::count(ops.begin(), ops.end(), "_FusedElementwise"), 1);
  EXPECT_EQ(std::count(ops.begin(), ops.end(), "Tanh"), 0);
  EXPECT_EQ(NumFused(), 1);
  for (const TensorShape& shape : {TensorShape({}), TensorShape({0, 3}), TensorShape({4, 5, 6})}) {
    Agree({{x, Numbers(shape, 2)}}, {y});
  }
}

// Layers with biases, activations, layer normalisation, a loss, and what trains them.
TEST_F(FusedSessionTest, ANetworkAndItsGradients) {
  const Scope s = Gpu();
  const Output x = ops::Placeholder(s, DT_FLOAT), labels = ops::Placeholder(s, DT_FLOAT);
  const Output w1 = s.Constant(Numbers({6, 8}, 0.5F)), b1 = s.Constant(Numbers({8}, 0.1F));
  const Output w2 = s.Constant(Numbers({8, 3}, 0.4F)), b2 = s.Constant(Numbers({3}, 0.2F));
  const Output gain = s.Constant(Numbers({8}, 1.5F));

  Output h = ops::BiasAdd(s, ops::MatMul(s, x, w1), b1);
  // GELU, by the tangent.
  const Output cube = ops::Mul(s, ops::Mul(s, h, h), h);
  const Output inner = ops::Mul(s, ops::AddV2(s, h, ops::Mul(s, cube, 0.044715F)), 0.7978845608F);
  h = ops::Mul(s, ops::Mul(s, h, 0.5F), ops::AddV2(s, ops::Tanh(s, inner), 1.0F));
  const Output mean = ops::Mean(s, h, s.Constant(AsTensor<int32_t>({-1})), {.keep_dims = true});
  const Output variance =
      ops::Mean(s, ops::SquaredDifference(s, h, mean), s.Constant(AsTensor<int32_t>({-1})), {.keep_dims = true});
  h = ops::Mul(s, ops::Mul(s, ops::Sub(s, h, mean), ops::Rsqrt(s, ops::AddV2(s, variance, 1e-5F))), gain);
  const Output logits = ops::Relu(s, ops::BiasAdd(s, ops::MatMul(s, h, w2), b2));
  const Output loss = ops::Sum(s, ops::Square(s, ops::Sub(s, logits, labels)), s.Constant(AsTensor<int32_t>({0, 1})));
  const std::vector<Gradient> gradients = Gradients(s, {loss}, {w1, b1, w2, b2, gain});
  ASSERT_TRUE(scope_.ok()) << scope_.status();
  OutputList fetches = {loss, logits};
  for (const Gradient& gradient : gradients) fetches.push_back(gradient.values);
  for (const int64_t batch : {4, 1, 0, 7}) {
    Agree({{x, Numbers({batch, 6}, 1)}, {labels, Numbers({batch, 3}, 0.3F)}}, fetches);
  }
  EXPECT_GT(NumFused(), 8);
}

TEST_F(FusedSessionTest, SixteenBitsAreRoundedInBetween) {
  for (const DataType type : {DT_HALF, DT_BFLOAT16}) {
    const Scope s = Gpu();
    const Output x = ops::Placeholder(s, DT_FLOAT);
    const Output h = ops::Cast(s, x, type);
    const Output y = ops::Sigmoid(s, ops::AddV2(s, ops::Mul(s, h, h), ops::Exp(s, ops::Neg(s, h))));
    Agree({{x, Numbers({11, 3}, 1.7F)}}, {ops::Cast(s, y, DT_FLOAT)});
  }
  EXPECT_GT(NumFused(), 0);
}

TEST_F(FusedSessionTest, LoopsAndBranches) {
  const Scope s = Gpu();
  const Output x = ops::Placeholder(s, DT_FLOAT), limit = ops::Placeholder(s, DT_FLOAT);
  const OutputList last = WhileLoop(
      s, {x, ops::Neg(s, ops::Exp(s, x))},
      [&](const Scope& loop, const OutputList& v) { return ops::Less(loop, v[0], limit); },
      [&](const Scope& loop, const OutputList& v) {
        const Output next = ops::AddV2(loop, ops::Mul(loop, v[0], 1.5F), 1.0F);
        const Output other = Cond(
            loop, ops::Greater(loop, next, 10.0F),
            [&](const Scope& branch) { return OutputList{ops::Tanh(branch, ops::Mul(branch, v[1], next))}; },
            [&](const Scope& branch) { return OutputList{ops::Neg(branch, ops::AddV2(branch, v[1], x))}; })[0];
        return OutputList{next, ops::Sub(loop, other, ops::Square(loop, next))};
      });
  ASSERT_TRUE(scope_.ok()) << scope_.status();
  for (const float bound : {0.0F, 5.0F, 100.0F}) {
    Agree({{x, AsScalar<float>(0.5F)}, {limit, AsScalar<float>(bound)}}, {last[0], last[1]});
  }
  EXPECT_GT(NumFused(), 0);
}

// What comes out of a node in a branch that is not taken is dead, and nothing else.
TEST_F(FusedSessionTest, ABranchThatIsNotTakenTakesNothingWithIt) {
  const Scope s = Gpu();
  const Output x = ops::Placeholder(s, DT_FLOAT), taken = ops::Placeholder(s, DT_BOOL);
  const auto branch = ops::Switch(s, x, taken);
  const Output a = ops::Neg(s, x), b = ops::Mul(s, ops::Exp(s, a), branch.output_true);
  const Output merged = ops::Merge(s, InputList{ops::Square(s, b), branch.output_false}).output;
  for (const bool is_taken : {true, false}) {
    Agree({{x, Numbers({3}, 1)}, {taken, AsScalar<bool>(is_taken)}}, {ops::Softmax(s, a), merged});
  }
}

TEST_F(FusedSessionTest, VariablesAreReadAndUpdatedAsEver) {
  const Scope s = Gpu();
  const auto variable = [&](const char* name, double value) {
    return ResourceVariable::Make(s.WithName(name), {6}, DT_FLOAT, initializers::Constant(value));
  };
  const ResourceVariable v = variable("v", 1), m = variable("m", 0.25);
  const Output g = ops::Placeholder(s, DT_FLOAT);
  // Momentum by hand: what is assigned is read further on, too.
  const Output moved = ops::AddV2(s, ops::Mul(s, m.value(), 0.9F), g);
  const Output step = ops::Sub(s, v.value(), ops::Mul(s, moved, 0.1F));
  const Operation keep = m.Assign(s, moved);
  const Operation update = v.Assign(s, step);
  const Tensor gradient = Numbers({6}, 0.7F);
  std::vector<float> expected(6, 1), momentum(6, 0.25F);
  for (int i = 0; i < 4; ++i) {
    Run({{g, gradient}}, {}, {keep, update});
    for (int j = 0; j < 6; ++j) {
      momentum[j] = momentum[j] * 0.9F + gradient.data<float>()[j];
      expected[j] -= momentum[j] * 0.1F;
    }
  }
  ExpectTensorNear(Fetch(v.value()), AsTensor<float>(expected));
  EXPECT_EQ(NumFused(), 4);  // one kernel gives both
}

class CapturedFusedSessionTest : public FusedSessionTest {
 protected:
  CapturedFusedSessionTest() { captures_ = true; }
};

TEST_F(CapturedFusedSessionTest, FusedKernelsAreCapturedAndReplayed) {
  const Scope s = Gpu();
  const Output x = ops::Placeholder(s, DT_FLOAT), w = s.Constant(Numbers({4, 4}, 0.3F));
  const Output h = ops::Relu(s, ops::AddV2(s, ops::MatMul(s, x, w), 0.5F));
  const Output y = ops::Mean(s, ops::Square(s, ops::Sub(s, h, x)), s.Constant(AsTensor<int32_t>({-1})));
  for (int i = 0; i < 6; ++i) Agree({{x, Numbers({3, 4}, 1.0F + static_cast<float>(i))}}, {y, h});
  EXPECT_GT(gpus_[0]->NumEnqueued("graph"), 2);
  EXPECT_GT(NumFused(), 0);
}

TEST_F(FusedSessionTest, AnErrorNamesTheNodeThatWas) {
  const Scope s = Gpu();
  const Output x = ops::Placeholder(s, DT_FLOAT), y = ops::Placeholder(s, DT_FLOAT);
  const Output z = ops::Neg(s, ops::Mul(s.WithName("wrong"), x, y));
  EXPECT_THAT(session().Run({{x, Numbers({2}, 1)}, {y, Numbers({3}, 1)}}, {z}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       testing::AllOf(HasSubstr("[[{{node wrong}}]]"), HasSubstr("Incompatible shapes"))));
}

TEST_F(FusedSessionTest, ParametersThatThereAreNotAreRefused) {
  (*options_.config->mutable_graph_options()
        ->mutable_rewrite_options()
        ->add_custom_optimizers()
        ->mutable_parameter_map())["speed"]
      .set_i(1);
  options_.config->mutable_graph_options()->mutable_rewrite_options()->mutable_custom_optimizers(0)->set_name(
      "GpuFusion");
  const Output x = ops::Placeholder(Gpu(), DT_FLOAT);
  EXPECT_THAT(session().Run({{x, Numbers({2}, 1)}}, {ops::Neg(Gpu(), x)}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("GpuFusion has no parameters, not even speed")));
}

}  // namespace
}  // namespace weir
