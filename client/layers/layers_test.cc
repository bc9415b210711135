// Names, shapes, scopes and gradients of layers. tests/layers compares their values with Keras.
#include "client/layers.h"

#include <cmath>
#include <functional>

#include "client/gradients.h"
#include "client/ops.h"
#include "client/session.h"
#include "core/testing.h"
#include "graph/graph.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace weir {
namespace {

using layers::Activation;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor Pattern(const TensorShape& shape) {
  Tensor tensor(DT_FLOAT, shape);
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    tensor.data<float>()[i] = static_cast<float>(std::sin(1.7 * static_cast<double>(i)));
  }
  return tensor;
}

class LayersTest : public ::testing::Test {
 protected:
  std::vector<std::string> VariableNames() const {
    std::vector<std::string> names;
    for (const ResourceVariable& variable : scope_.variables()) names.push_back(variable.name());
    return names;
  }
  std::unique_ptr<Session> Initialized() {
    const Operation initialize = InitializeAll(scope_);
    EXPECT_THAT(scope_.status(), IsOk());
    auto session = Session::Local(scope_).value();
    EXPECT_THAT(session->RunTargets({initialize}), IsOk());
    return session;
  }
  Output Placeholder(const std::vector<int64_t>& dims) {
    return ops::Placeholder(scope_.WithName("x"), DT_FLOAT, {.shape = PartialTensorShape::Build(dims).value()});
  }

  Scope scope_ = Scope::NewRoot();
};

TEST_F(LayersTest, VariablesHaveKerasNames) {
  const layers::Dense first(scope_, 2, 3), second(scope_, 3, 1), named(scope_.WithName("hidden"), 2, 2);
  const layers::Conv2D conv(scope_, 1, 2, 3);
  const layers::BatchNorm norm(scope_, 2);
  const layers::Embedding table(scope_, 4, 2);
  EXPECT_THAT(
      VariableNames(),
      ElementsAre("dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias", "hidden/kernel", "hidden/bias",
                  "conv2d/kernel", "conv2d/bias", "batch_normalization/gamma", "batch_normalization/beta",
                  "batch_normalization/moving_mean", "batch_normalization/moving_variance", "embedding/embeddings"));
}

TEST_F(LayersTest, RecurrentAndAttentionVariablesHaveKerasNames) {
  const layers::Lstm lstm(scope_, 2, 3);
  const layers::Gru gru(scope_.WithName("encoder"), 2, 3);
  const layers::MultiHeadAttention attention(scope_, 4, 2, 3, {.layer = {.use_bias = false}});
  EXPECT_THAT(VariableNames(),
              ElementsAre("lstm/lstm_cell/kernel", "lstm/lstm_cell/recurrent_kernel", "lstm/lstm_cell/bias",
                          "encoder/gru_cell/kernel", "encoder/gru_cell/recurrent_kernel", "encoder/gru_cell/bias",
                          "multi_head_attention/query/kernel", "multi_head_attention/key/kernel",
                          "multi_head_attention/value/kernel", "multi_head_attention/attention_output/kernel"));
}

TEST_F(LayersTest, ALayerWithoutAScopeBuildsBelowItsName) {
  const layers::Dense dense(scope_.WithDevice("/device:CPU:0").WithName("hidden"), 2, 3);
  const Output y = dense(Placeholder({-1, 2}));
  EXPECT_EQ(y.op().name(), "hidden/BiasAdd");
  EXPECT_THAT(y.node()->requested_device(), HasSubstr("CPU:0"));
}

// docs/layers.md shows this.
Output Sentiment(const Scope& scope, const Output& words, const Output& lengths, bool training) {
  const layers::Embedding embedding(scope.WithName("words"), /*vocabulary=*/1000, /*width=*/16);
  const layers::Lstm lstm(scope.WithName("encoder"), /*inputs=*/16, /*units=*/8);
  const layers::Dense hidden(scope.WithName("hidden"), 8, 8, layers::Activation::kGelu);
  const layers::Dense score(scope.WithName("score"), 8, 1);
  const Output last = lstm(scope, embedding(words), {}, lengths).state.h;
  const Output x = layers::Dropout(scope, hidden(last), 0.3, {.training = training});
  return score(x) * 0.5 + 1;
}

TEST_F(LayersTest, AModelOfSeveralLayers) {
  const Output words = scope_.Constant(AsTensor<int32_t>({1, 2, 3, 4, 5, 6}, {2, 3}));
  const Output y = Sentiment(scope_, words, scope_.Constant(AsTensor<int32_t>({2, 3})), /*training=*/false);
  EXPECT_EQ(Initialized()->Run({y}).value()[0].shape(), TensorShape({2, 1}));
}

TEST_F(LayersTest, DenseKeepsAllDimensionsButTheLast) {
  const layers::Dense dense(scope_, 2, 3, Activation::kRelu);
  const Output known = dense(Placeholder({-1, 5, 2})), x = Placeholder({-1, -1, 2}), unknown = dense(x);
  EXPECT_EQ(scope_.ShapeOf(known).ToString(), "[?,5,3]");
  const std::vector<Tensor> values = Initialized()->Run({{x, Pattern(TensorShape({2, 4, 2}))}}, {unknown}).value();
  EXPECT_EQ(values[0].shape(), TensorShape({2, 4, 3}));
}

TEST_F(LayersTest, AnLstmStepsLikeItsCell) {
  const layers::Lstm lstm(scope_, 2, 3);
  const Output x = scope_.Constant(Pattern(TensorShape({2, 4, 2})));
  const layers::LstmResult all = lstm(x);
  layers::LstmState state = lstm.cell().ZeroState(scope_, x);
  for (int32_t t = 0; t < 4; ++t) {
    const Output step = ops::GatherV2(scope_, x, Tensor::Scalar<int32_t>(t), Tensor::Scalar<int32_t>(1));
    state = lstm.cell()(scope_, step, state);
  }
  const std::vector<Tensor> values = Initialized()->Run({all.state.h, state.h, all.state.c, state.c}).value();
  for (const int i : {0, 2}) {
    for (int64_t k = 0; k < 6; ++k) EXPECT_NEAR(values[i].flat<float>()[k], values[i + 1].flat<float>()[k], 1e-6);
  }
}

TEST_F(LayersTest, AGruStepsLikeItsCell) {
  const layers::Gru gru(scope_, 2, 3);
  const Output x = scope_.Constant(Pattern(TensorShape({2, 4, 2})));
  const layers::GruResult all = gru(x);
  Output h = gru.cell().ZeroState(scope_, x);
  for (int32_t t = 0; t < 4; ++t) {
    const Output step = ops::GatherV2(scope_, x, Tensor::Scalar<int32_t>(t), Tensor::Scalar<int32_t>(1));
    h = gru.cell()(scope_, step, h);
  }
  const std::vector<Tensor> values = Initialized()->Run({all.state, h}).value();
  for (int64_t k = 0; k < 6; ++k) EXPECT_NEAR(values[0].flat<float>()[k], values[1].flat<float>()[k], 1e-6);
}

// The state after half of the steps continues the sequence.
TEST_F(LayersTest, StateGoesInAndOut) {
  const layers::Lstm lstm(scope_, 2, 3);
  const Output x = scope_.Constant(Pattern(TensorShape({2, 4, 2})));
  const OutputList halves = ops::Split(scope_, Tensor::Scalar<int32_t>(1), x, 2);
  const layers::LstmResult first = lstm(halves[0]), second = lstm(scope_, halves[1], first.state), all = lstm(x);
  const std::vector<Tensor> values = Initialized()->Run({all.state.c, second.state.c}).value();
  for (int64_t k = 0; k < 6; ++k) EXPECT_NEAR(values[0].flat<float>()[k], values[1].flat<float>()[k], 1e-6);
}

TEST_F(LayersTest, AnEmptySequenceKeepsItsState) {
  const layers::Lstm lstm(scope_, 2, 3);
  const Output x = scope_.Constant(Pattern(TensorShape({2, 4, 2})));
  const Output h = scope_.Constant(Pattern(TensorShape({2, 3})));
  const Output lengths = scope_.Constant(Tensor::Vector<int32_t>({0, 3}));
  const layers::LstmResult r = lstm(scope_, x, {h, h}, lengths);
  const std::vector<Tensor> values = Initialized()->Run({r.state.h, h, r.sequence}).value();
  for (int64_t k = 0; k < 3; ++k) EXPECT_EQ(values[0].flat<float>()[k], values[1].flat<float>()[k]);
  for (int64_t k = 0; k < 12; ++k) EXPECT_EQ(values[2].flat<float>()[k], 0);
  EXPECT_EQ(values[2].flat<float>()[12 + 9], 0);
}

TEST_F(LayersTest, DropoutActsInTraining) {
  const Output x = scope_.Constant(Pattern(TensorShape({2, 6})));
  const Output kept = layers::Dropout(scope_, x, 0.5, {.training = false});
  EXPECT_EQ(kept, x);
  const Output rows = layers::Dropout(scope_, x, 0.5, {.seed = 3, .noise_shape = {-1, 1}});
  const std::vector<Tensor> values = Initialized()->Run({rows, x}).value();
  for (int64_t row = 0; row < 2; ++row) {
    const float factor = values[0].flat<float>()[row * 6 + 1] / values[1].flat<float>()[row * 6 + 1];
    EXPECT_TRUE(factor == 0 || factor == 2);
    for (int64_t i = row * 6; i < row * 6 + 6; ++i) {
      EXPECT_EQ(values[0].flat<float>()[i], factor * values[1].flat<float>()[i]);
    }
  }
}

TEST_F(LayersTest, WrongRatesAndAxesAreErrors) {
  layers::Dropout(scope_, scope_.Constant(1.0F), 1.5);
  EXPECT_THAT(scope_.status(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("1.5")));
  const Scope other = Scope::NewRoot();
  layers::BatchNorm norm(other.WithName("norm"), 2, layers::BatchNormOptions{.axis = 4});
  norm(other, other.Constant(Pattern(TensorShape({2, 2}))), true);
  EXPECT_THAT(other.status(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'norm'")));
}

TEST_F(LayersTest, OrthogonalMatricesAreOrthogonal) {
  const auto w =
      ResourceVariable::Make(scope_.WithName("w"), TensorShape({3, 8}), DT_FLOAT, initializers::Orthogonal());
  const Output product = ops::MatMul(scope_, w.value(), w.value(), {.transpose_b = true});
  const Tensor value = Initialized()->Run({product}).value()[0];
  for (int64_t i = 0; i < 9; ++i) EXPECT_NEAR(value.flat<float>()[i], i % 4 == 0 ? 1 : 0, 1e-5);
}

TEST_F(LayersTest, AttentionIsFused) {
  const layers::MultiHeadAttention attention(scope_, 4, 2, 3);
  const Output x = Placeholder({-1, 5, 4}), y = attention(x, {.causal = true});
  const auto session = Initialized();
  RunOptions options;
  options->set_trace_level(tensorflow::RunOptions::FULL_TRACE);
  tensorflow::RunMetadata metadata;
  const FeedList feeds = {{x, Pattern(TensorShape({2, 5, 4}))}};
  const std::vector<Tensor> values = session->Run(feeds, {y}, {}, options, &metadata).value();
  EXPECT_EQ(values[0].shape(), TensorShape({2, 5, 4}));
  EXPECT_THAT(metadata.ShortDebugString(), HasSubstr("_FusedAttention"));
}

// --- Gradients with respect to x, against central differences ---

struct GradientCase {
  std::string name;
  TensorShape shape;
  std::function<Output(const Scope& scope, const Output& x)> build;
};

std::vector<GradientCase> GradientCases() {
  const TensorShape image({2, 4, 4, 2}), sequence({2, 4, 3});
  return {
      {"LayerNorm", sequence, [](const Scope& s, const Output& x) { return layers::LayerNorm(s, 3)(x); }},
      {"RmsNorm", sequence, [](const Scope& s, const Output& x) { return layers::RmsNorm(s, 3)(x); }},
      {"BatchNorm", sequence, [](const Scope& s, const Output& x) { return layers::BatchNorm(s, 3)(x, true); }},
      {"Conv2DTranspose", image,
       [](const Scope& s, const Output& x) { return layers::Conv2DTranspose(s, 2, 3, 3, {.stride = 2})(x); }},
      {"DepthwiseConv2D", image,
       [](const Scope& s, const Output& x) { return layers::DepthwiseConv2D(s, 2, 3, 2)(x); }},
      {"Conv1D", sequence,
       [](const Scope& s, const Output& x) { return layers::Conv1D(s, 3, 2, 2, {.padding = "CAUSAL"})(x); }},
      {"Lstm", sequence, [](const Scope& s, const Output& x) { return layers::Lstm(s, 3, 2)(x).sequence; }},
      {"LstmLengths", sequence,
       [](const Scope& s, const Output& x) {
         return layers::Lstm(s, 3, 2)(s, x, {}, s.Constant(Tensor::Vector<int32_t>({2, 4}))).state.c;
       }},
      {"Gru", sequence, [](const Scope& s, const Output& x) { return layers::Gru(s, 3, 2)(x).sequence; }},
      {"Attention", sequence,
       [](const Scope& s, const Output& x) { return layers::MultiHeadAttention(s, 3, 2, 2)(x, {.causal = true}); }},
      {"Gelu", sequence, [](const Scope& s, const Output& x) { return layers::Gelu(s, x); }},
      {"Mish", sequence, [](const Scope& s, const Output& x) { return layers::Activate(s, x, Activation::kMish); }},
  };
}

class LayerGradientsTest : public LayersTest, public ::testing::WithParamInterface<GradientCase> {};

TEST_P(LayerGradientsTest, MatchDifferences) {
  const GradientCase& c = GetParam();
  const Output x = ops::Placeholder(scope_, DT_FLOAT, {.shape = c.shape});
  const Output y = c.build(scope_, x);
  const Output elements = ops::Reshape(scope_, ops::Mul(scope_, y, ops::Cos(scope_, y)), Tensor::Vector<int32_t>({-1}));
  const Output loss = ops::Sum(scope_, elements, Tensor::Scalar<int32_t>(0));
  const std::vector<Gradient> gradients = Gradients(scope_, {loss}, {x});
  ASSERT_THAT(scope_.status(), IsOk());
  const auto session = Initialized();
  const Tensor at = Pattern(c.shape);
  const Tensor gradient = session->Run({{x, at}}, {gradients[0].values}).value()[0];
  constexpr float kStep = 1e-2F;
  for (int64_t i = 0; i < at.NumElements(); i += 5) {
    float values[2];
    for (const int side : {0, 1}) {
      Tensor moved = at.DeepCopy().value();
      moved.flat<float>()[i] += side == 1 ? kStep : -kStep;
      values[side] = session->Run({{x, moved}}, {loss}).value()[0].scalar<float>();
    }
    EXPECT_NEAR(gradient.flat<float>()[i], (values[1] - values[0]) / (2 * kStep), 2e-2) << i;
  }
}
INSTANTIATE_TEST_SUITE_P(All, LayerGradientsTest, ::testing::ValuesIn(GradientCases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace weir
