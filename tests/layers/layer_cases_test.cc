// Layers restore the checkpoint that TensorFlow's Saver wrote by name, then compute Keras's outputs and gradients.
#include <functional>

#include "client/gradients.h"
#include "client/layers.h"
#include "client/ops.h"
#include "client/saver.h"
#include "client/session.h"
#include "core/testing.h"
#include "tests/layers/keras_values.h"

namespace weir {
namespace {

using layers::Activation;

// A layer's outputs for its inputs; `also` runs before the values "moving_mean" and "moving_variance" are read.
struct Built {
  OutputList outputs;
  std::vector<Operation> also = {};
};
using Build = std::function<Built(const Scope& scope, const OutputList& inputs)>;

struct LayerCase {
  std::string name;
  Build build;
};

Built Normed(const Scope& scope, const OutputList& in, int64_t channels, int axis, bool training) {
  layers::BatchNorm norm(scope, channels, layers::BatchNormOptions{.axis = axis});
  const Output y = norm(scope.Root(), in[0], training);
  return {{y}, norm.updates()};
}

// Layers under the case's name; ops in the root.
std::vector<LayerCase> AllCases() {
  std::vector<LayerCase> cases = {
      {"dense", [](const Scope& s, const OutputList& in) { return Built{{layers::Dense(s, 5, 4)(in[0])}}; }},
      {"dense_3d",
       [](const Scope& s, const OutputList& in) {
         return Built{{layers::Dense(s, 5, 4, Activation::kTanh)(s.Root(), in[0])}};
       }},
      {"conv",
       [](const Scope& s, const OutputList& in) {
         return Built{{layers::Conv2D(s, 3, 4, 3, 2, "SAME", Activation::kElu)(in[0])}};
       }},
      {"conv_dilated",
       [](const Scope& s, const OutputList& in) {
         return Built{{layers::Conv2D(s, 3, 4, 2, {.dilation = 2, .padding = "VALID"})(in[0])}};
       }},
      {"conv1d",
       [](const Scope& s, const OutputList& in) { return Built{{layers::Conv1D(s, 3, 4, 3, {.stride = 2})(in[0])}}; }},
      {"conv1d_causal",
       [](const Scope& s, const OutputList& in) {
         return Built{{layers::Conv1D(s, 3, 4, 2, {.dilation = 2, .padding = "CAUSAL"})(in[0])}};
       }},
      {"transposed",
       [](const Scope& s, const OutputList& in) {
         return Built{{layers::Conv2DTranspose(s, 3, 4, 3, {.stride = 2})(in[0])}};
       }},
      {"transposed_valid",
       [](const Scope& s, const OutputList& in) {
         return Built{{layers::Conv2DTranspose(s, 3, 4, 3, {.stride = 2, .padding = "VALID"})(in[0])}};
       }},
      {"depthwise",
       [](const Scope& s, const OutputList& in) { return Built{{layers::DepthwiseConv2D(s, 3, 3, 2)(in[0])}}; }},
      {"layer_norm", [](const Scope& s, const OutputList& in) { return Built{{layers::LayerNorm(s, 3)(in[0])}}; }},
      {"embedding", [](const Scope& s, const OutputList& in) { return Built{{layers::Embedding(s, 5, 3)(in[0])}}; }},
      {"lstm",
       [](const Scope& s, const OutputList& in) {
         const layers::LstmResult r = layers::Lstm(s, 3, 4)(in[0]);
         return Built{{r.sequence, r.state.h, r.state.c}};
       }},
      {"lstm_lengths",
       [](const Scope& s, const OutputList& in) {
         const layers::LstmResult r = layers::Lstm(s, 3, 4)(s.Root(), in[0], {}, in[1]);
         return Built{{r.sequence, r.state.h, r.state.c}};
       }},
      {"gru",
       [](const Scope& s, const OutputList& in) {
         const layers::GruResult r = layers::Gru(s, 3, 4)(in[0]);
         return Built{{r.sequence, r.state}};
       }},
      {"gru_lengths",
       [](const Scope& s, const OutputList& in) {
         const layers::GruResult r = layers::Gru(s, 3, 4)(s.Root(), in[0], {}, in[1]);
         return Built{{r.sequence, r.state}};
       }},
      {"attention",
       [](const Scope& s, const OutputList& in) { return Built{{layers::MultiHeadAttention(s, 3, 2, 3)(in[0])}}; }},
      {"attention_causal",
       [](const Scope& s, const OutputList& in) {
         return Built{{layers::MultiHeadAttention(s, 3, 2, 3)(in[0], {.causal = true})}};
       }},
      {"attention_cross",
       [](const Scope& s, const OutputList& in) {
         const layers::MultiHeadAttention attention(s, 3, 2, 3,
                                                    {.key_inputs = 4, .value_inputs = 2, .value_dim = 2, .outputs = 5});
         return Built{{attention(s.Root(), in[0], {.key = in[1], .value = in[2], .mask = in[3]})}};
       }},
  };
  const std::vector<std::pair<std::string, int>> norms = {{"norm_4d", -1}, {"norm_2d", -1}, {"norm_axis", 1}};
  for (const auto& [name, axis] : norms) {
    const auto build = [axis = axis](bool training) {
      return [=](const Scope& s, const OutputList& in) { return Normed(s, in, 3, axis, training); };
    };
    cases.push_back({name, build(false)});
    cases.push_back({name + "_training", build(true)});
  }
  return cases;
}

class LayerOracleTest : public ::testing::TestWithParam<LayerCase> {
 protected:
  static Tensor Value(const std::string& name) { return KerasValue("layers", GetParam().name + "/" + name); }
  static bool Has(const std::string& name) {
    static const std::vector<std::string> all = KerasNames("layers");
    return std::find(all.begin(), all.end(), GetParam().name + "/" + name) != all.end();
  }
  void MakeInputs() {
    for (int i = 0; Has(absl::StrCat("input", i)); ++i)
      inputs_.push_back(scope_.Constant(Value(absl::StrCat("input", i))));
  }
  // Of the weighted sum of the first output: Keras's name of each, and the gradient.
  void AddGradients(const Output& y) {
    const Output elements =
        ops::Reshape(scope_, ops::Mul(scope_, y, scope_.Constant(Value("weights"))), Tensor::Vector<int32_t>({-1}));
    std::vector<Output> sources;
    std::vector<std::string> names;
    if (Has("gradient/input")) {
      sources.push_back(inputs_[0]);
      names.emplace_back("gradient/input");
    }
    for (const ResourceVariable& variable : scope_.variables()) {
      if (!variable.trainable()) continue;
      sources.push_back(variable.handle());
      names.push_back("gradient/" + variable.name());
    }
    const std::vector<Gradient> gradients =
        Gradients(scope_, {ops::Sum(scope_, elements, Tensor::Scalar<int32_t>(0))}, sources);
    for (size_t i = 0; i < gradients.size(); ++i) {
      const Gradient& g = gradients[i];
      names_.push_back(names[i]);
      fetches_.push_back(!g.is_sparse() ? g.values
                                        : Output(ops::UnsortedSegmentSum(scope_, g.values, g.indices, int32_t{5})));
    }
  }

  Scope scope_ = Scope::NewRoot();
  OutputList inputs_, fetches_;
  std::vector<std::string> names_;
};

TEST_P(LayerOracleTest, ComputesWhatKerasDoes) {
  MakeInputs();
  const Built built = GetParam().build(scope_.WithName(GetParam().name), inputs_);
  for (size_t i = 0; i < built.outputs.size(); ++i) {
    names_.push_back(absl::StrCat("output", i));
    fetches_.push_back(built.outputs[i]);
  }
  AddGradients(built.outputs[0]);
  const Saver saver(scope_);
  ASSERT_THAT(scope_.status(), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto session, Session::Local(scope_));
  ASSERT_THAT(saver.Restore(*session, KerasDirectory() + "/model"), IsOk());

  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> values, session->Run(fetches_));

  for (size_t i = 0; i < values.size(); ++i) ExpectClose(values[i], Value(names_[i]), names_[i]);
  if (built.also.empty()) return;
  ASSERT_THAT(session->RunTargets(built.also), IsOk());
  for (const ResourceVariable& variable : scope_.variables()) {
    const std::string name = variable.name().substr(GetParam().name.size() + 1);
    if (variable.trainable()) continue;
    ExpectClose(session->Run({variable.value()}).value()[0], Value(name), name);
  }
}
INSTANTIATE_TEST_SUITE_P(All, LayerOracleTest, ::testing::ValuesIn(AllCases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace weir
