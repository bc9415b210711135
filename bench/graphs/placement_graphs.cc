#include "bench/graphs/placement_graphs.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/layers.h"
#include "client/ops.h"
#include "client/optimizer.h"
#include "client/scope.h"

namespace weir::bench {
namespace {

using layers::Activation;

// One model under construction.
struct Model {
  Scope scope = Scope::NewRoot();
  std::vector<Operation> updates;  // of batch normalisation
  bool is_full = true;

  int64_t Size(int64_t full, int64_t small) const { return is_full ? full : small; }
  Output Input(const std::string& name, DataType dtype, const std::vector<int64_t>& dims) const {
    return ops::Placeholder(scope.WithName(name), dtype, {.shape = *PartialTensorShape::Build(dims)});
  }
};

Output Dense(const Scope& scope, const Output& x, int64_t inputs, int64_t outputs, Activation activation) {
  return layers::Dense(scope, inputs, outputs, activation)(scope, x);
}

Output MlpLoss(Model& model) {
  const int64_t batch = model.Size(128, 16), features = model.Size(784, 16), width = model.Size(1024, 32);
  Output top = model.Input("images", DT_FLOAT, {batch, features});
  int64_t inputs = features;
  for (int i = 0; i < 4; ++i, inputs = width) top = Dense(model.scope, top, inputs, width, Activation::kRelu);
  top = Dense(model.scope, top, width, 10, Activation::kNone);
  return layers::SparseSoftmaxLoss(model.scope, top, model.Input("labels", DT_INT32, {batch}));
}

Output ConvnetLoss(Model& model) {
  const int64_t batch = model.Size(64, 2), side = model.Size(32, 8);
  Output top = model.Input("images", DT_FLOAT, {batch, side, side, 3});
  int64_t inputs = 3, filters = model.Size(64, 4);
  for (int i = 0; i < 3; ++i, inputs = filters, filters *= 2) {
    for (int j = 0; j < 2; ++j) {
      const layers::Conv2D conv(model.scope, j == 0 ? inputs : filters, filters, 3, 1, "SAME", Activation::kRelu);
      top = conv(model.scope, top);
    }
    top = layers::MaxPool2D(model.scope, top, 2, 2);
  }
  const int64_t features = (side / 8) * (side / 8) * inputs;
  top = layers::Flatten(model.scope, top, features);
  top = Dense(model.scope, top, features, model.Size(512, 16), Activation::kRelu);
  top = Dense(model.scope, top, model.Size(512, 16), 10, Activation::kNone);
  return layers::SparseSoftmaxLoss(model.scope, top, model.Input("labels", DT_INT32, {batch}));
}

// Convolution and normalisation.
Output ConvNorm(Model& model, const Output& x, int64_t inputs, int64_t filters, int64_t size, int64_t stride) {
  const layers::Conv2D conv(model.scope, inputs, filters, size, {.stride = stride, .layer = {.use_bias = false}});
  layers::BatchNorm norm(model.scope, filters);
  const Output y = norm(model.scope, conv(model.scope, x), /*training=*/true);
  for (const Operation& update : norm.updates()) model.updates.push_back(update);
  return y;
}

// He et al. 2015, with basic blocks: stages of 64, 128, 256 and 512 channels.
Output ResNetLoss(Model& model) {
  const int64_t batch = model.Size(32, 2), side = model.Size(64, 8), stages = model.Size(4, 2), blocks = 2;
  const Scope& scope = model.scope;
  Output top = model.Input("images", DT_FLOAT, {batch, side, side, 3});
  int64_t inputs = model.Size(64, 4);
  top = ops::Relu(scope, ConvNorm(model, top, 3, inputs, 3, 1));
  for (int64_t stage = 0; stage < stages; ++stage) {
    const int64_t filters = model.Size(64, 4) << stage;
    for (int64_t block = 0; block < blocks; ++block) {
      const int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      const Output inner = ops::Relu(scope, ConvNorm(model, top, inputs, filters, 3, stride));
      const Output branch = ConvNorm(model, inner, filters, filters, 3, 1);
      const Output shortcut = inputs == filters ? top : ConvNorm(model, top, inputs, filters, 1, stride);
      top = ops::Relu(scope, ops::AddV2(scope, branch, shortcut));
      inputs = filters;
    }
  }
  top = Dense(scope, layers::GlobalAvgPool2D(scope, top), inputs, 200, Activation::kNone);
  return layers::SparseSoftmaxLoss(scope, top, model.Input("labels", DT_INT32, {batch}));
}

// A language model, unrolled as TensorFlow 1's static_rnn does: recurrent layers over embedded words.
Output LstmLoss(Model& model) {
  const int64_t batch = model.Size(64, 4), steps = model.Size(20, 3), words = model.Size(10'000, 50);
  const int64_t width = model.Size(512, 8), depth = model.Size(4, 2);
  const Scope& scope = model.scope;
  const Output ids = model.Input("ids", DT_INT32, {batch, steps});
  const Output embedded = layers::Embedding(scope, words, width)(scope, ids);
  OutputList tops = ops::Unpack(scope, embedded, steps, {.axis = 1});
  for (int64_t i = 0; i < depth; ++i) {
    const layers::LstmCell cell(scope, width, width);
    layers::LstmState state = cell.ZeroState(scope, tops[0]);
    for (Output& top : tops) {
      state = cell(scope, top, state);
      top = state.h;
    }
  }
  const Output rows = ops::ConcatV2(scope, InputList(tops.begin(), tops.end()), 0);
  const Output logits = Dense(scope, rows, width, words, Activation::kNone);
  return layers::SparseSoftmaxLoss(scope, logits, model.Input("labels", DT_INT32, {batch * steps}));
}

// Naumov et al. 2019: tables for categories, a bottom MLP for numbers, products of all pairs, a top MLP.
Output RecommenderLoss(Model& model) {
  const int64_t batch = model.Size(2048, 8), rows = model.Size(100'000, 40), width = model.Size(64, 4);
  const int tables = static_cast<int>(model.Size(16, 3));
  const Scope& scope = model.scope;
  Output bottom = model.Input("numbers", DT_FLOAT, {batch, 13});
  const int64_t hidden = model.Size(512, 8);
  bottom = Dense(scope, bottom, 13, hidden, Activation::kRelu);
  bottom = Dense(scope, bottom, hidden, width, Activation::kRelu);
  InputList vectors = {bottom};
  for (int i = 0; i < tables; ++i) {
    const Output ids = model.Input(absl::StrCat("ids_", i), DT_INT32, {batch});
    vectors.emplace_back(layers::Embedding(scope, rows, width)(scope, ids));
  }
  const int64_t features = tables + 1;
  const Output stacked = ops::Pack(scope, vectors, {.axis = 1});
  const Output products = ops::BatchMatMulV2(scope, stacked, stacked, {.adj_y = true});
  Output top = layers::Flatten(scope, products, features * features);
  top = ops::ConcatV2(scope, {bottom, top}, 1);
  int64_t inputs = width + features * features;
  for (const int64_t outputs : {model.Size(1024, 8), model.Size(512, 8)}) {
    top = Dense(scope, top, inputs, outputs, Activation::kRelu);
    inputs = outputs;
  }
  top = Dense(scope, top, inputs, 2, Activation::kNone);
  return layers::SparseSoftmaxLoss(scope, top, model.Input("labels", DT_INT32, {batch}));
}

// Vaswani et al. 2017, with causal attention and the norms before each part.
Output TransformerLoss(Model& model) {
  const int64_t batch = model.Size(8, 2), steps = model.Size(128, 6), words = model.Size(8'000, 30);
  const int64_t width = model.Size(512, 8), heads = model.Size(8, 2), blocks = model.Size(6, 1);
  const Scope& scope = model.scope;
  const Output ids = model.Input("ids", DT_INT32, {batch, steps});
  Output top = layers::Embedding(scope, words, width)(scope, ids);
  for (int64_t block = 0; block < blocks; ++block) {
    const Output normed = layers::LayerNorm(scope, width)(scope, top);
    const layers::MultiHeadAttention attention(scope, width, heads, width / heads);
    top = ops::AddV2(scope, top, attention(scope, normed, {.causal = true}));
    const Output hidden = layers::LayerNorm(scope, width)(scope, top);
    const Output wide = Dense(scope, hidden, width, 4 * width, Activation::kRelu);
    top = ops::AddV2(scope, top, Dense(scope, wide, 4 * width, width, Activation::kNone));
  }
  top = layers::LayerNorm(scope, width)(scope, top);
  top = Dense(scope, top, width, words, Activation::kNone);
  top = ops::Reshape(scope, top,
                     Tensor::Vector<int32_t>({static_cast<int32_t>(batch * steps), static_cast<int32_t>(words)}));
  return layers::SparseSoftmaxLoss(scope, top, model.Input("labels", DT_INT32, {batch * steps}));
}

struct Recipe {
  const char* name;
  const char* description;
  Output (*loss)(Model&);
  std::unique_ptr<Optimizer> optimizer;
};

std::vector<Recipe> Recipes() {
  std::vector<Recipe> recipes;
  recipes.push_back({"mlp", "4 x 1024, batch 128, Adam", MlpLoss, AdamOptimizer(1e-3)});
  recipes.push_back({"convnet", "6 convolutions, batch 64, SGD", ConvnetLoss, GradientDescentOptimizer(0.01)});
  recipes.push_back({"resnet", "18 layers, batch 32 of 64 x 64, momentum", ResNetLoss, MomentumOptimizer(0.01, 0.9)});
  recipes.push_back({"lstm", "4 x 512, 10,000 words, 64 x 20 unrolled, Adagrad", LstmLoss, AdagradOptimizer(0.01)});
  recipes.push_back(
      {"recommender", "16 tables of 100,000 x 64, batch 2048, Adagrad", RecommenderLoss, AdagradOptimizer(0.01)});
  recipes.push_back({"transformer", "6 blocks of 512, 8 x 128 tokens, Adam", TransformerLoss, AdamOptimizer(1e-4)});
  return recipes;
}

}  // namespace

absl::StatusOr<std::vector<PlacementGraph>> MakePlacementGraphs(ModelSize size) {
  std::vector<PlacementGraph> graphs;
  for (Recipe& recipe : Recipes()) {
    Model model{.is_full = size == ModelSize::kFull};
    const Output loss = recipe.loss(model);
    RETURN_IF_ERROR(Annotate(model.scope.status(), recipe.name));
    model.updates.push_back(recipe.optimizer->Minimize(model.scope, loss, GlobalStep(model.scope)));
    ops::NoOp(model.scope.WithName("train").WithControlDependencies(model.updates));
    InitializeAll(model.scope);
    RETURN_IF_ERROR(Annotate(model.scope.status(), recipe.name));
    graphs.push_back({recipe.name, recipe.description, model.scope.ToGraphDef()});
  }
  return graphs;
}

}  // namespace weir::bench
