#include "examples/gpt/model.h"

#include <cmath>
#include <memory>

#include "weir/layers.h"
#include "weir/ops.h"

namespace weir::gpt {
namespace {

constexpr double kInitialDeviation = 0.02;
constexpr double kEpsilon = 1e-5;
constexpr float kMasked = -1e9f;

layers::LayerOptions WithSeed(int64_t seed, bool use_bias = true) {
  layers::LayerOptions options;
  options.weights = initializers::RandomNormal(0, kInitialDeviation, seed);
  options.use_bias = use_bias;
  return options;
}

// Normalises the last dimension.
class LayerNorm {
 public:
  LayerNorm(const Scope& scope, int64_t width)
      : gamma_(ResourceVariable::Make(scope.WithName("gamma"), TensorShape({width}), DT_FLOAT, initializers::Ones())),
        beta_(ResourceVariable::Make(scope.WithName("beta"), TensorShape({width}), DT_FLOAT, initializers::Zeros())) {}

  Output operator()(const Scope& scope, const Output& x) const {
    const Tensor axis = Tensor::Vector<int32_t>({1});
    const Output centred = ops::Sub(scope, x, ops::Mean(scope, x, axis, {.keep_dims = true}));
    const Output variance = ops::Mean(scope, ops::Square(scope, centred), axis, {.keep_dims = true});
    const Output normal = ops::Mul(scope, centred, ops::Rsqrt(scope, ops::AddV2(scope, variance, kEpsilon)));
    return ops::AddV2(scope, ops::Mul(scope, normal, gamma_.value()), beta_.value());
  }

 private:
  ResourceVariable gamma_, beta_;
};

// Hendrycks and Gimpel 2016, with tanh.
Output Gelu(const Scope& scope, const Output& x) {
  const Output cube = ops::Mul(scope, ops::Mul(scope, x, x), x);
  const Output inner = ops::Mul(scope, ops::AddV2(scope, x, ops::Mul(scope, cube, 0.044715)), std::sqrt(2 / M_PI));
  return ops::Mul(scope, ops::Mul(scope, x, 0.5), ops::AddV2(scope, ops::Tanh(scope, inner), 1.0));
}

Tensor CausalMask(int64_t context) {
  Tensor mask(DT_FLOAT, TensorShape({context, context}));
  for (int64_t i = 0; i < context; ++i) {
    for (int64_t j = 0; j < context; ++j) mask.data<float>()[i * context + j] = j > i ? kMasked : 0;
  }
  return mask;
}

// x: [batch * context, width], like all tensors between embedding and head.
class Attention {
 public:
  Attention(const Scope& scope, const ModelOptions& options, int64_t seed)
      : options_(options),
        query_(scope.WithName("query"), options.width, options.width, layers::Activation::kNone, WithSeed(seed)),
        key_(scope.WithName("key"), options.width, options.width, layers::Activation::kNone, WithSeed(seed + 1)),
        value_(scope.WithName("value"), options.width, options.width, layers::Activation::kNone, WithSeed(seed + 2)),
        out_(scope.WithName("out"), options.width, options.width, layers::Activation::kNone, WithSeed(seed + 3)) {}

  Output operator()(const Scope& scope, const Output& x) const {
    const Output q = Heads(scope, query_(scope, x)), k = Heads(scope, key_(scope, x)),
                 v = Heads(scope, value_(scope, x));
    const double scale = 1 / std::sqrt(static_cast<double>(options_.width) / static_cast<double>(options_.heads));
    const Output scores = ops::Mul(scope, ops::BatchMatMulV2(scope, q, k, {.adj_y = true}), scale);
    const Output weights = ops::Softmax(scope, ops::AddV2(scope, scores, CausalMask(options_.context)));
    const Output mixed = ops::Transpose(scope, ops::BatchMatMulV2(scope, weights, v), HeadsFirst());
    return out_(scope, ops::Reshape(scope, mixed, Tensor::Vector<int64_t>({-1, options_.width})));
  }

 private:
  // Swaps context and heads.
  static Tensor HeadsFirst() { return Tensor::Vector<int32_t>({0, 2, 1, 3}); }
  // [batch, heads, context, head width]
  Output Heads(const Scope& scope, const Output& x) const {
    const std::vector<int64_t> shape = {-1, options_.context, options_.heads, options_.width / options_.heads};
    return ops::Transpose(scope, ops::Reshape(scope, x, Tensor::Vector<int64_t>(shape)), HeadsFirst());
  }

  const ModelOptions options_;
  const layers::Dense query_, key_, value_, out_;
};

struct Block {
  Block(const Scope& scope, const ModelOptions& options, int64_t seed)
      : norm1(scope.SubScope("norm1"), options.width),
        norm2(scope.SubScope("norm2"), options.width),
        attention(scope.SubScope("attention"), options, seed),
        up(scope.WithName("up"), options.width, 4 * options.width, layers::Activation::kNone, WithSeed(seed + 4)),
        down(scope.WithName("down"), 4 * options.width, options.width, layers::Activation::kNone, WithSeed(seed + 5)) {}

  Output operator()(const Scope& scope, const Output& x) const {
    const Output mixed = ops::AddV2(scope, x, attention(scope, norm1(scope, x)));
    return ops::AddV2(scope, mixed, down(scope, Gelu(scope, up(scope, norm2(scope, mixed)))));
  }

  LayerNorm norm1, norm2;
  Attention attention;
  layers::Dense up, down;
};

// Sets `table` to the token embedding.
LayerFunction Embeddings(const Scope& scope, const ModelOptions& options, ResourceVariable* table) {
  const layers::Embedding tokens(scope.WithName("tokens"), options.vocabulary, options.width, WithSeed(options.seed));
  const ResourceVariable positions =
      ResourceVariable::Make(scope.WithName("positions"), TensorShape({options.context, options.width}), DT_FLOAT,
                             initializers::RandomNormal(0, kInitialDeviation, options.seed + 1));
  *table = tokens.table();
  return [=](const Scope& s, const Output& ids) {
    const Output x = ops::AddV2(s, tokens(s, ids), positions.value());
    return ops::Reshape(s, x, Tensor::Vector<int64_t>({-1, options.width}));
  };
}

LayerFunction TiedHead(const Scope& scope, const ModelOptions& options, const ResourceVariable& table) {
  const LayerNorm norm(scope.SubScope("norm"), options.width);
  return
      [=](const Scope& s, const Output& x) { return ops::MatMul(s, norm(s, x), table.value(), {.transpose_b = true}); };
}

LayerFunction Head(const Scope& scope, const ModelOptions& options) {
  const LayerNorm norm(scope.SubScope("norm"), options.width);
  const layers::Dense logits(scope.WithName("logits"), options.width, options.vocabulary, layers::Activation::kNone,
                             WithSeed(options.seed + 2, /*use_bias=*/false));
  return [=](const Scope& s, const Output& x) { return logits(s, norm(s, x)); };
}

}  // namespace

ChainModel Model(const ModelOptions& options) {
  ChainModel model;
  const auto table = std::make_shared<ResourceVariable>();
  model.layers.push_back(
      {"embedding", [=](const Scope& scope) { return Embeddings(scope, options, table.get()); }, 0.2});
  for (int64_t i = 0; i < options.blocks; ++i) {
    model.layers.push_back({absl::StrCat("block_", i), [=](const Scope& scope) -> LayerFunction {
                              const auto block = std::make_shared<Block>(scope, options, options.seed + 10 * (i + 1));
                              return [block](const Scope& s, const Output& x) { return (*block)(s, x); };
                            }});
  }
  const auto head = [=](const Scope& scope) {
    return options.has_tied_head ? TiedHead(scope, options, *table) : Head(scope, options);
  };
  model.layers.push_back({"head", head, 0.3});
  model.loss = [](const Scope& scope, const Output& logits, const Output& labels) {
    return layers::SparseSoftmaxLoss(scope, logits, ops::Reshape(scope, labels, Tensor::Vector<int64_t>({-1})));
  };
  return model;
}

std::vector<LayoutRule> TensorLayouts(const std::string& axis) {
  const std::vector<std::string> columns = {Mesh::kUnsharded, axis}, rows = {axis, Mesh::kUnsharded};
  return {
      {"embedding/tokens/embeddings", rows},
      {"block_*/attention/out/kernel", rows},
      {"block_*/attention/out/bias", {Mesh::kUnsharded}},
      {"block_*/attention/*/kernel", columns},
      {"block_*/attention/*/bias", {axis}},
      {"block_*/up/kernel", columns},
      {"block_*/up/bias", {axis}},
      {"block_*/down/kernel", rows},
      {"head/logits/kernel", columns},
  };
}

}  // namespace weir::gpt
